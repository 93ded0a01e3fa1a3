import io
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.sync.flac_encoding import BLOCK_FRAMES, encode_flac
from vbdesk.outbox.sync.upload_bytes import upload_of

DATA = Path(__file__).parents[1] / "data"


def noise(seconds, rate=48_000):
    return TakeAudio(
        np.random.default_rng(2).integers(-30000, 30000, seconds * rate, dtype=np.int16), rate, True, {}, ()
    )


def rate_of(content):
    return sf.info(io.BytesIO(content)).samplerate


def test_what_fits_is_encoded_without_loss():
    audio = noise(2)
    samples, rate = sf.read(io.BytesIO(encode_flac(audio)), dtype="int16")
    assert rate == 48_000
    assert np.array_equal(samples, audio.samples)


@pytest.mark.parametrize(
    ("max_bytes", "rate"),
    [(200_000, 48_000), (185_000, 44_100), (135_000, 32_000), (100_000, 24_000), (68_000, 16_000)],
)
def test_the_highest_rate_that_fits_is_taken(max_bytes, rate):
    encoded = encode_flac(noise(2), max_bytes)
    assert len(encoded) <= max_bytes
    assert rate_of(encoded) == rate


def test_what_does_not_fit_at_all_is_said():
    with pytest.raises(ValueError, match="Trim it"):
        encode_flac(noise(2), 10_000)


def test_a_rate_above_48_kilohertz_comes_down():
    assert rate_of(encode_flac(noise(1, 96_000))) == 48_000


def test_a_low_rate_stays():
    assert rate_of(encode_flac(noise(1, 11_025))) == 11_025


def test_an_imported_file_is_sent_as_it_is_and_trimmed_as_flac(library):
    path = DATA / "speech_kathleen_20s.m4a"
    facts = TakeMetadata("s-1", datetime(2026, 3, 1, tzinfo=UTC), RecordingTarget("model", "pulse"))
    whole = upload_of(library, library.get(library.import_file(path, facts)))
    assert (whole.content_type, whole.content) == ("audio/mp4", path.read_bytes())
    trimmed_facts = TakeMetadata("s-1", facts.recorded_at, facts.target, trim_s=(0.0, 16.0))
    part = upload_of(library, library.get(library.import_file(path, trimmed_facts)))
    assert part.content_type == "audio/flac"
    assert sf.info(io.BytesIO(part.content)).duration == pytest.approx(16.0)


def test_the_same_take_gives_the_same_bytes_each_time(library, new_take):
    item = library.get(new_take())
    assert upload_of(library, item).sha256 == upload_of(library, item).sha256


def test_a_try_that_grows_over_the_limit_is_not_kept_in_memory():
    audio = noise(60)
    tracemalloc.start()
    encoded = encode_flac(audio, 2_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rate_of(encoded) == 16_000
    assert peak < 3 * 2_000_000 + 12 * BLOCK_FRAMES
