import itertools
from dataclasses import replace

import numpy as np
import pytest
import soxr
from numpy.typing import NDArray
from pydantic import ValidationError

from vbdesk.resource_files import resource
from vbdesk.voice.activity import detect_speech
from vbdesk.voice.clarity import speech_to_pause_db
from vbdesk.voice.decode import decode, from_samples
from vbdesk.voice.level import active_rms
from vbdesk.voice.quality import Quality, assess_quality
from vbdesk.voice.quality_rules import quality_rules, read_quality_rules
from vbdesk.voice.recording import ANALYSIS_RATE, Recording


def pink_noise(count: int) -> NDArray[np.float64]:
    spectrum = np.fft.rfft(np.random.default_rng(7).standard_normal(count))
    return np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 1)), count)


def with_noise(recording: Recording, snr_db: float) -> Recording:
    noise = pink_noise(len(recording.samples))
    noise *= active_rms(recording.samples) / np.sqrt(np.mean(noise**2)) / 10 ** (snr_db / 20)
    return from_samples(recording.samples + noise, ANALYSIS_RATE)


@pytest.fixture(scope="module")
def clean_kathleen(kathleen: Recording) -> Quality:
    return assess_quality(kathleen)


@pytest.fixture(scope="module")
def clean_male(male: Recording) -> Quality:
    return assess_quality(male)


def test_clean_speech_has_no_issues(
    kathleen: Recording, male: Recording, clean_kathleen: Quality, clean_male: Quality
) -> None:
    for recording, quality in ((kathleen, clean_kathleen), (male, clean_male)):
        assert quality.issues == []
        assert quality.audio_clarity is not None
        assert quality.audio_clarity > 80
        assert 60 < quality.voice_percentage < 95
        assert quality.speech_seconds == pytest.approx(quality.voice_percentage * recording.duration_s / 100)


def test_clarity_falls_with_every_step_of_noise(kathleen: Recording) -> None:
    ladder = [assess_quality(with_noise(kathleen, snr_db)).audio_clarity for snr_db in (20, 10, 5, 0)]
    assert all(higher > lower for higher, lower in itertools.pairwise(ladder))


def test_clarity_reads_fifty_near_ten_decibels(male: Recording) -> None:
    clarity = assess_quality(with_noise(male, 10)).audio_clarity
    assert clarity == pytest.approx(50, abs=10)


def test_noise_is_reported(kathleen: Recording) -> None:
    assert assess_quality(with_noise(kathleen, 3)).issues == ["high_background_noise", "noise_limits_voice_quality"]
    assert assess_quality(with_noise(kathleen, 15)).issues == ["noise_limits_voice_quality"]


@pytest.mark.parametrize("missed_s", [0.3, 0.6])
def test_a_word_that_the_detector_missed_is_not_noise(male: Recording, missed_s: float) -> None:
    noisy = with_noise(male, 20).samples
    peak_db = quality_rules().clarity.pause_peak_db
    activity = detect_speech(male)
    first, last = next((start, end) for start, end in activity.segments if end - start > 1.0)
    without = [(start, end) for start, end in activity.segments if start != first]
    missing = replace(activity, segments=[*without, (first + missed_s, last)])
    missing.segments.sort()
    whole = speech_to_pause_db(noisy, activity, peak_db)
    assert speech_to_pause_db(noisy, missing, peak_db) == pytest.approx(whole, abs=2.0)
    assert speech_to_pause_db(noisy, missing, 99.0) < whole - 4.0


def test_rumble_below_the_voice_is_not_noise(kathleen: Recording) -> None:
    times = np.arange(len(kathleen.samples)) / ANALYSIS_RATE
    rumble = 0.05 * np.sin(2 * np.pi * 20 * times)
    assert assess_quality(from_samples(kathleen.samples + rumble, ANALYSIS_RATE)).audio_clarity > 75


