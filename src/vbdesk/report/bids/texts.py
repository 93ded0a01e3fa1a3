"""Texts of the folder for research."""

from collections.abc import Mapping
from functools import cache

from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.resource_files import resource


class TableTexts(StrictDataModel):
    """What each table of `phenotype` holds."""

    sign: str
    recording_quality: str
    vocal_features: str
    extended_metrics: str


class BidsTexts(StrictDataModel):
    """All of bids.toml; `version` is that of BIDS."""

    version: str
    name: str
    readme: str
    table: TableTexts
    column: Mapping[str, str]


@cache
def bids_texts() -> BidsTexts:
    """The texts of bids.toml, validated."""
    return BidsTexts.model_validate(read_toml(resource("report", "bids.toml")))
