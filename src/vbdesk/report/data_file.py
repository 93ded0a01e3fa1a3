"""Read data files in TOML; unknown fields are errors, entries are immutable."""

import tomllib
from typing import Any

from pydantic import BaseModel, ConfigDict

from vbdesk.resource_files import resource


class DataEntry(BaseModel):
    """Base of the models of a data file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def read_toml(*parts: str) -> dict[str, Any]:
    """Parse a data file; the caller validates it."""
    with resource(*parts).open("rb") as file:
        return tomllib.load(file)