@pytest.mark.parametrize("gain", [0.05, 4.0])
def test_gain_does_not_change_clarity(kathleen: Recording, gain: float) -> None:
    noisy = with_noise(kathleen, 12)
    changed = from_samples(noisy.samples * np.float32(gain), ANALYSIS_RATE)
    assert assess_quality(changed).audio_clarity == pytest.approx(assess_quality(noisy).audio_clarity, abs=1)


def test_lossy_containers_read_like_their_source(data_folder, clean_kathleen: Quality) -> None:
    source = clean_kathleen
    for name in ("speech_kathleen_20s.m4a", "speech_kathleen_20s.mp3"):
        quality = assess_quality(decode(data_folder / name))
        assert quality.issues == []
        assert quality.voice_percentage == pytest.approx(source.voice_percentage, abs=2)


def test_too_little_speech_is_reported(kathleen: Recording) -> None:
    room = 0.0005 * np.random.default_rng(3).standard_normal(17 * ANALYSIS_RATE)
    short = from_samples(np.concatenate([kathleen.samples[: 3 * ANALYSIS_RATE], room]), ANALYSIS_RATE)
    quality = assess_quality(short)
    assert "insufficient_speech" in quality.issues
    assert quality.voice_percentage < 20


def test_without_speech_there_is_no_clarity() -> None:
    tone = 0.3 * np.sin(2 * np.pi * 440 * np.arange(20 * ANALYSIS_RATE) / ANALYSIS_RATE)
    quality = assess_quality(from_samples(tone, ANALYSIS_RATE))
    assert quality.audio_clarity is None
    assert quality.issues == ["insufficient_speech"]


def test_clipping_is_reported(kathleen: Recording) -> None:
    loud = np.clip(kathleen.samples * 6 / np.abs(kathleen.samples).max(), -1, 1)
    quality = assess_quality(from_samples(loud, ANALYSIS_RATE))
    assert "clipping" in quality.issues
    assert quality.level.clipped_percent > 1


def test_a_soft_recording_is_reported(kathleen: Recording) -> None:
    assert assess_quality(from_samples(kathleen.samples * np.float32(0.03), ANALYSIS_RATE)).issues == ["low_level"]


