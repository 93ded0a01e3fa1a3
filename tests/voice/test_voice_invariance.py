"""Changes that must not affect features, and changes that must move them in a known direction."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf
import soxr
from synthetic_voice import make_vowel

from vbdesk.voice.decode import decode, from_samples
from vbdesk.voice.f0 import track_f0
from vbdesk.voice.features import FEATURES, extract_features
from vbdesk.voice.measurement import FeatureSet
from vbdesk.voice.recording import ANALYSIS_RATE, Recording, Samples

STEADY = (  # features that no single frame decides, as it does a syllable or a pause
    *("pitch_mean", "pitch_variability", "voice_jitter", "voice_shimmer", "harmonics_to_noise", "alpha_ratio"),
    *("formant_1_mean", "formant_2_mean", "formant_3_mean", "loudness_range", "voiced_fraction"),
)


@pytest.fixture(scope="module")
def usual(kathleen: Recording) -> FeatureSet:
    return extract_features(kathleen.samples)


def assert_same(features: FeatureSet, usual: FeatureSet, tolerance: float, names: tuple[str, ...] = FEATURES) -> None:
    far = {
        name: (features[name].value, usual[name].value)
        for name in names
        if features[name].value != pytest.approx(usual[name].value, rel=tolerance, abs=tolerance)
    }
    assert far == {}


def test_inverting_the_samples_changes_nothing(kathleen: Recording, usual: FeatureSet) -> None:
    assert_same(extract_features(-kathleen.samples), usual, 1e-3)


def test_a_constant_offset_changes_nothing(kathleen: Recording, usual: FeatureSet) -> None:
    assert_same(extract_features(kathleen.samples + np.float32(0.05)), usual, 5e-3)


def test_a_stereo_copy_is_the_mono_recording(kathleen: Recording, usual: FeatureSet) -> None:
    both = np.stack([kathleen.samples, kathleen.samples], axis=1)
    assert extract_features(from_samples(both, ANALYSIS_RATE).samples) == usual


@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24", "FLOAT"])
def test_the_bit_depth_hardly_matters(kathleen: Recording, usual: FeatureSet, tmp_path: Path, subtype: str) -> None:
    path = tmp_path / "copy.wav"
    sf.write(path, kathleen.samples, ANALYSIS_RATE, subtype=subtype)
    assert_same(extract_features(decode(path).samples), usual, 1e-2)


def test_a_higher_sampling_rate_hardly_matters(kathleen: Recording, usual: FeatureSet) -> None:
    fine = soxr.resample(kathleen.samples, ANALYSIS_RATE, 48_000, quality="VHQ")
    assert_same(extract_features(from_samples(fine, 48_000).samples), usual, 1e-2, STEADY)


@pytest.mark.parametrize("coded", ["speech_kathleen_20s.mp3", "speech_kathleen_20s.m4a"])
def test_a_64_kbit_codec_preserves_the_steady_features(usual: FeatureSet, data_folder: Path, coded: str) -> None:
    assert_same(extract_features(decode(data_folder / coded).samples), usual, 3e-2, STEADY)


def test_f0_follows_the_speed_of_playing(male: Recording) -> None:
    slower = soxr.resample(male.samples, 10, 11).astype(np.float32)
    ratio = median_f0(male.samples) / median_f0(slower)
    assert ratio == pytest.approx(1.1, rel=0.01)


def median_f0(samples: Samples) -> float:
    frequency = track_f0(samples).frequency
    return float(np.median(frequency[frequency > 0]))


def test_more_jitter_shimmer_and_noise_give_higher_values() -> None:
    def read(feature: str, **voice: float) -> float:
        return extract_features(make_vowel(150, "a", seed=1, **voice).samples)[feature].value

    jitter = [read("voice_jitter", jitter=amount) for amount in (0.0, 0.005, 0.01, 0.015)]
    shimmer = [read("voice_shimmer", shimmer=amount) for amount in (0.0, 0.03, 0.06, 0.1)]
    harmonicity = [read("harmonics_to_noise", hnr_db=ratio) for ratio in (30, 20, 10, 5)]
    breath = [-read("aspiration_noise", hnr_db=ratio) for ratio in (30, 20, 15)]
    for rising in (jitter, shimmer):
        assert all(later > earlier for earlier, later in pairwise(rising))
    for falling in (harmonicity, breath):
        assert all(later < earlier for earlier, later in pairwise(falling))
