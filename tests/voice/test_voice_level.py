import numpy as np
import pytest
import soxr

from vbdesk.voice.level import active_rms, measure_level
from vbdesk.voice.recording import Recording


def test_a_full_scale_sine_is_three_decibels_under_its_peak() -> None:
    sine = np.sin(2 * np.pi * 440.3 * np.arange(16_000) / 16_000).astype(np.float32)
    level = measure_level(sine)
    assert level.rms_dbfs == pytest.approx(-3.01, abs=0.02)
    assert level.peak_dbfs == pytest.approx(0, abs=0.01)


def test_silence_has_no_level_and_no_clipping() -> None:
    level = measure_level(np.zeros(1000, np.float32))
    assert level.rms_dbfs == level.peak_dbfs == -np.inf
    assert level.clipped_percent == 0


@pytest.mark.parametrize("samples", [np.empty(0, np.float32), np.zeros((10, 2), np.float32)])
def test_a_signal_that_is_not_mono_is_rejected(samples: np.ndarray) -> None:
    with pytest.raises(ValueError, match="one-dimensional"):
        measure_level(samples)


def test_ordinary_speech_does_not_clip(kathleen: Recording, male: Recording) -> None:
    for recording in (kathleen, male):
        loudest = recording.samples / np.abs(recording.samples).max()
        assert measure_level(loudest).clipped_percent < 0.01


@pytest.mark.parametrize("gain", [1.0, 0.3])
def test_flat_tops_are_counted_after_attenuation(kathleen: Recording, gain: float) -> None:
    normalised = kathleen.samples / np.abs(kathleen.samples).max()
    clipped = np.clip(4 * normalised, -1, 1)
    flat = 100 * np.mean(np.abs(clipped) >= 1)
    assert measure_level((gain * clipped).astype(np.float32)).clipped_percent == pytest.approx(flat, rel=0.1)


def test_clipping_at_another_rate_survives_resampling(kathleen: Recording) -> None:
    at_44k = soxr.resample(kathleen.samples, 16_000, 44_100)
    clipped = np.clip(4 * at_44k / np.abs(at_44k).max(), -1, 1).astype(np.float32)
    assert measure_level(soxr.resample(clipped, 44_100, 16_000)).clipped_percent > 1


def test_the_active_level_ignores_pauses(kathleen: Recording) -> None:
    padded = np.concatenate([kathleen.samples, np.zeros(80_000, np.float32)])
    assert active_rms(padded) == pytest.approx(active_rms(kathleen.samples), rel=0.05)
    assert active_rms(np.zeros(16_000, np.float32)) == 0


@pytest.mark.parametrize("scale", [3.0, 32_768.0])
def test_a_float_file_with_another_full_scale_does_not_clip(kathleen: Recording, scale: float) -> None:
    normalised = kathleen.samples / np.abs(kathleen.samples).max()
    assert measure_level(normalised * np.float32(scale)).clipped_percent < 0.01
    assert measure_level(np.clip(4 * normalised, -1, 1) * np.float32(scale)).clipped_percent > 1