def test_a_telephone_band_is_reported(kathleen: Recording) -> None:
    telephone = from_samples(kathleen.samples[::2], ANALYSIS_RATE // 2)
    assert "narrow_bandwidth" in assess_quality(telephone).issues


def test_dropouts_are_reported_and_pauses_are_not(kathleen: Recording) -> None:
    activity = detect_speech(kathleen)
    samples = kathleen.samples.copy()
    for start_s, end_s in activity.segments[:8]:
        middle = int((start_s + end_s) / 2 * ANALYSIS_RATE)
        samples[middle : middle + 480] = 0
    assert "dropouts" in assess_quality(from_samples(samples, ANALYSIS_RATE)).issues

    gated = kathleen.samples.copy()
    speech = activity.covers(np.arange(len(gated)) / ANALYSIS_RATE)
    gated[~speech] = 0
    assert "dropouts" not in assess_quality(from_samples(gated, ANALYSIS_RATE)).issues


def test_a_second_speaker_is_reported(dialogue: Recording, kathleen: Recording, male: Recording) -> None:
    assert assess_quality(dialogue).issues == ["multiple_speakers"]
    assert assess_quality(dialogue, diarized=True).issues == []
    question = kathleen.samples[: 8 * ANALYSIS_RATE]
    assert (
        "multiple_speakers"
        in assess_quality(from_samples(np.concatenate([question, male.samples]), ANALYSIS_RATE)).issues
    )


def test_one_speaker_in_noise_or_at_another_level_is_one(kathleen: Recording, male: Recording) -> None:
    for recording in (with_noise(kathleen, 10), with_noise(male, 10)):
        assert "multiple_speakers" not in assess_quality(recording).issues
    half = len(male.samples) // 2
    softer = np.concatenate([male.samples[:half], np.float32(0.2) * male.samples[half:]])
    assert "multiple_speakers" not in assess_quality(from_samples(softer, ANALYSIS_RATE)).issues


def test_leading_silence_and_a_stereo_copy_change_nothing(kathleen: Recording, clean_kathleen: Quality) -> None:
    usual = clean_kathleen
    padded = from_samples(np.concatenate([np.zeros(5 * ANALYSIS_RATE, np.float32), kathleen.samples]), ANALYSIS_RATE)
    later = assess_quality(padded)
    assert later.issues == usual.issues
    assert later.audio_clarity == pytest.approx(usual.audio_clarity, abs=2)
    assert later.speech_seconds == pytest.approx(usual.speech_seconds, rel=0.01)
    assert assess_quality(from_samples(np.column_stack([kathleen.samples] * 2), ANALYSIS_RATE)) == usual


@pytest.mark.parametrize("rate", [8_000, 22_050, 48_000])
def test_the_rate_of_the_file_changes_little(male: Recording, clean_male: Quality, rate: int) -> None:
    usual = clean_male
    changed = assess_quality(from_samples(soxr.resample(male.samples, ANALYSIS_RATE, rate), rate))
    assert changed.issues == (["narrow_bandwidth"] if rate == 8_000 else [])
    assert changed.voice_percentage == pytest.approx(usual.voice_percentage, abs=2)
    assert changed.audio_clarity == pytest.approx(usual.audio_clarity, abs=8)


def test_clean_recordings_of_one_speaker_have_no_issue(shared_audio) -> None:
    """Real speech of nine readers; what is flagged here is a false alarm."""
    paths = [
        *sorted((shared_audio / "longitudinal").glob("librispeech*/*_s1*.flac")),
        *sorted((shared_audio / "timing").glob("librispeech_1*.flac")),
    ]
    alarms = {path.name: issues for path in paths if (issues := assess_quality(decode(path)).issues)}
    assert len(paths) >= 8
    assert alarms == {}


@pytest.mark.parametrize(
    ("name", "issue"),
    [
        ("clipped_20s.flac", "clipping"),
        ("very_quiet_20s.flac", "low_level"),
        ("wav_8k_s16.wav", "narrow_bandwidth"),
        ("wav_8k_alaw.wav", "narrow_bandwidth"),
        ("speech_3s_then_silence_20s.flac", "insufficient_speech"),
        ("tone_440hz_20s.flac", "insufficient_speech"),
    ],
)
def test_the_unusual_files_of_the_collection_are_reported(shared_audio, name: str, issue: str) -> None:
    assert issue in assess_quality(decode(shared_audio / "odd" / "made" / name)).issues


def test_the_noise_ladder_of_the_collection_is_monotone(shared_audio) -> None:
    folder = shared_audio / "noise" / "ladder"
    clean = assess_quality(decode(folder / "LS1320M_clean.flac")).audio_clarity
    for noise in ("cafe", "pink"):
        noisy = [
            assess_quality(decode(folder / f"LS1320M_{noise}_+{snr:02d}dB.flac")).audio_clarity
            for snr in (20, 10, 5, 0)
        ]
        ladder = [clean, *noisy]
        assert all(higher > lower for higher, lower in itertools.pairwise(ladder))


def test_thresholds_are_checked_when_read(tmp_path) -> None:
    text = resource("quality.toml").read_text(encoding="utf-8")
    assert read_quality_rules(resource("quality.toml")).clarity.points_per_db == 2.5
    for wrong in (
        text.replace("pause_weight = 0.9", "pause_weight = 7"),
        text.replace("below_dbfs = -60.0", "below_dbfs = 60.0", 1),
        text.replace("one_voice_cosine = 0.868", "one_voice_cosine = 1.2"),
        text + "\n[issues.sneezing]\nabove = 1\n",
    ):
        assert wrong != text
        path = tmp_path / "quality.toml"
        path.write_text(wrong, encoding="utf-8")
        with pytest.raises(ValidationError):
            read_quality_rules(path)
