"""Limits on reading: small files can hold hours of sound, or samples that take minutes to read."""

from io import BytesIO

import numpy as np
import pytest
import soundfile as sf
from constant_flac import constant_flac
from m4a_files import write_m4a

import vbdesk.voice.decode as decoding
from vbdesk.contract.errors import ErrorCode
from vbdesk.contract.limits import MAX_DURATION_S
from vbdesk.voice.decode import MAX_VALUES, decode
from vbdesk.voice.errors import AudioError, NothingToAnalyse, RecordingTooLong, UnsupportedAudio


@pytest.fixture
def read_values(monkeypatch) -> list[int]:
    """Number of samples of every block that was read."""
    counted: list[int] = []
    read = decoding._read

    def counting(*arguments):
        for sample_rate, block in read(*arguments):
            counted.append(block.size)
            yield sample_rate, block

    monkeypatch.setattr(decoding, "_read", counting)
    return counted


def test_the_small_flac_is_valid():
    samples, rate = sf.read(BytesIO(constant_flac(seconds=20, channels=2, value=100)), dtype="int16")
    assert (samples.shape, rate, np.unique(samples).tolist()) == ((20 * 44_100, 2), 44_100, [100])


def test_a_declared_length_of_hours_is_rejected_before_reading(read_values):
    for hours in (0.34, 10):
        small = constant_flac(seconds=hours * 3600, sample_rate=48_000)
        with pytest.raises(RecordingTooLong) as refused:
            decode(BytesIO(small))
        assert (len(small) < 600_000, refused.value.code) == (True, ErrorCode.AUDIO_TOO_LONG)
    assert read_values == []


def test_an_undeclared_length_of_hours_is_read_only_to_the_limit(read_values):
    with pytest.raises(RecordingTooLong):
        decode(BytesIO(constant_flac(seconds=4 * 3600, sample_rate=8_000, said_seconds=0)))
    assert sum(read_values) <= MAX_DURATION_S * 8_000 + 4 * decoding.BLOCK_FRAMES


@pytest.mark.parametrize(("sample_rate", "channels"), [(655_350, 1), (655_350, 8), (192_000, 8), (96_000, 3)])
def test_twenty_minutes_with_too_many_samples_are_rejected_before_reading(read_values, sample_rate, channels):
    small = constant_flac(seconds=1199, sample_rate=sample_rate, channels=channels)
    with pytest.raises(UnsupportedAudio, match=r"too many samples.*Convert it to 48 kHz"):
        decode(BytesIO(small))
    assert (len(small) < 500_000, read_values) == (True, [])


def test_undeclared_samples_are_read_only_to_the_limit(read_values, monkeypatch, tmp_path):
    monkeypatch.setattr(decoding, "MAX_VALUES", 1_000_000)
    hidden = [constant_flac(seconds=60, sample_rate=48_000, channels=8, said_seconds=0)]
    noise = np.random.default_rng(0).normal(0, 0.1, (48_000 * 20, 8)).astype(np.float32)
    write_m4a(tmp_path / "aac.m4a", "aac", "7.1", noise)
    hidden.append((tmp_path / "aac.m4a").read_bytes())
    for file in hidden:
        read_values.clear()
        with pytest.raises(UnsupportedAudio, match="too many samples"):
            decode(BytesIO(file))
        assert 0 < sum(read_values) <= 1_000_000 + 2 * 8 * decoding.BLOCK_FRAMES


def test_a_file_is_read_to_its_declared_length(read_values):
    with pytest.raises(AudioError):
        decode(BytesIO(constant_flac(seconds=4 * 3600, sample_rate=8_000, said_seconds=20)))
    assert sum(read_values) <= 21 * 8_000


def test_twenty_minutes_of_stereo_at_96_khz_are_within_the_limit():
    assert MAX_VALUES >= 1200 * 96_000 * 2


@pytest.mark.parametrize(("sample_rate", "channels"), [(192_000, 8), (655_350, 1)])
def test_a_short_recording_may_have_any_rate(sample_rate, channels):
    with pytest.raises(NothingToAnalyse):  # it is read to its end
        decode(BytesIO(constant_flac(seconds=16, sample_rate=sample_rate, channels=channels)))


def test_without_limits_any_file_is_read(monkeypatch):
    monkeypatch.setattr(decoding, "MAX_VALUES", 1000)
    with pytest.raises(NothingToAnalyse):
        decode(BytesIO(constant_flac(seconds=30, sample_rate=8_000)), check_duration=False)
