"""Texts of the BIDS folder, from `resources/report/bids.toml`."""

from collections.abc import Mapping
from functools import cache

from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.resource_files import resource


class TableTexts(StrictDataModel):
    """Descriptions of the tables of readings."""

    sign: str
    recording_quality: str
    vocal_features: str
    extended_metrics: str


class BidsTexts(StrictDataModel):
    """All texts of bids.toml; `version` is the BIDS version."""

    version: str
    name: str
    readme: str
    derivatives: str
    table: TableTexts
    column: Mapping[str, str]


@cache
def bids_texts() -> BidsTexts:
    """The texts of bids.toml, validated."""
    return BidsTexts.model_validate(read_toml(resource("report", "bids.toml")))
