"""Sustained vowels are voice; hum, tones and noise are not."""

import numpy as np
import pytest
from numpy.typing import NDArray

from vbdesk.voice.activity import SpeechActivity, detect_speech
from vbdesk.voice.decode import decode, from_samples
from vbdesk.voice.quality import assess_quality
from vbdesk.voice.recording import ANALYSIS_RATE, Recording
from vbdesk.voice.sustained import find_sustained_vowels

Floats = NDArray[np.float64]
FORMANTS = ((700.0, 120.0), (1200.0, 150.0), (2500.0, 200.0))


def noise(count: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).standard_normal(count)


def slow(count: int, seed: int) -> Floats:
    """Noise below 1.5 Hz with a standard deviation of 1, like the pitch drift of a voice."""
    spectrum = np.fft.rfft(noise(count, seed))
    spectrum[np.fft.rfftfreq(count, 1 / ANALYSIS_RATE) > 1.5] = 0
    wave = np.fft.irfft(spectrum, count)
    return wave / wave.std()


def sustained_vowel(seconds: float, f0: float, *, drift: float = 0.15, seed: int = 1) -> Floats:
    """Harmonics under the formants of an open vowel; `drift` of the pitch in semitones."""
    count = round(seconds * ANALYSIS_RATE)
    phase = 2 * np.pi * np.cumsum(f0 * 2 ** (drift * slow(count, seed) / 12)) / ANALYSIS_RATE
    vowel = np.zeros(count)
    for harmonic in range(1, int(3800 / f0)):
        gain = sum(1 / (1 + ((harmonic * f0 - centre) / width) ** 2) for centre, width in FORMANTS)
        vowel += (gain + 0.02) * np.cos(harmonic * phase)
    return 0.1 * vowel / vowel.std()


def total_s(stretches: list[tuple[float, float]]) -> float:
    return sum(end - start for start, end in stretches)


@pytest.mark.parametrize("f0", [95.0, 180.0, 300.0])
@pytest.mark.parametrize("snr_db", [40, 15])
def test_a_sustained_vowel_is_found_at_its_position(f0: float, snr_db: float) -> None:
    silence = np.zeros(2 * ANALYSIS_RATE)
    samples = np.concatenate([silence, sustained_vowel(5, f0), silence])
    samples += 0.1 * 10 ** (-snr_db / 20) * noise(len(samples))
    held = find_sustained_vowels(samples.astype(np.float32))
    assert held[0][0] > 1.94
    assert held[-1][1] < 7.06
    assert total_s(held) > 4.2


def test_a_sustained_vowel_counts_as_voice_and_joins_adjacent_speech(kathleen: Recording) -> None:
    vowel = sustained_vowel(6, 200)
    recording = from_samples(np.concatenate([vowel, kathleen.samples]), ANALYSIS_RATE)
    activity = detect_speech(recording)
    assert activity.speech_s == pytest.approx(6 + detect_speech(kathleen).speech_s, abs=0.3)
    assert total_s(activity.sustained) == pytest.approx(6, abs=0.2)
    assert np.all(np.diff(np.ravel(activity.segments)) > 0)


def machines() -> dict[str, Floats]:
    times = np.arange(10 * ANALYSIS_RATE) / ANALYSIS_RATE
    hum = sum(np.cos(2 * np.pi * 100 * k * times + k) / k for k in range(1, 12))
    saw = 2 * ((120 * times) % 1) - 1
    spectrum = np.fft.rfft(noise(len(times)))
    spectrum[np.abs(np.fft.rfftfreq(len(times), 1 / ANALYSIS_RATE) - 85) > 15] = 0
    wind = np.fft.irfft(spectrum, len(times))
    return {
        "hum": hum,
        "hum in noise": hum + 0.3 * noise(len(times)),
        "hum in much noise": hum + 0.6 * noise(len(times), 2),
        "saw": saw,
        "tone": np.sin(2 * np.pi * 440 * times),
        "tone in noise": np.sin(2 * np.pi * 440 * times) + 0.2 * noise(len(times)),
        "noise": noise(len(times)),
        "wind": wind / wind.std() + 0.01 * noise(len(times)),
        "steady vowel of a machine": sustained_vowel(10, 150, drift=0),
    }


@pytest.mark.parametrize("name", machines())
def test_the_tone_of_a_machine_is_not_voice(name: str) -> None:
    assert find_sustained_vowels((0.1 * machines()[name]).astype(np.float32)) == []


def test_running_speech_has_no_sustained_vowel(kathleen: Recording, male: Recording, dialogue: Recording) -> None:
    for recording in (kathleen, male, dialogue):
        assert find_sustained_vowels(recording.samples) == []


@pytest.mark.parametrize("seconds", [0, 0.01, 0.5])
def test_a_short_signal_has_no_sustained_vowel(seconds: float) -> None:
    assert find_sustained_vowels(sustained_vowel(1, 150)[: round(seconds * ANALYSIS_RATE)].astype(np.float32)) == []


def test_gain_does_not_matter() -> None:
    samples = (sustained_vowel(3, 150) + 0.01 * noise(3 * ANALYSIS_RATE)).astype(np.float32)
    for gain in (1e-3, 30):
        assert find_sustained_vowels(samples * np.float32(gain)) == find_sustained_vowels(samples)


def test_the_recording_of_a_vowel_task_is_good(kathleen: Recording) -> None:
    """Three long vowels, then some words: enough speech, and no noise reported."""
    room = 1e-3 * noise(ANALYSIS_RATE)
    breaths = [part for seed in range(3) for part in (sustained_vowel(5, 190, seed=seed), room)]
    quality = assess_quality(
        from_samples(np.concatenate([*breaths, 1.5 * kathleen.samples[: 8 * ANALYSIS_RATE]]), ANALYSIS_RATE)
    )
    assert quality.issues == []
    assert quality.voice_percentage > 75

    quality = assess_quality(from_samples(np.concatenate(breaths), ANALYSIS_RATE))
    assert quality.issues == []
    assert quality.audio_clarity > 90


def test_noise_is_detected_between_sustained_vowels() -> None:
    samples = np.concatenate(
        [part for seed in range(3) for part in (sustained_vowel(5, 190, seed=seed), np.zeros(16_000))]
    )
    noisy = from_samples(samples + 0.025 * noise(len(samples)), ANALYSIS_RATE)
    assert assess_quality(noisy).audio_clarity == pytest.approx(2.5 * (12 + 10), abs=5)


def test_a_vowel_without_pauses_has_no_clarity() -> None:
    """Neither estimate can separate voice and noise there."""
    assert assess_quality(from_samples(sustained_vowel(16, 190), ANALYSIS_RATE)).audio_clarity is None


def test_times_in_sustained_vowels_are_distinguished_from_running_speech() -> None:
    activity = SpeechActivity([(1, 5)], 4, 80, sustained=[(2, 3)])
    assert activity.is_sustained_at(np.array([1.5, 2.5, 3.5])).tolist() == [False, True, False]


def test_the_sustained_vowels_of_the_collection_are_found(shared_audio) -> None:
    paths = sorted((shared_audio / "clinical" / "vowels").glob("*_[aiA]*.*"))
    shares = [
        detect_speech(decode(path, check_duration=False)).voice_percentage for path in paths if path.suffix != ".csv"
    ]
    assert len(shares) >= 18
    assert min(shares) > 85
    assert np.mean(shares) > 95


def test_the_noises_of_the_collection_are_not_vowels(shared_audio) -> None:
    for path in (shared_audio / "noise" / "clips").glob("*.flac"):
        assert find_sustained_vowels(decode(path, check_duration=False).samples) == []
