"""The tidy CSV, read back by pandas."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pandas
import pytest
from report_cases import SOURCE, pulse_scores, subject, unfinished

from vbdesk import __version__
from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.longitudinal import SeriesPoint
from vbdesk.contract.results import ModelResult
from vbdesk.report import tables
from vbdesk.report.data_dictionary import DictionaryColumn, table_definitions, ucum_code
from vbdesk.report.data_package import PACKAGE_FILE
from vbdesk.report.documents.report_input import ReportOptions
from vbdesk.report.exports import ExportFormat, export_files
from vbdesk.report.recording_details import RecordingDetails
from vbdesk.report.subject_record import SubjectRecord, subject_record
from vbdesk.report.tidy_csv import DICTIONARY_FILE, csv_cell, csv_files

DTYPES = {"text": "string", "code": "category", "integer": "Int64", "number": "Float64", "boolean": "boolean"}


def read(files: dict[str, bytes], table: str) -> pandas.DataFrame:
    """Read a table as docs/exports.md describes."""
    dictionary = pandas.read_csv(io.BytesIO(files[DICTIONARY_FILE]), keep_default_na=False)
    columns = dictionary[dictionary["table"] == table].set_index("column")["type"]
    return pandas.read_csv(
        io.BytesIO(files[f"{table}.csv"]),
        dtype={name: DTYPES[kind] for name, kind in columns.items() if kind in DTYPES},
        parse_dates=[name for name, kind in columns.items() if kind == "time"],
        keep_default_na=False,
        na_values=[""],
    )


def test_every_table_of_every_subject_loads_with_the_types_of_the_dictionary(case: SubjectRecord) -> None:
    files = csv_files([case])
    for name, table in table_definitions().items():
        frame = read(files, name)
        assert list(frame.columns) == [column.name for column in table.columns]
        keys = frame[[*table.keys]].dropna()
        assert not keys.duplicated().any(), name
        for column in table.columns:
            if column.values:
                assert set(frame[column.name].dropna().unique()) <= set(column.values), column.name


def test_the_ends_of_ranges_over_time_are_lower_and_upper(cases: dict[str, SubjectRecord]) -> None:
    record = cases["gaps and anomalies"]
    assert record.trajectory is not None
    rows = read(csv_files([record]), "trajectory")
    assert (rows["latest_low"] < rows["latest_score"]).all()
    assert (rows["latest_score"] < rows["latest_high"]).all()
    assert (rows["normal_low"] < rows["normal_high"]).all()
    first = record.trajectory.signs[0].series[0]
    ends = rows.iloc[0][["latest_low", "latest_high", "normal_low", "normal_high"]]
    assert tuple(ends) == pytest.approx((*first.latest_interval, *first.normal_range))


def test_there_is_one_row_for_each_recording_and_sign(cases: dict[str, SubjectRecord]) -> None:
    record = cases["mixed models"]
    files = csv_files([record])
    signs = read(files, "signs")
    expected = [(item.job.job_id, signal.name) for item in record.finished for signal in item.signals]
    assert list(signs[["job_id", "sign"]].itertuples(index=False, name=None)) == expected
    assert set(read(files, "recordings")["status"]) == {"done", "failed", "timed-out", "running"}


def test_numbers_and_times_survive_the_file(cases: dict[str, SubjectRecord]) -> None:
    record = cases["gaps and anomalies"]
    signs = read(csv_files([record]), "signs")
    signals = [signal for item in record.finished for signal in item.signals]
    assert [signal.score for signal in signals] == signs["score"].tolist()
    assert [signal.z_score for signal in signals] == [None if pandas.isna(z) else z for z in signs["z_score"]]
    assert list(dict.fromkeys(signs["recorded_at"])) == [item.recorded_at for item in record.finished]


def test_a_first_recording_has_no_history(cases: dict[str, SubjectRecord]) -> None:
    signs = read(csv_files([cases["first recording"]]), "signs")
    assert signs[["latest_score", "baseline_score", "anomaly", "z_score"]].isna().all(axis=None)
    assert len(signs) == 6


def test_an_inconclusive_level_has_no_rank(cases: dict[str, SubjectRecord]) -> None:
    signs = read(csv_files([cases["inconclusive only"]]), "signs")
    assert signs["level_rank"].isna().all()
    assert not signs["flagged"].any()


def test_speakers_without_a_reading_stay_in_the_table(cases: dict[str, SubjectRecord]) -> None:
    speakers = read(csv_files([cases["diarized"]]), "speakers")
    quiet = speakers[speakers["speaker"] == "speaker_2"]
    assert len(quiet) == 2
    assert quiet["level"].isna().all()
    assert (speakers["speaker"] == "speaker_1").sum() == 12


def test_without_scores_no_raw_score_is_exported(cases: dict[str, SubjectRecord]) -> None:
    files = csv_files([cases["two"]], scores=False)
    assert not any("score" in column for column in read(files, "signs").columns if column != "z_score")
    assert b"0.6839" not in b"".join(files.values())
    assert b"score_interval" not in files[DICTIONARY_FILE]


def test_the_same_record_gives_the_same_bytes(cases: dict[str, SubjectRecord]) -> None:
    assert csv_files([cases["mixed models"]]) == csv_files([cases["mixed models"]])


def test_several_subjects_share_the_tables(cases: dict[str, SubjectRecord]) -> None:
    frame = read(csv_files([cases["first recording"], cases["two"]]), "recordings")
    assert frame["group_id"].tolist() == ["first", "two", "two"]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "＝"])
def test_formulas_are_escaped(start: str) -> None:
    assert csv_cell(f"{start}cmd|' /C calc'!A0").startswith("'")


def test_negative_numbers_are_left_as_they_are() -> None:
    assert csv_cell(-0.25) == "-0.25"
    assert csv_cell(1234567) == "1234567"


@pytest.mark.parametrize("group_id", ["NA", "null", "007", "1e5", "TRUE", "a" * 512])
def test_a_subject_id_that_looks_like_a_value_is_unchanged(group_id: str) -> None:
    record = subject(pulse_scores(1), group_id=group_id)
    assert read(csv_files([record]), "recordings")["group_id"].tolist() == [group_id]


def test_hostile_text_survives_quoting() -> None:
    words = 'She said "=1+1", then\nשלום 🎙 \x00 and; more,\ttext'
    frame = read(csv_files([subject(pulse_scores(1), narrative=words)]), "recordings")
    assert frame["narrative"].tolist() == [words.replace("\x00", "\ufffd")]


def test_invalid_unicode_does_not_stop_the_export() -> None:
    job = subject(pulse_scores(1)).recordings[0]
    result = job.job.result
    assert isinstance(result, ModelResult)
    description = result.summary.description.model_copy(update={"summary": "half \ud83c a letter"})
    summary = result.summary.model_copy(update={"description": description})
    broken = job.job.model_copy(update={"result": result.model_copy(update={"summary": summary})})
    assert csv_files([subject_record("s", SOURCE, [(job.recorded_at, broken)])])["recordings.csv"].decode()


def test_a_recording_without_a_capture_time_has_the_time_of_its_job() -> None:
    moment, job = unfinished("j", JobStatus.QUEUED)
    record = subject_record("s", SOURCE, [(None, job)])
    assert record.recordings[0].recorded_at == moment


def test_rows_with_texts_have_their_language(cases: dict[str, SubjectRecord]) -> None:
    frame = read(csv_files([replace(cases["two"], language="de-CH")]), "signs")
    assert set(frame["language"]) == {"de-CH"}


@pytest.mark.parametrize(
    ("unit", "code"),
    [("Hz", "Hz"), ("syllables/s", "{syllable}/s"), ("", "1"), ("wibble {x}", "{wibblex}"), ("Ω", "1")],
)
def test_units_are_written_in_ucum(unit: str, code: str) -> None:
    assert ucum_code(unit) == code


DETAILS = RecordingDetails(
    protocol="reading_passage",
    protocol_version=2,
    protocol_language="de",
    microphone="=Studio, Mic",
    microphone_sample_rate=48_000,
    tags=("pilot;1", "@home"),
    note='+said "no"\r\nthen left',
    markers_s=(1.5, 12.0),
    check={"overall": "watch", "speech_seconds": 17.5, "rms_dbfs": None, "peak_dbfs": True, "clipped_percent": 0.25},
    recorder_version="1.2.3",
)


def test_what_the_computer_knows_is_in_the_table_of_recordings(cases: dict[str, SubjectRecord]) -> None:
    record = cases["mixed models"]
    first = record.recordings[0].job.job_id
    known = record.with_details({first: DETAILS}, lambda recorded_at: "not_stated")
    table = read(csv_files([known]), "recordings").set_index("job_id")
    row = table.loc[first]
    assert row["protocol"] == "reading_passage"
    assert (row["protocol_version"], row["protocol_language"]) == (2, "de")
    assert (row["microphone"], row["microphone_sample_rate"]) == ("'=Studio, Mic", 48_000)
    assert (row["tags"], row["note"]) == ("pilot,1;@home", '\'+said "no"\nthen left')
    assert row["markers"] == "1.50;12.00"
    assert (row["check"], row["check_speech_seconds"], row["check_clipped_percentage"]) == ("watch", 17.5, 0.25)
    assert pandas.isna(row["check_rms_dbfs"])
    assert pandas.isna(row["check_peak_dbfs"])
    assert not row["imported"]
    assert table["consent"].eq("not_stated").all(), "consent is the subject's: also for recordings that are not here"
    others = table.drop(first)
    for column in ("protocol", "microphone", "tags", "note", "markers", "check", "imported"):
        assert others[column].isna().all(), column
    assert table["export_version"].eq(__version__).all()


def test_a_random_fraction_of_a_second_is_in_no_table(cases: dict[str, SubjectRecord]) -> None:
    whole = cases["two"]
    at = {each.job.job_id: each.recorded_at + timedelta(microseconds=471_812) for each in whole.recordings}
    first, last = at
    read_by_us = subject_record("two", SOURCE, [(at[each.job.job_id], each.job) for each in whole.recordings])
    signs = [sign.model_copy(update={"series": _moved(sign.series, at)}) for sign in whole.trajectory.signs]
    record = replace(read_by_us, trajectory=whole.trajectory.model_copy(update={"signs": signs}))
    files = csv_files([record.with_details({last: RecordingDetails(imported=True, random_fraction=True)})])
    for name in ("recordings", "signs", "measures"):
        times = read(files, name).groupby("job_id")["recorded_at"].unique()
        assert list(times[last]) == [at[last].replace(microsecond=0)], name
        assert list(times[first]) == [at[first]], "the microphone's clock measured it"
    assert set(read(files, "trajectory")["recorded_at"]) == {at[first], at[last].replace(microsecond=0)}
    assert record.recordings[-1].recorded_at == at[last], "it identifies the recording"


def _moved(series: list[SeriesPoint], at: dict[str, datetime]) -> list[SeriesPoint]:
    return [point.model_copy(update={"t": moment}) for point, moment in zip(series, at.values(), strict=True)]


@pytest.mark.parametrize(("version", "norms"), [("1.4.0+norms.ward.7", "ward.7"), ("1.4.0", None)])
def test_a_site_s_own_norms_are_named(cases: dict[str, SubjectRecord], version: str, norms: str | None) -> None:
    finished = cases["mixed models"].finished
    done = next(recording for recording in finished if isinstance(recording.job.result, ModelResult))
    result = done.job.result
    assert isinstance(result, ModelResult)
    signals = [signal.model_copy(update={"sign_version": version}) for signal in result.signals]
    job = done.job.model_copy(update={"result": result.model_copy(update={"signals": signals})})
    record = subject_record("s", SOURCE, [(done.recorded_at, job)])
    [row] = read(csv_files([record]), "recordings").to_dict("records")
    assert row["sign_versions"] == version
    assert (None if pandas.isna(row["norms_version"]) else row["norms_version"]) == norms


def test_a_table_loads_without_any_hint(cases: dict[str, SubjectRecord]) -> None:
    record = cases["mixed models"]
    details = {recording.job.job_id: DETAILS for recording in record.recordings}
    content = csv_files([record.with_details(details)])["recordings.csv"]
    frame = pandas.read_csv(io.BytesIO(content))
    assert len(frame) == len(record.recordings)
    assert frame["microphone_sample_rate"].dtype == "int64"
    assert frame["check_speech_seconds"].dtype == "float64"
    rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    assert {len(row) for row in rows} == {len(frame.columns)}


def test_a_new_column_needs_its_definition_and_its_value_only(monkeypatch, cases: dict[str, SubjectRecord]) -> None:
    records, options = [cases["mixed models"]], ReportOptions(datetime(2026, 3, 1, tzinfo=UTC), scores=True)
    defined, rows = table_definitions(), tables._TABLES["recordings"]
    room = DictionaryColumn(name="room", type="code", about="Where it was recorded.", values=("ward",))
    with_room = defined["recordings"].model_copy(update={"columns": (*defined["recordings"].columns, room)})
    monkeypatch.setitem(defined, "recordings", with_room)
    monkeypatch.setitem(tables._TABLES, "recordings", lambda record: ({**row, "room": "ward"} for row in rows(record)))
    for kind, reader in ((ExportFormat.CSV, pandas.read_csv), (ExportFormat.PARQUET, pandas.read_parquet)):
        files = export_files(kind, records, options)
        frame = reader(io.BytesIO(files[f"recordings.{kind.value}"]))
        assert set(frame["room"]) == {"ward"}
        assert b"Where it was recorded." in files[DICTIONARY_FILE]
    assert b'"room"' in export_files(ExportFormat.CSV, records, options)[PACKAGE_FILE]
    assert b"\troom" in b"".join(export_files(ExportFormat.BIDS, records, options).values())
