from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.outbox.imports.speaker_comparison import SpeakerComparison, compare, comparison_rules, voice_of
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata, metadata_of

DATA = Path(__file__).parents[1] / "data"


def spoken(name, start_s=0.0, end_s=20.0):
    samples, rate = sf.read(DATA / name, dtype="int16")
    return TakeAudio(samples[round(start_s * rate) : round(end_s * rate)], rate, True, {}, ())


@pytest.fixture
def guard(library):
    """For a subject whose earlier take is the first half of a woman's reading."""
    first = library.recording_folder / "first.flac"
    audio = spoken("speech_kathleen_20s.flac", end_s=10)
    sf.write(first, audio.samples, audio.sample_rate)
    library.import_file(
        first, TakeMetadata("ward4-0172", datetime(2026, 3, 1, tzinfo=UTC), RecordingTarget("model", "pulse"))
    )
    return SpeakerComparison(library)


def test_the_same_voice_gives_no_warning(guard):
    likeness = guard.compare(spoken("speech_kathleen_20s.flac", start_s=10), "ward4-0172")
    assert likeness.similarity > comparison_rules().unlike_below
    assert (likeness.compared, likeness.warning) == (1, None)


def test_another_voice_is_warned_of_with_what_to_do(guard):
    likeness = guard.compare(spoken("speech_male_20s.flac"), "ward4-0172")
    assert likeness.similarity < comparison_rules().unlike_below
    assert "right person" in likeness.warning


def test_a_first_recording_and_one_without_speech_say_nothing(guard):
    assert guard.compare(spoken("speech_male_20s.flac"), "ward4-0001").similarity is None
    quiet = TakeAudio(np.zeros(20 * 16_000, np.int16), 16_000, True, {}, ())
    assert voice_of(quiet) is None
    assert guard.compare(quiet, "ward4-0172").warning is None


def test_a_take_is_not_compared_with_itself(guard, library):
    (item,) = library.list()
    assert guard.compare(library.audio(item.take_id), "ward4-0172", item.take_id).compared == 0


def test_a_first_try_of_the_same_visit_and_what_was_excluded_prove_nothing(guard, library, tmp_path):
    wrong = tmp_path / "wrong.flac"
    audio = spoken("speech_male_20s.flac", end_s=10)
    sf.write(wrong, audio.samples, audio.sample_rate)
    metadata = TakeMetadata("ward4-0172", datetime(2026, 3, 2, tzinfo=UTC), RecordingTarget("model", "pulse"))
    first = library.import_file(wrong, metadata)
    again = spoken("speech_male_20s.flac", start_s=10)
    assert guard.compare(again, "ward4-0172").warning is None
    assert guard.compare(again, "ward4-0172", first).warning is not None
    with library.store.changing():
        library.store.store_details(first, replace(metadata_of(library.get(first)), excluded=True))
    assert guard.compare(again, "ward4-0172").warning is not None
    library.discard(first)
    assert guard.compare(again, "ward4-0172", first).warning is not None


def test_one_earlier_take_that_is_alike_is_enough():
    me, like, unlike = (
        voice_of(spoken("speech_kathleen_20s.flac", end_s=10)),
        voice_of(spoken("speech_kathleen_20s.flac", start_s=10)),
        voice_of(spoken("speech_male_20s.flac")),
    )
    assert compare(me, [unlike, like]).warning is None
    assert compare(me, [unlike]).warning is not None


def test_nothing_of_a_voice_is_written_to_the_disk(guard, library, tmp_path):
    before = {path: path.stat().st_size for path in (tmp_path / "library").rglob("*.take")}
    version = library.store.version()
    guard.compare(spoken("speech_male_20s.flac"), "ward4-0172")
    assert library.store.version() == version
    assert {path: path.stat().st_size for path in (tmp_path / "library").rglob("*.take")} == before


def test_a_take_that_was_trimmed_is_heard_again(guard, library, tmp_path):
    """A nurse speaks first, then the patient: after trimming, only the patient is compared."""
    nurse, patient = spoken("speech_kathleen_20s.flac", end_s=10), spoken("speech_male_20s.flac", end_s=10)
    both = tmp_path / "both.wav"
    sf.write(both, np.concatenate([nurse.samples, patient.samples]), nurse.sample_rate)
    metadata = TakeMetadata("ward4-0007", datetime(2026, 3, 1, tzinfo=UTC), RecordingTarget("model", "pulse"))
    take_id = library.import_file(both, metadata)
    half_s = len(nurse.samples) / nurse.sample_rate
    before = guard.compare(spoken("speech_male_20s.flac", start_s=10), "ward4-0007").similarity
    library.set_trim(take_id, (half_s, 2 * half_s))
    assert guard.compare(spoken("speech_male_20s.flac", start_s=10), "ward4-0007").similarity > before
