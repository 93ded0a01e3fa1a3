"""Features of synthetic sounds with known truth."""

from itertools import product

import numpy as np
import pytest
import soxr
from scipy.signal import lfilter
from synthetic_voice import FINE_RATE, VOWELS, make_speech, make_vowel, pulse_train

from vbdesk.voice.cepstrum import cepstral_prominence
from vbdesk.voice.f0 import track_f0
from vbdesk.voice.features import analyse_frames, summarise_features
from vbdesk.voice.formants import measure_formants
from vbdesk.voice.harmonicity import measure_harmonicity
from vbdesk.voice.perturbation import measure_perturbation
from vbdesk.voice.pulses import find_pulses
from vbdesk.voice.recording import ANALYSIS_RATE, Samples
from vbdesk.voice.rhythm import RhythmRules
from vbdesk.voice.short_term import HOP_S
from vbdesk.voice.spectrum import COLUMNS, spectral_balance


def measured_perturbation(samples: Samples) -> tuple[float, float]:
    f0 = track_f0(samples)
    parts = measure_perturbation(samples, find_pulses(samples, f0))
    jitter = 100 * parts.period_steps.values.mean() / parts.periods.values.mean()
    return float(jitter), float(parts.amplitude_steps.values[:, 1].mean())


@pytest.mark.parametrize("f0", [75, 110, 160, 210, 330, 397.7, 480])
def test_f0_of_a_pulse_train_is_found_within_half_a_percent(f0):
    samples = soxr.resample(pulse_train(f0, 2.0), FINE_RATE, ANALYSIS_RATE).astype(np.float32)
    track = track_f0(samples)
    voiced = track.frequency[track.frequency > 0]
    assert voiced.size > 0.8 * track.frequency.size
    assert np.median(voiced) == pytest.approx(f0, rel=0.005)
    assert np.percentile(np.abs(voiced / f0 - 1), 95) < 0.005


def test_jitter_of_made_vowels_is_within_the_bar():
    errors = []
    for f0, vowel, jitter in product((110, 210), ("a", "i"), (0.0, 0.01)):
        made = make_vowel(f0, vowel, jitter=jitter, seed=int(f0 + 1000 * jitter))
        errors.append(abs(measured_perturbation(made.samples)[0] - made.jitter_percent))
    assert np.mean(errors) < 0.08


def test_shimmer_of_made_vowels_is_within_the_bar():
    errors = []
    for f0, vowel, shimmer in product((110, 210), ("a", "i"), (0.0, 0.05)):
        made = make_vowel(f0, vowel, shimmer=shimmer, seed=int(f0 + 1000 * shimmer))
        errors.append(abs(measured_perturbation(made.samples)[1] - made.shimmer_db))
    assert np.mean(errors) < 0.12


def test_harmonicity_of_made_vowels_is_near_the_truth():
    errors = []
    for f0, vowel, hnr in product((110, 210), ("a", "i"), (10, 20, 30)):
        made = make_vowel(f0, vowel, hnr_db=hnr, seed=hnr)
        moments = np.arange(0.5, 2.5, 0.01)
        values = measure_harmonicity(made.samples, moments, 75, f0=np.full(moments.size, float(f0)))
        errors.append(abs(float(np.mean(values)) - hnr))
    assert np.mean(errors) < 0.8


def test_harmonicity_next_to_digital_silence_is_nan_or_low():
    vowel = make_vowel(160, "a").samples
    cut = np.concatenate([vowel[: ANALYSIS_RATE + 7], np.zeros(ANALYSIS_RATE, np.float32)])
    moments = np.arange(0.9, 1.1, 0.001)
    values = measure_harmonicity(cut, moments, 75, f0=np.full(moments.size, 160.0))
    assert not np.any(values[moments > 1.02] > 0)
    assert np.all(values[moments < 0.96] > 20)


def test_harmonicity_of_any_lag_is_higher_than_one_period_away():
    made = make_vowel(210, "i", hnr_db=5, seed=1)
    moments = np.arange(0.5, 2.5, 0.01)
    best = measure_harmonicity(made.samples, moments, 75)
    one_period = measure_harmonicity(made.samples, moments, 75, f0=np.full(moments.size, 210.0))
    assert np.nanmean(best) > np.nanmean(one_period) + 1


