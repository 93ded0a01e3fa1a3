"""docs/exports.md matches the exported files."""

import re
from pathlib import Path

import pandas
import pytest

from vbdesk.report.data_dictionary import table_definitions
from vbdesk.report.fhir.codes import fhir_codes
from vbdesk.report.subject_record import SubjectRecord
from vbdesk.report.tidy_csv import DICTIONARY_FILE, csv_files

PAGE = (Path(__file__).parents[2] / "docs" / "exports.md").read_text(encoding="utf-8")


def test_the_example_reads_the_tables(
    cases: dict[str, SubjectRecord], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tables").mkdir()
    for name, content in csv_files([cases["gaps and anomalies"]]).items():
        (tmp_path / "tables" / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    [example] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, pandas.DataFrame] = {}
    exec(example, names)
    signs = names["signs"]
    assert len(signs) == 144
    assert str(signs.dtypes["recorded_at"]).startswith("datetime64")
    assert signs.dtypes["anomaly"] == "boolean"
    assert signs["latest_score"].isna().sum() == 6


def test_every_table_and_its_keys_are_named() -> None:
    for name, table in table_definitions().items():
        keys = ", ".join(f"`{key}`" for key in table.keys)
        assert re.search(rf"\| `{name}\.csv` \|.*\| {keys} \|", PAGE), name
    assert DICTIONARY_FILE in PAGE


def test_every_code_system_and_level_is_named() -> None:
    words = fhir_codes()
    assert f"`{words.base}:sign`" in PAGE
    assert all(f"`:{name}`" in PAGE for name in ("level", "action", "band", "measure", "issue", "document", "job"))
    assert all(f"`{level.value}`" in PAGE for level in words.level)
    assert all(f"`{code}`" in PAGE for code in words.interpretation)
