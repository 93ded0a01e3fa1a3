"""The words of a report: who signed it off, names that fit on one line, changes from the baseline, the appendix."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from vbdesk.contract.levels import Level
from vbdesk.contract.results import LongitudinalSignal
from vbdesk.report.documents.frame import shortened_name, sign_off
from vbdesk.report.documents.recording_document import change_text, recording_document
from vbdesk.report.documents.report_input import ReportOptions, report_input
from vbdesk.report.sign_off import SignOff
from vbdesk.report.subject_record import SubjectRecord

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def values_of(signed: SignOff | None) -> dict[str, str]:
    part = sign_off(ReportOptions(NOON, ZoneInfo("Europe/Berlin"), sign_off=signed))
    return {field["label"]: field["value"] for field in part["fields"]}


def test_a_reader_is_named_with_the_time_in_the_zone_of_the_export_and_signs_by_hand() -> None:
    values = values_of(SignOff("Dr. Ada Lovelace", NOON))
    assert "Dr. Ada Lovelace" in values["Name"]
    assert "13:00" in values["Date and time"]
    assert values["Signature"] == ""


def test_a_report_that_nobody_has_read_has_empty_lines() -> None:
    assert values_of(None) == {"Name": "", "Date and time": "", "Signature": ""}


def test_the_name_of_a_reader_has_room_for_96_characters() -> None:
    assert "x" * 96 in values_of(SignOff("x" * 96, NOON))["Name"]
    assert "x" * 97 not in values_of(SignOff("x" * 97, NOON))["Name"]
    assert "…" in values_of(SignOff("x" * 97, NOON))["Name"]


@pytest.mark.parametrize("length", [64, 96])
def test_a_long_name_loses_its_middle_and_fills_the_line(length: int) -> None:
    start, end = "Ward 4, ".ljust(length, "a"), " 2026 session 17"
    assert shortened_name(start[:length], length) == start[:length]
    shown = shortened_name(start + end, length)
    assert len(shown) == length
    assert (start + end).startswith(shown.partition("…")[0])
    assert shown.endswith("…" + end)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"z_score": 1.96}, "In own range"),
        ({"z_score": -1.96}, "In own range"),
        ({"z_score": 1.97}, "Above baseline"),
        ({"z_score": -1.97}, "Below baseline"),
        ({"z_score": -0.5, "anomaly": True}, "Below baseline"),
        ({"z_score": None, "baseline_score": None}, "First recording"),
        ({"z_score": None, "baseline_score": 0.3}, "Not compared"),
        ({"z_score": 3.0, "level": Level.INCONCLUSIVE}, "Not compared"),
    ],
)
def test_95_of_100_own_readings_are_in_the_own_range(
    cases: dict[str, SubjectRecord], changed: dict[str, object], told: str
) -> None:
    signal = next(
        signal
        for recording in cases["gaps and anomalies"].finished
        for signal in recording.signals
        if isinstance(signal, LongitudinalSignal)
    )
    usual = {"anomaly": False, "baseline_score": 0.3, "level": Level.LOW}
    assert change_text(signal.model_copy(update={**usual, **changed})) == told


def test_an_appendix_is_made_if_asked_for_and_its_columns_fill_the_page(cases: dict[str, SubjectRecord]) -> None:
    record = cases["two"]
    assert recording_document(report_input(record, ReportOptions(NOON)))["appendix"] is None
    tables = recording_document(report_input(record, ReportOptions(NOON, appendix=True)))["appendix"]["tables"]
    assert tables
    for table in tables:
        assert len(table["shares"]) == len(table["columns"]) == len(table["rows"][0])
        assert sum(table["shares"]) == 100


def test_a_subject_has_room_for_64_characters_unless_told_otherwise() -> None:
    assert shortened_name("y" * 64) == "y" * 64
    assert len(shortened_name("y" * 65)) == 64