def test_f0_of_made_speech_follows_its_contour():
    made = make_speech(seed=3)
    track = track_f0(made.samples)
    truth = made.f0_at(track.times)
    both = (truth > 0) & (track.frequency > 0)
    assert both.sum() > 0.9 * np.sum(truth > 0)
    error = np.abs(track.frequency[both] / truth[both] - 1)
    assert np.median(error) < 0.005
    assert np.mean(error > 0.2) < 0.01


def test_voicing_of_synthetic_speech_excludes_noise_and_pauses():
    made = make_speech(seed=4)
    track = track_f0(made.samples)
    assert np.mean((made.f0_at(track.times) > 0) != (track.frequency > 0)) < 0.065


def test_noise_lowers_the_cepstral_peak_step_by_step():
    prominence = []
    for hnr in (30, 20, 10, 5):
        samples = make_vowel(160, "a", hnr_db=hnr).samples
        prominence.append(float(cepstral_prominence(samples, np.array([[0, samples.size]])).values.mean()))
    assert prominence == sorted(prominence, reverse=True)
    assert prominence[0] - prominence[-1] > 3


@pytest.mark.parametrize("vowel", list(VOWELS))
def test_formants_are_where_the_tract_has_them(vowel):
    # an all-pole tract at 10 kHz: the model behind the measurement, so that its answer is known
    rate = 10_000
    sound = np.zeros(3 * rate)
    sound[np.rint(np.arange(0.02, 3.0, 1 / 110) * rate).astype(int)] = 0.1
    sound = lfilter([1], [1, -0.98], sound)
    for frequency, bandwidth in VOWELS[vowel]:
        radius = np.exp(-np.pi * bandwidth / rate)
        sound = lfilter([1], [1, -2 * radius * np.cos(2 * np.pi * frequency / rate), radius**2], sound)
    samples = soxr.resample(sound, rate, ANALYSIS_RATE, quality="VHQ").astype(np.float32)
    rows = measure_formants(samples, np.arange(0.5, 2.5, 0.01), 5000).values
    assert rows.shape[0] == 200
    truth = [frequency for frequency, _ in VOWELS[vowel][:3]]
    assert np.median(rows[:, :3], axis=0) == pytest.approx(truth, rel=0.05)


def test_balance_of_two_tones_is_the_difference_of_their_levels():
    time = (np.arange(ANALYSIS_RATE) + 0.5) / ANALYSIS_RATE
    tones = 0.5 * np.sin(2 * np.pi * 500 * time) + 0.05 * np.sin(2 * np.pi * 3000 * time)
    track = spectral_balance(tones.astype(np.float32), np.array([0.3, 0.5]), np.array([250.0, 250.0]))
    row = dict(zip(COLUMNS, track.values[0], strict=True))
    assert row["alpha_ratio"] == pytest.approx(-20, abs=0.1)
    assert row["hammarberg_index"] == pytest.approx(20, abs=0.1)
    assert row["h1_h2_difference"] < -40


def bursts(lengths_and_pauses: list[tuple[float, float]]) -> Samples:
    """A 120 Hz buzz with pauses, over faint noise."""
    parts = []
    for sounding, pause in lengths_and_pauses:
        parts += [np.ones(int(sounding * ANALYSIS_RATE)), np.zeros(int(pause * ANALYSIS_RATE))]
    gate = np.convolve(np.concatenate([np.zeros(8000), *parts]), np.hanning(160) / 80, mode="same")
    time = np.arange(gate.size) / ANALYSIS_RATE
    buzz = sum(np.cos(2 * np.pi * 120 * harmonic * time) / harmonic for harmonic in range(1, 20))
    return (0.1 * buzz * gate + np.random.default_rng(1).normal(0, 1e-4, gate.size)).astype(np.float32)


