"""Details of recordings for exports: what the recorder noted stays with the recording."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.contract.ids import new_id
from vbdesk.contract.jobs import Job
from vbdesk.outbox.library.consent import ConsentKind
from vbdesk.outbox.library.corrections import CorrectedRecording, CorrectionReason
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata, metadata_of
from vbdesk.outbox.results.recording_details import recording_details, with_corrections, with_details
from vbdesk.report.subject_record import RecordSource, subject_record

EIGHT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
ABOUT = {"device": "Studio Mic", "language": "de", "protocol_version": 2, "app_version": "1.2.3", "boot": {"x": 1}}


def marked_take(library, seconds=20, rate=8000):
    path = library.recording_folder / f"{new_id()}.take"
    writer = EncryptedTakeWriter(path, library.store.key, rate, ABOUT)
    writer.append(np.random.default_rng(1).normal(0, 3000, seconds * rate).astype(np.int16))
    writer.mark(3.0)
    writer.mark(15.0)
    writer.close()
    return path


def metadata(**more):
    return TakeMetadata("s-1", EIGHT, RecordingTarget("model", "pulse"), protocol="counting", **more)


def with_job(library, take_id, job_id):
    with library.store.changing():
        library.store.update(take_id, {"job_id": job_id})


def test_microphone_language_and_markers_stay_with_a_recording(library, tmp_path):
    take_id = library.add_take(
        marked_take(library), metadata(tags=("pilot",), trim_s=(2.0, 10.0), quality={"overall": "good"})
    )
    with_job(library, take_id, "job-1")
    [(job_id, details)] = recording_details(library, ["s-1"]).items()
    assert job_id == "job-1"
    assert (details.microphone, details.microphone_sample_rate) == ("Studio Mic", 8000)
    assert (details.protocol, details.protocol_version, details.protocol_language) == ("counting", 2, "de")
    assert (details.recorder_version, details.tags, details.check) == ("1.2.3", ("pilot",), {"overall": "good"})
    assert details.markers_s == (1.0,), "of the part that counts, from its beginning"
    assert recording_details(library, ["s-2"]) == {}
    content = b"".join(path.read_bytes() for path in (tmp_path / "library").rglob("*") if path.is_file())
    assert b"Studio Mic" not in content


def test_a_take_of_an_earlier_version_has_them_in_its_sound(library):
    take_id = library.add_take(marked_take(library), metadata())
    item = library.get(take_id)
    with library.store.changing():
        library.store.store_details(take_id, TakeMetadata(**{**fields_of(item), "capture": {}}))
    with_job(library, take_id, "job-1")
    assert library.get(take_id).capture == {}
    assert recording_details(library, ["s-1"])["job-1"].microphone == "Studio Mic"


def fields_of(item):
    known = metadata_of(item)
    return {name: getattr(known, name) for name in known.__slots__}


def test_a_file_has_a_name_here_and_no_microphone(library, tmp_path):
    source = Path(__file__).parents[1] / "data" / "speech_kathleen_20s.flac"
    named = tmp_path / "Müller visit 3.flac"
    named.write_bytes(source.read_bytes())
    take_id = library.import_file(named, metadata())
    with_job(library, take_id, "job-2")
    details = recording_details(library, ["s-1"])["job-2"]
    assert (details.imported, details.microphone, details.markers_s) == (True, "", ())
    assert library.get(take_id).file_name == "Müller visit 3.flac"
    content = b"".join(path.read_bytes() for path in (tmp_path / "library").rglob("*") if path.is_file())
    assert "Müller".encode() not in content


def job(job_id):
    return Job.model_validate(
        {
            "job_id": job_id,
            "status": "queued",
            "created_at": EIGHT,
            "completed_at": None,
            "job_type": "model",
            "api_version": "v2",
            "audio_content_type": "audio/flac",
            "audio_size_bytes": 1,
            "audio_duration_seconds": 20.0,
            "audio_sample_rate": 48000,
            "model_name": "pulse",
            "result": None,
        }
    )


def record(group_id, *jobs):
    """A subject's record with jobs, by id and recording time."""
    recordings = [(recorded_at, job(job_id)) for job_id, recorded_at in jobs]
    return subject_record(group_id, RecordSource.of(None, "acc-1"), recordings)


