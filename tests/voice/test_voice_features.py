"""Features of real recordings: agreement with the reference values, parts, repeats, gain and silence."""

import csv
import tomllib
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from vbdesk.resource_files import resource
from vbdesk.voice.features import FEATURES, analyse_frames, extract_features, summarise_features
from vbdesk.voice.measurement import FeatureSet
from vbdesk.voice.recording import ANALYSIS_RATE, Samples

DATA = Path(__file__).parents[1] / "data"
RECORDINGS = ("speech_kathleen_20s.flac", "speech_male_20s.flac")
NORMS = tomllib.loads(resource("norms", "norms.toml").read_text(encoding="utf-8"))["feature"]


def load(name: str) -> Samples:
    samples, rate = sf.read(DATA / name, dtype="float32")
    assert rate == ANALYSIS_RATE
    return samples


@pytest.fixture(scope="module", params=RECORDINGS)
def recording(request: pytest.FixtureRequest) -> tuple[str, Samples]:
    return request.param, load(request.param)


@pytest.fixture(scope="module")
def speech() -> Samples:
    return load(RECORDINGS[1])


def deviation(feature: str, one: float, other: float) -> float:
    """Difference on the feature's scale in units of the norms' standard deviation."""
    norm = NORMS[feature]
    if norm["scale"] == "log":
        floor = norm.get("floor", 1e-9)
        one, other = np.log(max(one, floor)), np.log(max(other, floor))
    return abs(one - other) / norm["mixed"]["t_sd"]


def largest_deviation(one: FeatureSet, other: FeatureSet, without: tuple[str, ...] = ()) -> tuple[float, str]:
    return max(
        (deviation(name, one[name].value, other[name].value), name)
        for name in FEATURES
        if one[name].value is not None and name not in without
    )


def test_features_are_those_of_the_norms():
    assert set(FEATURES) == set(NORMS)
    assert len(FEATURES) == len(set(FEATURES)) == 36


def test_every_feature_agrees_with_the_reference_extractor(recording):
    name, samples = recording
    measured = extract_features(samples)
    with (DATA / "praat_reference.csv").open(newline="", encoding="utf-8") as file:
        reference = {row["feature"]: float(row["value"]) for row in csv.DictReader(file) if row["file"] == name}
    assert set(reference) == set(FEATURES)
    far = {
        feature: (measured[feature].value, value)
        for feature, value in reference.items()
        if deviation(feature, measured[feature].value, value) > 0.15
    }
    assert far == {}


def test_measuring_twice_gives_the_same_numbers_to_the_bit(speech):
    assert extract_features(speech) == extract_features(speech.copy())


def test_samples_are_not_modified(speech):
    before = speech.copy()
    extract_features(speech)
    assert np.array_equal(before, speech)
    assert speech.dtype == np.float32


def test_gain_changes_only_the_mean_loudness(speech):
    usual, soft = extract_features(speech), extract_features(speech * np.float32(0.25))
    for name in set(FEATURES) - {"loudness_mean"}:
        assert soft[name].value == pytest.approx(usual[name].value, rel=0.01, abs=1e-3), name
    assert soft["loudness_mean"].value == pytest.approx(usual["loudness_mean"].value - 12.04, abs=0.05)


def test_leading_silence_and_a_shift_against_the_frames_change_little(speech):
    usual = extract_features(speech)
    later = extract_features(np.concatenate([np.zeros(2 * ANALYSIS_RATE, np.float32), speech]))
    assert largest_deviation(usual, later) < (0.05, "")
    shifted = extract_features(np.concatenate([np.zeros(2 * ANALYSIS_RATE + 37, np.float32), speech]))
    assert largest_deviation(usual, shifted) < (0.35, "")


def test_noise_removes_only_the_affected_features(speech):
    frames = analyse_frames(speech)
    clear, noisy = summarise_features(frames), summarise_features(frames, reliable_voice_quality=False)
    spoiled = {name for name in FEATURES if noisy[name] != clear[name]}
    assert spoiled == {"harmonics_to_noise", "cepstral_peak_prominence", "aspiration_noise"}
    assert {noisy[name].missing for name in spoiled} == {"noise"}
    assert {noisy[name].value for name in spoiled} == {None}


def test_one_part_that_covers_everything_equals_the_whole(speech):
    frames = analyse_frames(speech)
    assert summarise_features(frames, [(0.0, 1000.0)]) == summarise_features(frames)


def test_parts_have_the_values_of_their_position(speech):
    frames = analyse_frames(speech)
    half = speech.size / ANALYSIS_RATE / 2
    part = summarise_features(frames, [(0.0, half)])
    alone = extract_features(speech[: speech.size // 2])
    for name in ("pitch_mean", "voice_shimmer", "alpha_ratio", "loudness_mean", "formant_1_mean", "harmonics_to_noise"):
        assert deviation(name, part[name].value, alone[name].value) < 0.25, name


def test_resampled_phrases_scatter_around_the_whole(speech):
    frames = analyse_frames(speech)
    whole = summarise_features(frames)
    spans = frames.phrase_spans
    repeated = summarise_features(frames, [*spans, *spans])
    same = ("pitch_mean", "voice_jitter", "speech_rate", "pause_rate", "pause_duration", "alpha_ratio")
    for name in same:
        assert repeated[name].value == pytest.approx(whole[name].value, rel=0.02), name
    random = np.random.default_rng(5)
    draws = [
        summarise_features(frames, [spans[i] for i in random.integers(0, len(spans), len(spans))]) for _ in range(30)
    ]
    rates = [draw["speech_rate"].value for draw in draws]
    assert np.std(rates) > 0
    assert min(rates) < whole["speech_rate"].value < max(rates)


def test_a_part_without_a_pause_reports_too_few_pauses(speech):
    frames = analyse_frames(speech)
    longest = frames.phrases.times[np.argmax(frames.phrases.values)]
    part = summarise_features(frames, [(longest - 0.5, longest + 0.5)])
    assert part["pause_duration"].missing == "too_few_pauses"
    assert part["pitch_reset"].missing == "too_few_pauses"
    assert part["pitch_mean"].value is not None


@pytest.mark.parametrize(
    "samples",
    [
        np.zeros(0, np.float32),
        np.zeros(100, np.float32),
        np.zeros(5 * ANALYSIS_RATE, np.float32),
        np.full(5 * ANALYSIS_RATE, 0.3, np.float32),
        np.random.default_rng(0).normal(0, 0.1, 5 * ANALYSIS_RATE).astype(np.float32),
    ],
    ids=["nothing", "an instant", "silence", "a constant", "white noise"],
)
def test_without_a_voice_every_feature_is_missing(samples):
    features = extract_features(samples)
    assert set(features) == set(FEATURES)
    assert {item.value for item in features.values()} == {None}
    assert {item.missing for item in features.values()} == {"too_little_speech"}


def test_a_very_short_utterance_is_measured_without_failing(speech):
    features = extract_features(speech[: int(1.2 * ANALYSIS_RATE)])
    assert features["pitch_mean"].value == pytest.approx(extract_features(speech)["pitch_mean"].value, rel=0.2)
    assert features["pause_duration_variability"].missing == "too_few_pauses"