def test_pauses_of_a_made_signal_are_counted_and_measured():
    pauses = [0.5, 0.9, 0.4, 0.7]
    features = summarise_features(analyse_frames(bursts([(1.5, pause) for pause in pauses] + [(1.5, 0.6)])))
    total = 5 * 1.5 + sum(pauses)
    assert features["pause_rate"].value == pytest.approx(60 * 4 / total, rel=0.05)
    # the 64 ms window of the level spreads sound into the pause at both ends
    assert features["pause_duration"].value == pytest.approx(np.mean(pauses), abs=0.07)
    assert features["pause_ratio"].value == pytest.approx(100 * sum(pauses) / total, abs=3)
    assert features["pause_duration_variability"].value == pytest.approx(np.std(pauses, ddof=1), abs=0.03)
    assert features["phrase_length"].value == pytest.approx(1.5, abs=0.07)


def test_gaps_shorter_than_a_pause_do_not_split_speech():
    features = summarise_features(analyse_frames(bursts([(0.5, 0.12)] * 6)))
    assert features["pause_rate"].value == 0
    assert features["pause_ratio"].value == 0
    assert features["pause_duration"].missing == "too_few_pauses"


def test_syllables_are_counted_by_the_dips_between_them():
    features = summarise_features(analyse_frames(bursts([(0.18, 0.07)] * 20)))
    detected_share = RhythmRules.load().syllables.detected_share  # each of these is detected, unlike those of speech
    assert detected_share * features["speech_rate"].value == pytest.approx(4.0, rel=0.06)


def swelling_vowel(seconds: float, fall_db: float) -> Samples:
    """A steady vowel that falls evenly by `fall_db`, cut out of its recording: there is no silence around it."""
    time = np.arange(int(seconds * ANALYSIS_RATE)) / ANALYSIS_RATE
    phase = 2 * np.pi * np.cumsum(130 * (1 + 0.004 * np.sin(2 * np.pi * 0.7 * time))) / ANALYSIS_RATE
    voice = sum(np.cos(harmonic * phase) / harmonic for harmonic in range(1, 15))
    return (0.1 * voice * 10 ** (-fall_db * time / seconds / 20)).astype(np.float32)


@pytest.mark.parametrize("fall_db", [1.0, 6.0, 15.0])
def test_a_steady_vowel_is_speech_from_end_to_end(fall_db):
    frames = analyse_frames(swelling_vowel(8.0, fall_db))
    assert HOP_S * frames.level_dbfs.values.size > 0.9 * 8.0


@pytest.mark.parametrize("noise_dbfs", [-70.0, -55.0])
def test_a_soft_end_is_speech_and_the_room_after_it_is_not(noise_dbfs):
    vowel = swelling_vowel(1.2, 0.0)
    fading = vowel.copy()
    tail = int(0.4 * ANALYSIS_RATE)
    fading[-tail:] *= 10 ** (-33 * np.arange(tail) / tail / 20)  # by 33 dB; the last 8 dB are under the onset
    silence = np.zeros(ANALYSIS_RATE, np.float32)
    sound = np.concatenate([silence, fading, silence, fading, silence, fading, silence])
    room = 10 ** (noise_dbfs / 20) * np.random.default_rng(2).standard_normal(sound.size)
    features = summarise_features(analyse_frames((sound + room).astype(np.float32)))
    assert features["pause_duration"].value == pytest.approx(1.0, abs=0.12)
    assert features["phrase_length"].value == pytest.approx(1.2, abs=0.12)


def test_a_steady_tone_has_no_tremor_and_a_wavering_one_has():
    time = np.arange(4 * ANALYSIS_RATE) / ANALYSIS_RATE
    depth = 0.5  # semitones

    def sung(wavering: float) -> Samples:
        f0 = 140 * 2 ** (wavering * np.sin(2 * np.pi * 6 * time) / 12)
        phase = 2 * np.pi * np.cumsum(f0) / ANALYSIS_RATE
        return (0.05 * sum(np.cos(harmonic * phase) / harmonic for harmonic in range(1, 15))).astype(np.float32)

    steady, wavering = (
        summarise_features(analyse_frames(sung(amount)))["voice_tremor"].value for amount in (0.0, depth)
    )
    assert steady < 0.02
    assert wavering == pytest.approx(depth / np.sqrt(2), rel=0.15)
