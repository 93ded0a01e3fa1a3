"""The BIDS folder, read as another program does."""

import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas
import pytest
from report_cases import pulse_scores, subject

from vbdesk.report.bids import AudioFile, bids_files
from vbdesk.report.file_names import bids_labels, file_stems
from vbdesk.report.recording_details import RecordingDetails
from vbdesk.report.subject_record import SubjectRecord

ENTITY = re.compile(r"sub-[A-Za-z0-9]+(_ses-[A-Za-z0-9]+)?_[a-z]+\.[a-z0-9]+")


def read(content: bytes) -> pandas.DataFrame:
    return pandas.read_csv(io.BytesIO(content), sep="\t", na_values=["n/a"], keep_default_na=False)


def test_every_table_is_explained_column_by_column(case: SubjectRecord) -> None:
    files = bids_files([case])
    tables = [name for name in files if name.endswith(".tsv") and not name.startswith("sourcedata")]
    assert tables
    for name in tables:
        columns = set(read(files[name]).columns)
        beside = json.loads(files[name.replace(".tsv", ".json")])
        assert columns == set(beside) - {"MeasurementToolMetadata"}, name
        assert all(entry["Description"] for entry in beside.values())


def test_file_names_follow_bids(cases: dict[str, SubjectRecord]) -> None:
    files = bids_files(list(cases.values()))
    assert json.loads(files["dataset_description.json"])["BIDSVersion"]
    for name in files:
        if name.startswith("sub-"):
            first, *_, last = name.split("/")
            assert ENTITY.fullmatch(last), name
            assert last.startswith(f"{first}_")
    assert "voice" in files[".bidsignore"].decode()


def test_each_table_of_a_sign_has_one_row_per_session(cases: dict[str, SubjectRecord]) -> None:
    record = cases["mixed models"]
    files = bids_files([record])
    for sign in {signal.name for item in record.finished for signal in item.signals}:
        frame = read(files[f"derivatives/vbdesk/sign_{sign.replace('-', '_')}.tsv"])
        expected = [signal.score for item in record.finished for signal in item.signals if signal.name == sign]
        assert frame["score"].tolist() == expected
        assert not frame[["participant_id", "session_id"]].duplicated().any()
    assert len(read(files["derivatives/vbdesk/recording_quality.tsv"])) == len(record.recordings)
    features = read(files["derivatives/vbdesk/vocal_features.tsv"])
    assert features["speech_rate"].tolist() == [2.46] * 4
    assert set(features["speech_rate_band"]) == {"reduced"}


def test_the_readme_counts_its_subjects(cases: dict[str, SubjectRecord]) -> None:
    for names, told in ((["two"], "1 subject"), (["first recording", "two"], "2 subjects")):
        files = bids_files([cases[name] for name in names])
        assert re.findall(r"\b\d+ subjects?\b", files["README"].decode()) == [told]


def test_recordings_with_equal_times_are_two_sessions(cases: dict[str, SubjectRecord]) -> None:
    sessions = read(bids_files([cases["mixed models"]])["sub-mixed/sub-mixed_sessions.tsv"])
    assert sessions["session_id"].is_unique
    assert sessions["acq_time"].duplicated().any()


def test_a_recording_added_later_renames_no_session(cases: dict[str, SubjectRecord]) -> None:
    whole = cases["gaps and anomalies"]
    part = replace(whole, recordings=whole.recordings[3:])
    names = [{name for name in bids_files([record]) if "/voice/" in name} for record in (whole, part)]
    assert names[1] < names[0]


def test_consent_is_the_subject_s_also_for_recordings_of_other_computers(cases: dict[str, SubjectRecord]) -> None:
    record = cases["mixed models"]
    first = record.recordings[0]
    known = record.with_details(
        {first.job.job_id: RecordingDetails(protocol="counting")},
        lambda recorded_at: "clinical" if recorded_at == first.recorded_at else "expired",
    )
    files = bids_files([known])
    sidecars = _sidecars(files)
    assert [sidecar["Consent"] for sidecar in sidecars] == ["clinical"] + ["expired"] * (len(record.recordings) - 1)
    assert [sidecar.get("Protocol") for sidecar in sidecars].count("counting") == 1
    assert set(read(files["derivatives/vbdesk/recording_quality.tsv"])["consent"]) == {"clinical", "expired"}
    assert not any("Consent" in sidecar for sidecar in _sidecars(bids_files([record])))


def _sidecars(files: Mapping[str, bytes | Path]) -> list[dict[str, Any]]:
    return [json.loads(content) for name, content in files.items() if name.endswith("_voice.json")]


def test_given_audio_is_copied(cases: dict[str, SubjectRecord]) -> None:
    record = cases["two"]
    sound = AudioFile(".flac", b"fLaC")
    files = bids_files([record], {record.recordings[0].job.job_id: sound})
    [copied] = [name for name in files if name.endswith(".flac")]
    assert files[copied] == b"fLaC"
    assert copied.replace(".flac", ".json") in files


def test_only_sourcedata_maps_labels_to_subjects() -> None:
    record = subject(pulse_scores(2), group_id="ward:4~0172")
    files = bids_files([record])
    mapping = list(csv.DictReader(io.StringIO(files["sourcedata/group_ids.tsv"].decode()), delimiter="\t"))
    assert [row["group_id"] for row in mapping] == ["ward:4~0172"]
    elsewhere = {name: content for name, content in files.items() if not name.startswith("sourcedata")}
    for content in elsewhere.values():
        assert b"ward:4~0172" not in content
        assert b"job-0000" not in content
        assert b"acct-7" not in content


def test_without_scores_none_is_exported(cases: dict[str, SubjectRecord]) -> None:
    files = bids_files([cases["two"]], scores=False)
    score = str(cases["two"].finished[-1].signals[0].score).encode()
    assert not any(score in content for content in files.values())
    assert "derivatives/vbdesk/extended_metrics.tsv" not in files


def test_text_never_breaks_a_line() -> None:
    record = subject(pulse_scores(1), issues={0: ("odd\tcode\nof a service",)})
    frame = read(bids_files([record])["derivatives/vbdesk/recording_quality.tsv"])
    assert frame["issues"].tolist() == ["odd code of a service"]


IDS = ["a" * 512, "a" * 511 + "b", "A", "a", "ward:4", "ward4", "con", "x.", "Z~Z", "Z-Z"]


@pytest.mark.parametrize("names", [bids_labels, file_stems])
def test_file_names_are_short_distinct_and_portable(names) -> None:
    found = names(IDS)
    assert set(found) == set(IDS)
    assert len({name.lower() for name in found.values()}) == len(IDS)
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", name) for name in found.values())
    assert not any(name.lower() == "con" or name.endswith(".") for name in found.values())
    assert file_stems(["ward4-0172"]) == {"ward4-0172": "ward4-0172"}


def test_the_same_records_give_the_same_files(cases: dict[str, SubjectRecord]) -> None:
    assert bids_files([cases["diarized"]]) == bids_files([cases["diarized"]])


def test_a_sign_name_with_a_path_stays_in_its_folder() -> None:
    record = subject(pulse_scores(1))
    item = record.recordings[0]
    odd = [signal.model_copy(update={"name": f"../x{k}/\\y"}) for k, signal in enumerate(item.signals)]
    job = item.job.model_copy(update={"result": item.job.result.model_copy(update={"signals": odd})})
    files = bids_files([replace(record, recordings=(replace(item, job=job),))])
    assert not any(".." in Path(name).parts or "\\" in name for name in files)
    assert sum(name.startswith("derivatives/vbdesk/sign_") for name in files) == 12
