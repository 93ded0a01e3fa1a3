"""Tables for research, read by the programs of others: Parquet, the Data Package, the validator of BIDS."""

import csv
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import jsonschema_rs
import pandas
import pytest
from pyarrow import parquet
from report_cases import AS_OF, pulse_scores, subject

from vbdesk.report import parquet as parquet_module
from vbdesk.report.bids import AudioFile, bids_files
from vbdesk.report.data_dictionary import table_definitions
from vbdesk.report.data_package import PACKAGE_FILE, data_package
from vbdesk.report.documents.report_input import ReportOptions
from vbdesk.report.exports import ExportFormat, export_files, write_files
from vbdesk.report.parquet import parquet_files
from vbdesk.report.subject_record import SubjectRecord
from vbdesk.report.tidy_csv import csv_files

PROFILE = json.loads((Path(__file__).parents[1] / "data" / "tabular-data-package.json").read_text())
PARSERS = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": {"true": True, "false": False}.__getitem__,
    "datetime": datetime.fromisoformat,
}


def frame(files, table: str) -> pandas.DataFrame:
    return pandas.read_parquet(io.BytesIO(files[f"{table}.parquet"]))


@pytest.mark.parametrize("scores", [False, True])
def test_parquet_has_the_tables_of_the_csv_with_types(case: SubjectRecord, scores: bool) -> None:
    files, texts = parquet_files([case], scores=scores), csv_files([case], scores=scores)
    assert {name.partition(".")[0] for name in files} == {name.partition(".")[0] for name in texts}
    for name, table in table_definitions().items():
        found = parquet.read_table(io.BytesIO(files[f"{name}.parquet"]))
        rows = list(csv.reader(io.StringIO(texts[f"{name}.csv"].decode(), newline="")))
        assert found.column_names == rows[0]
        assert found.num_rows == len(rows) - 1
        for column, cells in zip(found.columns, zip(*rows[1:], strict=True), strict=False):
            assert [value in (None, "") for value in column.to_pylist()] == [cell == "" for cell in cells]
        for column in table.columns_for(scores=scores):
            kind = str(found.schema.field(column.name).type)
            assert kind.startswith(
                {"text": "string", "code": "dictionary", "integer": "int64", "number": "double", "boolean": "bool"}.get(
                    column.type, "timestamp[us, tz=UTC]"
                )
            )
            assert found.schema.field(column.name).metadata[b"about"].decode() == column.about


def test_numbers_and_times_are_exact(cases: dict[str, SubjectRecord]) -> None:
    record = cases["gaps and anomalies"]
    signs = frame(parquet_files([record]), "signs")
    signals = [signal for item in record.finished for signal in item.signals]
    assert signs["score"].tolist() == [signal.score for signal in signals]
    assert list(dict.fromkeys(signs["recorded_at"])) == [item.recorded_at for item in record.finished]
    assert signs["level"].dtype == "category"


def test_text_in_parquet_is_as_it_was_written() -> None:
    record = subject(pulse_scores(1), group_id="=1+1", narrative="+half \ud83c\x00\r\nline")
    recordings = frame(parquet_files([record]), "recordings")
    assert recordings["group_id"].tolist() == ["=1+1"], "no apostrophe: nothing runs a formula"
    assert recordings["narrative"].tolist() == ["+half \ufffd\ufffd\r\nline"]


def test_the_same_record_gives_the_same_parquet(cases: dict[str, SubjectRecord]) -> None:
    assert parquet_files([cases["diarized"]]) == parquet_files([cases["diarized"]])


def test_a_missing_package_is_said(cases: dict[str, SubjectRecord], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_module, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install 'vbdesk\[parquet\]'"):
        parquet_files([cases["two"]])


@pytest.mark.parametrize("scores", [False, True])
def test_the_data_package_is_valid(scores: bool) -> None:
    package = json.loads(data_package(table_definitions(), scores=scores))
    assert list(jsonschema_rs.Draft4Validator(PROFILE).iter_errors(package)) == []
    assert ("score" in [field["name"] for field in package["resources"][1]["schema"]["fields"]]) == scores


def test_the_profile_finds_what_is_wrong() -> None:
    package = json.loads(data_package(table_definitions(), scores=True))
    package["resources"][0]["schema"]["fields"][0]["type"] = "text"
    assert list(jsonschema_rs.Draft4Validator(PROFILE).iter_errors(package))


@pytest.mark.parametrize("scores", [False, True])
def test_every_cell_fits_the_schema_of_the_package(cases: dict[str, SubjectRecord], scores: bool) -> None:
    twice = replace(cases["two"], group_id="also two")  # the same recordings in the course of two subjects
    options = ReportOptions(exported_at=AS_OF, scores=scores)
    files = export_files(ExportFormat.CSV, [*cases.values(), twice], options)
    package = json.loads(files[PACKAGE_FILE])
    assert [resource["path"] for resource in package["resources"]] == [f"{name}.csv" for name in table_definitions()]
    rows = {
        resource["name"]: list(csv.DictReader(io.StringIO(files[resource["path"]].decode(), newline="")))
        for resource in package["resources"]
    }
    for resource in package["resources"]:
        schema, own = resource["schema"], rows[resource["name"]]
        assert list(own[0]) == [field["name"] for field in schema["fields"]]
        for field in schema["fields"]:
            for cell in {row[field["name"]] for row in own} - {""}:
                PARSERS[field["type"]](cell)
                assert cell in field.get("constraints", {}).get("enum", [cell])
        if keys := schema.get("primaryKey"):
            found = [tuple(row[key] for key in keys) for row in own]
            assert len(set(found)) == len(found)
            assert not any("" in key for key in found)
        for foreign in schema.get("foreignKeys", []):
            known = {tuple(row[key] for key in foreign["reference"]["fields"]) for row in rows["recordings"]}
            assert {tuple(row[key] for key in foreign["fields"]) for row in own} <= known


def test_the_validator_of_bids_finds_only_what_does_not_belong_there(
    cases: dict[str, SubjectRecord], tmp_path: Path
) -> None:
    records = list(cases.values())
    sound = {records[2].recordings[0].job.job_id: AudioFile(".flac", b"fLaC")}
    write_files(tmp_path, {**bids_files(records, sound), "sub-two/notes.txt": b"unknown to BIDS: the validator works"})
    program = Path(sys.executable).with_name("bids-validator-deno")
    done = subprocess.run([program, tmp_path, "--format", "json"], capture_output=True, text=True, check=False)
    issues = json.loads(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout))["issues"]["issues"]
    assert [(issue["code"], issue["location"]) for issue in issues if issue["severity"] == "error"] == [
        ("NOT_INCLUDED", "/sub-two/notes.txt")
    ]
    assert {issue["location"] for issue in issues if issue["severity"] != "error"} == {"/dataset_description.json"}
