"""Frames, runs, tracks, peaks and bands: the parts that every feature uses."""

import numpy as np
import pytest
from scipy.signal import butter, sosfiltfilt

from vbdesk.voice.band import breath_band, emphasised_band
from vbdesk.voice.f0 import track_f0
from vbdesk.voice.intensity import SILENCE_DBFS, measure_intensity
from vbdesk.voice.peaks import refined_peaks
from vbdesk.voice.pulses import find_pulses
from vbdesk.voice.recording import ANALYSIS_RATE
from vbdesk.voice.short_term import Track, cut_frames, cut_long, frame_times, runs
from vbdesk.voice.zero_phase import band_pass


def tone(frequency: float, seconds: float, amplitude: float = 0.5) -> np.ndarray:
    moments = (np.arange(int(seconds * ANALYSIS_RATE)) + 0.5) / ANALYSIS_RATE
    return (amplitude * np.cos(2 * np.pi * frequency * moments)).astype(np.float32)


def test_frames_are_symmetrical_and_fit_into_the_recording():
    times = frame_times(ANALYSIS_RATE, 0.05)
    assert times.size == 96
    assert times[0] == pytest.approx(1 - times[-1])
    assert times[0] == pytest.approx(0.025)
    assert frame_times(799, 0.05).size == 0


def test_frames_beyond_the_ends_are_filled_with_zeros():
    samples = np.arange(1, 6, dtype=np.float32)
    frames = cut_frames(samples, np.array([-2, 1, 3, -9, 9]), 4)
    assert frames.tolist() == [[0, 0, 1, 2], [2, 3, 4, 5], [4, 5, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert cut_frames(samples, np.array([-1]), 8).tolist() == [[0, 1, 2, 3, 4, 5, 0, 0]]


def test_runs_are_found_and_long_ones_cut():
    stretches = runs(np.array([1, 1, 0, 1, 0, 0, 1, 1, 1], dtype=bool))
    assert stretches.tolist() == [[0, 2], [3, 4], [6, 9]]
    assert cut_long(stretches, 2).tolist() == [[0, 2], [3, 4], [6, 8], [8, 9]]


def test_a_track_repeats_a_repeated_span_and_excludes_its_end():
    track = Track(np.array([0.0, 1.0, 2.0, 3.0]), np.array([10.0, 11.0, 12.0, 13.0]))
    assert track.within([(1.0, 3.0), (1.0, 2.0)]).tolist() == [11, 12, 11]
    assert track.within([]).tolist() == []
    assert track.within(None).tolist() == [10, 11, 12, 13]


@pytest.mark.parametrize("band_limited", [False, True])
def test_peaks_are_found_between_samples_highest_first(band_limited):
    lags = np.arange(200)
    rows = np.stack([np.cos(2 * np.pi * lags / 37.3) * np.exp(-lags / 1000), np.zeros(200)]).astype(np.float32)
    lag, height = refined_peaks(rows, 20, 0.2, 5, band_limited=band_limited)
    assert lag[0, :4] == pytest.approx([37.3, 74.6, 111.9, 149.2], abs=0.3)
    assert height[0, :4] == pytest.approx(np.exp(-lag[0, :4] / 1000), abs=0.01)
    assert not lag[1].any()


def test_level_of_a_tone_and_of_silence_in_dbfs():
    contour = measure_intensity(np.concatenate([tone(200, 1.0), np.zeros(ANALYSIS_RATE, np.float32)]))
    assert contour.at(np.array([0.5])) == pytest.approx(20 * np.log10(0.5 / np.sqrt(2)), abs=0.02)
    assert contour.at(np.array([1.5])) == SILENCE_DBFS


def test_the_lower_band_keeps_a_tone_in_place_and_removes_higher_ones():
    rate = 10_000
    moments = (np.arange(5 * rate) + 0.5) / rate
    kept = emphasised_band(tone(1000, 5.0), rate)
    expected = 0.5 * np.cos(2 * np.pi * 1000 * moments)
    expected[1:] -= np.exp(-2 * np.pi * 50 / rate) * expected[:-1].copy()
    assert kept.dtype == np.float32
    inner = slice(500, -500)
    assert np.abs(kept - expected)[inner].max() < 1e-3
    assert np.abs(emphasised_band(tone(5600, 5.0), rate))[inner].max() < 1e-3


def test_the_breath_band_passes_its_middle_only():
    passed = breath_band(tone(3000, 4.0))
    assert np.abs(passed - tone(3000, 4.0))[1000:-1000].max() < 1e-3
    assert np.abs(breath_band(tone(1000, 4.0)))[1000:-1000].max() < 1e-3
    assert np.abs(breath_band(tone(5000, 4.0)))[1000:-1000].max() < 1e-3


def test_a_long_steady_voice_has_one_pulse_per_period():
    moments = np.arange(10 * ANALYSIS_RATE) / ANALYSIS_RATE
    buzz = sum(np.cos(2 * np.pi * 125 * harmonic * moments) / harmonic for harmonic in range(1, 12))
    samples = (0.1 * buzz).astype(np.float32)
    period = np.diff(find_pulses(samples, track_f0(samples)))
    assert period.size == pytest.approx(10 * 125, abs=8)
    assert np.mean(np.abs(period * 125 - 1) < 0.002) > 0.99


def test_the_zero_phase_band_pass_equals_scipy_for_each_signal():
    random = np.random.default_rng(0)
    signals = [np.cumsum(random.standard_normal(length)) for length in (40, 300, 16, 77)]
    usual = butter(2, (4.0, 12.0), "bandpass", fs=100, output="sos")
    for signal, filtered in zip(signals, band_pass(signals, (4.0, 12.0), 100), strict=True):
        assert filtered == pytest.approx(sosfiltfilt(usual, signal), abs=1e-9)
    assert band_pass([], (4.0, 12.0), 100) == []
