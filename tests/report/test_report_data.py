"""The data files of reports: a mistake is found at loading."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from vbdesk.contract.levels import Level
from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.report.data_dictionary import TableDefinition
from vbdesk.report.drawing.style import DrawingStyle, Look, style
from vbdesk.report.fhir.codes import FhirCodes
from vbdesk.resource_files import resource


def without(document: Mapping[str, Any], part: str, key: str) -> dict[str, Any]:
    return {**document, part: {name: value for name, value in document[part].items() if name != key}}


@pytest.mark.parametrize(
    ("model", "file", "part", "key"),
    [
        (DrawingStyle, "look-light.toml", "level", "inconclusive"),
        (DrawingStyle, "look-light.toml", "colour", "accent"),
        (FhirCodes, "fhir.toml", "level", "low"),
        (FhirCodes, "fhir.toml", "interpretation", "IND"),
    ],
)
def test_a_missing_entry_is_found(model: type[StrictDataModel], file: str, part: str, key: str) -> None:
    document = read_toml(resource("report", file))
    model.model_validate(document)
    with pytest.raises(ValidationError):
        model.model_validate(without(document, part, key))


@pytest.mark.parametrize(
    ("model", "file"),
    [*((DrawingStyle, look.file) for look in Look), (FhirCodes, "fhir.toml")],
)
def test_an_unknown_entry_is_found(model: type[StrictDataModel], file: str) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(read_toml(resource("report", file)) | {"colur": {}})


def test_a_table_has_each_column_once_and_its_keys_among_them() -> None:
    table = read_toml(resource("report", "tables.toml"))["signs"]
    for wrong in ({"keys": ["nobody"]}, {"columns": [*table["columns"], table["columns"][0]]}):
        with pytest.raises(ValidationError):
            TableDefinition.model_validate(table | wrong)


def test_the_colours_of_levels_are_those_of_the_desk() -> None:
    pytest.importorskip("PySide6")
    from vbdesk.desk.ui.tokens import LIGHT_LEVELS

    for level in Level:
        desk, printed = LIGHT_LEVELS[level], style().level[level]
        assert (printed.ink, printed.shape, printed.tint, printed.heat) == (desk.ink, desk.shape, desk.tint, desk.heat)
