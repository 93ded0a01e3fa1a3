"""Data that a person may edit, read from TOML: nothing unknown is passed over, nothing is changed afterwards."""

import tomllib
from typing import Any

from pydantic import BaseModel, ConfigDict

from vbdesk.resource_files import resource


class DataEntry(BaseModel):
    """A part of a data file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def read_toml(*parts: str) -> dict[str, Any]:
    """A data file as it stands, still to be validated."""
    with resource(*parts).open("rb") as file:
        return tomllib.load(file)