def test_the_consent_is_exported_as_it_is_now_also_for_recordings_that_are_not_here(library, clock):
    with_job(library, library.add_take(marked_take(library), metadata()), "here")
    whole = record("s-1", ("elsewhere", EIGHT - timedelta(days=3)), ("here", library.list()[0].recorded_at))

    def exported():
        [known] = with_details(library, [whole])
        return [each.consent for each in known.recordings]

    assert exported() == ["none", "none"]
    before = EIGHT - timedelta(days=1)
    library.consents.give("s-1", ConsentKind.CLINICAL, at=EIGHT - timedelta(days=9), expires=before)
    assert exported() == ["clinical", "expired"]
    library.consents.give("s-1", ConsentKind.BOTH)
    assert exported() == ["both", "both"]
    library.withdraw_consent("s-1", ConsentKind.CLINICAL)
    assert exported() == ["research", "research"]
    library.withdraw_consent("s-1")
    assert exported() == ["withdrawn", "withdrawn"]
    assert with_details(library, [record("s-2", ("other", EIGHT))])[0].recordings[0].consent == "none"


@pytest.mark.parametrize(("asked", "random"), [(EIGHT, True), (EIGHT.replace(microsecond=250_000), False)])
def test_a_fraction_of_a_second_that_the_import_made_up_is_known_as_such(library, asked, random):
    source = Path(__file__).parents[1] / "data" / "speech_kathleen_20s.flac"
    take_id = library.import_file(source, replace(metadata(), recorded_at=asked))
    with_job(library, take_id, "job-1")
    kept_at = library.get(take_id).recorded_at
    assert (kept_at != asked) is random
    [known] = with_details(library, [record("s-1", ("job-1", kept_at))])
    assert known.recordings[0].measured_at == asked
    assert known.recordings[0].recorded_at == kept_at


def test_a_time_of_the_microphone_keeps_its_digits(library):
    moment = EIGHT.replace(microsecond=123_456)
    with_job(library, library.add_take(marked_take(library), replace(metadata(), recorded_at=moment)), "job-1")
    [known] = with_details(library, [record("s-1", ("job-1", moment))])
    assert known.recordings[0].measured_at == moment


@pytest.mark.parametrize("target", [None, "s-2"])
def test_an_export_leaves_out_what_left_the_course_before_the_service_has_done_it(library, target):
    member = CorrectedRecording(None, "s-1", EIGHT, ("job-1",), "job-1")
    whole = record("s-1", ("job-1", EIGHT), ("job-2", EIGHT + timedelta(days=1)))
    other = record("s-3", ("job-3", EIGHT))
    assert with_corrections(library, [whole, other]) == [whole, other]
    if target is None:
        entry = library.corrections.exclude(member, CorrectionReason.POOR_SOUND)
    else:
        entry = library.corrections.move(member, target, CorrectionReason.WRONG_PERSON)
    [left, same] = with_corrections(library, [whole, other])
    assert [each.job.job_id for each in left.recordings] == ["job-2"]
    assert same == other
    library.corrections.put_back(entry.number)
    assert with_corrections(library, [whole, other]) == [whole, other]


@pytest.mark.parametrize("imported", [True, False])
def test_digits_that_a_person_entered_identify_nothing_and_are_exported(library, imported):
    if imported:
        take_id = library.import_file(Path(__file__).parents[1] / "data" / "speech_kathleen_20s.flac", metadata())
    else:
        take_id = library.add_take(marked_take(library), metadata())
    own = library.get(take_id).recorded_at
    library.set_recorded_at(take_id, own)
    assert library.get(take_id).time_is_unique, "nothing was changed"
    entered = EIGHT.replace(microsecond=250_000) - timedelta(hours=1)
    library.set_recorded_at(take_id, entered)
    assert not library.get(take_id).time_is_unique
    with_job(library, take_id, "job-1")
    [known] = with_details(library, [record("s-1", ("job-1", entered))])
    assert known.recordings[0].measured_at == entered
    with_job(library, take_id, None)
    library.set_recorded_at(take_id, entered.replace(microsecond=0))
    assert library.get(take_id).time_is_unique, "the digits are random again"
