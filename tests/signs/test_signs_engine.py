"""The whole analysis, from a real recording to a result."""

import json
import re
from itertools import pairwise

import numpy as np
import pytest

from vbdesk.contract.catalog import MODEL_SIGNS, STANDALONE_SIGNS, ModelName
from vbdesk.contract.levels import Level
from vbdesk.contract.results import ModelResult, SignResult
from vbdesk.signs.analysis import ScoringTarget, analyze, measure_recording, score_recording
from vbdesk.signs.target import UnknownTarget
from vbdesk.voice.decode import decode, from_samples

PULSE = ScoringTarget("model", "pulse")


@pytest.fixture(scope="module")
def recording(request):
    return decode(request.path.parents[1] / "data" / "speech_male_20s.flac")


@pytest.fixture(scope="module")
def measurements(recording):
    return measure_recording(recording)


@pytest.fixture(scope="module")
def measured_dialogue(request):
    return measure_recording(decode(request.path.parents[1] / "data" / "dialogue_two_speakers_40s.flac"), diarize=True)


@pytest.mark.parametrize("model", list(ModelName))
def test_every_model_scores_a_real_recording(measurements, reference, model):
    result = score_recording(measurements, ScoringTarget("model", model.value))
    assert isinstance(result, ModelResult)
    assert [signal.name for signal in result.signals] == list(MODEL_SIGNS[model])
    for signal in result.signals:
        sign = reference.calibration.signs[signal.name]
        assert signal.flagged == signal.level.flagged
        assert signal.evidence_grade == sign.evidence_grade
        assert signal.sign_version == reference.calibration.meta.version
        if signal.score_interval is not None:
            assert signal.score_interval[0] <= signal.score <= signal.score_interval[1]
            assert signal.score_interval[0] < signal.score_interval[1]
    assert result.summary.primary_signals
    assert 1 <= len(result.summary.description.vocal_features) <= 6
    assert [metric.metric_id for metric in result.extended_metrics] == reference.metrics.carry[model]
    assert all(metric.score_std > 0 for metric in result.extended_metrics)
    assert result.speakers is None
    assert ModelResult.model_validate_json(result.model_dump_json()) == result


@pytest.mark.parametrize("name", STANDALONE_SIGNS)
def test_every_sign_scores_a_real_recording(measurements, name):
    result = score_recording(measurements, ScoringTarget("sign", name.value))
    assert isinstance(result, SignResult)
    assert result.signal.name == name
    assert 0 <= result.signal.score <= 1
    assert set(json.loads(result.model_dump_json())) == {"signal", "audio_quality"}


def test_a_healthy_reader_is_mostly_unflagged(measurements):
    levels = [
        signal.level
        for model in ModelName
        for signal in score_recording(measurements, ScoringTarget("model", model.value)).signals
    ]
    assert sum(level in (Level.NONE, Level.LOW) for level in levels) >= 0.7 * len(levels)


def test_the_same_recording_gives_the_same_bits(recording, measurements):
    again = analyze(recording, PULSE).model_dump_json()
    assert again == score_recording(measurements, PULSE).model_dump_json()


def test_the_voice_class_is_not_in_the_result(measurements):
    for model in ModelName:
        text = score_recording(measurements, ScoringTarget("model", model.value)).model_dump_json()
        assert not re.search(r"\b(male|female|man|woman|gender|female_share|voice_class)\b", text, re.IGNORECASE)


def test_elevated_androgens_have_no_level_in_another_voice(measurements):
    signal = score_recording(measurements, ScoringTarget("sign", "elevated-androgens")).signal
    low, high = signal.score_interval
    assert signal.level is Level.INCONCLUSIVE
    assert low < signal.score < high


def test_speech_too_short_for_a_reading_is_inconclusive(recording):
    result = analyze(from_samples(recording.samples[: 8 * 16_000], 16_000), PULSE)
    assert {signal.level for signal in result.signals} == {Level.INCONCLUSIVE}
    assert result.summary.recommended_action == "inconclusive"
    assert "insufficient_speech" in result.audio_quality.issues


@pytest.mark.parametrize("sound", ["a tone", "clicks"])
def test_sound_without_a_voice_is_inconclusive_with_the_healthy_mean(sound):
    second = np.arange(20 * 16_000) / 16_000
    samples = 0.3 * np.sin(2 * np.pi * 220 * second) if sound == "a tone" else 0.01 * (second * 16 % 1 == 0)
    result = analyze(from_samples(samples.astype(np.float32), 16_000), PULSE)
    assert {(s.score, s.level, s.score_interval) for s in result.signals} == {(0.2, Level.INCONCLUSIVE, None)}
    assert result.summary.description.vocal_features == []
    assert result.extended_metrics == []


def test_two_speakers_are_scored_separately(measured_dialogue):
    result = score_recording(measured_dialogue, PULSE)
    first, second = result.speakers
    assert (first.speaker, second.speaker) == ("speaker_1", "speaker_2")
    assert first.speech_seconds >= second.speech_seconds
    assert (first.summary, first.signals) == (result.summary, result.signals)
    assert [signal.name for signal in second.signals] == [signal.name for signal in result.signals]
    assert second.signals != first.signals
    assert first.signal is None
    segments = sorted([*first.segments, *second.segments])
    assert all(left[1] <= right[0] for left, right in pairwise(segments))


def test_a_sign_is_scored_for_each_speaker(measured_dialogue):
    result = score_recording(measured_dialogue, ScoringTarget("sign", "stress"))
    assert [speaker.signal.name for speaker in result.speakers] == ["stress", "stress"]
    assert result.speakers[0].signal == result.signal
    assert result.speakers[0].summary is None


def test_one_speaker_is_one_entry(recording, measurements):
    result = analyze(recording, PULSE, diarize=True)
    assert len(result.speakers) == 1
    assert result.signals == score_recording(measurements, PULSE).signals


@pytest.mark.parametrize(
    ("kind", "name"), [("model", "stress"), ("sign", "pulse"), ("sign", "dry-mouth"), ("model", ""), ("sign", "Stress")]
)
def test_an_unknown_target_is_rejected(kind, name):
    with pytest.raises(UnknownTarget, match=f"There is no {kind} '{name}'"):
        ScoringTarget(kind, name)
