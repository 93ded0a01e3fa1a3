"""The data files of reports: a mistake is found at loading."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from vbdesk.contract.levels import Level
from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.report.data_dictionary import TableDefinition
from vbdesk.report.drawing.style import DrawingStyle, Look, style
from vbdesk.report.fhir.codes import FhirCodes
from vbdesk.report.result_files import NotResults, subjects_of_files
from vbdesk.report.shipped_metrics import shipped_metrics
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


def test_every_metric_is_explained_with_a_definition_a_kind_and_its_features() -> None:
    known = shipped_metrics()
    assert {"anxious-mood", "low-mood", "vad-valence"} <= known.keys()
    for name, metric in known.items():
        assert metric.definition and metric.kind, name
        assert metric.evidence_text, name
        assert metric.features, name


def test_a_file_of_more_than_256_mb_is_not_read_as_results(tmp_path: Path) -> None:
    file = tmp_path / "all.json"
    with file.open("wb") as stream:
        stream.truncate((256 << 20) + 1)
    with pytest.raises(NotResults, match="larger than 256 MB"):
        subjects_of_files([file])
