"""Details of recordings for exports: what the recorder noted stays with the recording."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.contract.ids import new_id
from vbdesk.outbox.library.consent import ConsentKind
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata, metadata_of
from vbdesk.outbox.results.recording_details import recording_details

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
        library.store.keep_details(take_id, TakeMetadata(**{**fields_of(item), "capture": {}}))
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


def test_the_consent_for_the_recording_is_told_as_it_is_now(library, clock):
    with_job(library, library.add_take(marked_take(library), metadata()), "job-1")

    def told():
        return recording_details(library, ["s-1"])["job-1"].consent

    assert told() == "none"
    recorded_at = library.list()[0].recorded_at
    library.consents.give("s-1", ConsentKind.CLINICAL, at=recorded_at - timedelta(days=9), expires=recorded_at)
    assert told() == "expired"
    library.consents.give("s-1", ConsentKind.BOTH)
    assert told() == "both"
    library.withdraw_consent("s-1", ConsentKind.CLINICAL)
    assert told() == "research"
    library.withdraw_consent("s-1")
    assert told() == "withdrawn"
