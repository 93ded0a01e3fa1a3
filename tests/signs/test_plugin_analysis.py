"""A plug-in sign is scored by the rules of every sign."""

import json
from pathlib import Path

import pytest

from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.signs.analysis import ScoringTarget, analyze, measure_recording
from vbdesk.signs.norms import UNKNOWN_VOICE
from vbdesk.signs.plugins.analysis import analyze_plugin, analyze_sign, plugin_signal, score_plugin
from vbdesk.signs.plugins.discovery import PluginSign, PluginSource
from vbdesk.signs.plugins.scorers import PluginError, linear_scorer
from vbdesk.signs.plugins.sign_file import SignFile
from vbdesk.signs.scoring import RecordingConditions
from vbdesk.voice.decode import decode, from_samples

CLEAR = RecordingConditions(speech_seconds=40.0, voice_percentage=80.0, audio_clarity=95.0, voice=UNKNOWN_VOICE)


def made_sign(weights=None, scorer=None, **changes):
    file = SignFile.model_validate(
        {
            "format": 1,
            "name": "slow-speech",
            "version": "1.0",
            "evidence_grade": "C",
            "max_level": "moderate",
            "meaning": "how slow the speech is",
            "known": "nothing yet",
            "timescale": "fast",
            "confounders": ["reading aloud"],
            "model": {"kind": "linear", "weights": weights or {"speech_rate": -0.6, "pause_ratio": 0.4}},
            "reference": {"mean": 0.1, "sd": 0.5},
            "cut_points": {"low": 1.0, "consider": 1.5, "moderate": 2.0, "elevated": 2.5},
            "expected_rate": {"low": 0.1, "consider": 0.05, "moderate": 0.015, "elevated": 0.005},
            **changes,
        }
    )
    return PluginSign(Path("own.toml"), file, scorer or linear_scorer(file.model))


@pytest.fixture
def read(reference):
    def read_at(passage, sign, conditions=CLEAR):
        return plugin_signal(passage, conditions, sign, reference.calibration.scoring)

    return read_at


def at(index):
    raw = 0.1 + 0.5 * index
    return {"speech_rate": -raw, "pause_ratio": raw}


@pytest.mark.parametrize(
    ("index", "level", "score"),
    [
        (0.0, Level.NONE, 0.2),
        (1.0, Level.LOW, None),
        (1.5, Level.CONSIDER, 0.5),
        (2.0, Level.MODERATE, None),
        (3.0, Level.MODERATE, None),  # held by max_level
    ],
)
def test_the_level_follows_the_cut_points_of_the_file(read, make_passage, index, level, score):
    signal = read(make_passage(at(index)), made_sign())
    assert (signal.level, signal.flagged) == (level, LEVEL_ORDER.index(level) >= 2)
    assert score is None or signal.score == pytest.approx(score, abs=1e-3)
    assert (signal.name, signal.label, signal.sign_version) == ("slow-speech", "Slow Speech", "1.0")


def test_the_interval_comes_from_resampled_speech(read, make_passage):
    steady = read(make_passage(at(1.0), replicates=[at(1.0), at(1.0)]), made_sign())
    assert steady.score_interval == (steady.score, steady.score)
    short = read(
        make_passage(at(1.0), replicates=[]), made_sign()
    )  # nothing to resample: as sure as a second recording
    assert short.score_interval[1] - short.score_interval[0] > 0.3
    moving = read(make_passage(at(1.0), replicates=[at(0.6), at(1.0), at(1.4)]), made_sign())
    assert moving.score_interval[0] < moving.score < moving.score_interval[1]


def test_speech_that_cannot_be_resampled_is_as_sure_as_a_second_recording_of_the_person(read, make_passage):
    """Two recordings that agree by 0.75 differ by half an SD from the person's own value."""
    sign = made_sign(reference={"mean": 0.1, "sd": 0.5, "icc": 0.75})
    half_width = 1.645 * 0.5
    ends = [read(make_passage(at(index)), sign).score for index in (1.0 - half_width, 1.0 + half_width)]
    for replicates in ([], [at(0.0)]):
        alone = read(make_passage(at(1.0), replicates=replicates), sign)
        assert alone.score_interval == pytest.approx(ends, abs=2e-3)


@pytest.mark.parametrize(
    "conditions",
    [
        RecordingConditions(9.0, 80.0, 95.0, 0.0),
        RecordingConditions(40.0, 29.0, 95.0, 0.0),
    ],
)
def test_too_little_speech_is_inconclusive(read, make_passage, conditions):
    signal = read(make_passage(at(3.0)), made_sign(), conditions)
    assert signal.level is Level.INCONCLUSIVE
    assert signal.score_interval is not None


def test_noise_affects_only_a_noise_sensitive_sign(read, make_passage):
    noisy = RecordingConditions(40.0, 80.0, 40.0, 0.0)
    assert read(make_passage(at(3.0)), made_sign(), noisy).level is Level.MODERATE
    sensitive = made_sign({"voice_jitter": 0.5, "speech_rate": -0.5})
    assert read(make_passage({"voice_jitter": 3.0}), sensitive, noisy).level is Level.INCONCLUSIVE
    assert read(make_passage({"voice_jitter": 3.0}), sensitive).level is Level.MODERATE


def test_a_sign_without_measured_features_is_inconclusive(read, make_passage):
    half = read(make_passage(at(3.0), without=["speech_rate"]), made_sign())
    assert half.level is Level.INCONCLUSIVE
    nothing = read(make_passage(without=["speech_rate", "pause_ratio"]), made_sign())
    assert (nothing.level, nothing.score, nothing.score_interval) == (Level.INCONCLUSIVE, 0.2, None)


def test_a_failing_model_names_its_sign(read, make_passage):
    sign = made_sign(scorer=lambda z: z["no such feature"])
    with pytest.raises(PluginError, match="The sign slow-speech cannot be read: its model fails: KeyError"):
        read(make_passage(), sign)


def test_a_real_recording_gives_a_result_like_a_shipped_sign(request):
    recording = decode(request.path.parents[1] / "data" / "speech_male_20s.flac")
    result = analyze_plugin(recording, made_sign())
    assert 0 < result.signal.score_interval[0] < result.signal.score < result.signal.score_interval[1] < 1
    assert result.signal.level is not Level.INCONCLUSIVE
    assert set(json.loads(result.model_dump_json())) == {"signal", "audio_quality"}
    assert analyze_plugin(recording, made_sign()) == result


def test_a_shipped_sign_is_found_beside_those_of_a_folder_and_scored_as_ever(request, tmp_path):
    recording = decode(request.path.parents[1] / "data" / "speech_male_20s.flac")
    assert analyze_sign(recording, "stress", PluginSource(tmp_path)) == analyze(recording, ScoringTarget.sign("stress"))


def test_every_speaker_is_scored_after_diarization(request):
    measurements = measure_recording(
        decode(request.path.parents[1] / "data" / "dialogue_two_speakers_40s.flac"), diarize=True
    )
    result = score_plugin(measurements, made_sign())
    assert [speaker.speaker for speaker in result.speakers] == ["speaker_1", "speaker_2"]
    assert result.speakers[0].signal == result.signal
    assert result.speakers[1].signal != result.signal


def test_silence_is_inconclusive():
    import numpy as np

    silence = from_samples(np.zeros(20 * 16_000, np.float32), 16_000)
    assert analyze_plugin(silence, made_sign()).signal.level is Level.INCONCLUSIVE
