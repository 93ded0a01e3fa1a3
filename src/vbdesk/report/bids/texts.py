"""Texts of the folder for research."""

import tomllib
from collections.abc import Mapping
from functools import cache

from pydantic import BaseModel, ConfigDict

from vbdesk.resource_files import resource


class TableTexts(BaseModel):
    """What each table of `phenotype` holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sign: str
    recording_quality: str
    vocal_features: str
    extended_metrics: str


class BidsTexts(BaseModel):
    """All of bids.toml; `version` is that of BIDS."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    name: str
    readme: str
    table: TableTexts
    column: Mapping[str, str]


@cache
def bids_texts() -> BidsTexts:
    """The texts of bids.toml, validated."""
    with resource("report", "bids.toml").open("rb") as file:
        return BidsTexts.model_validate(tomllib.load(file))
