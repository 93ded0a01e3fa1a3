"""Results of real analyses: their shape and all derived fields."""

from typing import Any

import httpx
import numpy as np
import pytest
import soundfile
from derivations import assert_audio_quality, assert_metric, assert_signal, assert_summary
from examination import DATA, DIALOGUE, JOB_FIELDS, MODELS, SPEECH, done, instant, new_group, submit
from sounds import encoded, noise


def in_noise(snr_db: float) -> bytes:
    """Mix speech with white noise at this signal-to-noise ratio in dB."""
    speech, rate = soundfile.read(DATA / "speech_kathleen_20s.flac", dtype="float32")
    level_dbfs = 20 * np.log10(np.sqrt(np.mean(speech**2))) - snr_db
    mixed = speech + noise(len(speech) / rate, rate, level_dbfs)[: len(speech)]
    return encoded(mixed / max(1.0, np.abs(mixed).max()), rate, "FLAC")


@pytest.fixture(scope="module")
def jobs(api: httpx.Client) -> dict[str, Any]:
    """Jobs by target, submitted together."""
    group = new_group()
    submitted = {name: submit(api, f"/v2/models/{name}/analyze") for name in MODELS}
    submitted |= {
        "sign": submit(api, "/v2/signs/mood-disruption/analyze"),
        "dialogue": submit(api, "/v2/models/breath/analyze", DIALOGUE, diarize="true"),
        "monologue": submit(api, "/v2/signs/stress/analyze", diarize="true"),
        "no voice": submit(api, "/v2/models/pulse/analyze", encoded(noise(15.5, level_dbfs=-30))),
        "noisy": submit(api, "/v2/models/pulse/analyze", in_noise(0)),
        "group": submit(api, f"/v2/models/breath/groups/{group}/analyze"),
        "group sign": submit(api, f"/v2/signs/fatigue/groups/{group}/analyze"),
    }
    return {asked: done(api, job["job_id"]) for asked, job in submitted.items()}


@pytest.mark.parametrize("model", MODELS)
def test_model_result_holds_the_bundles_signals_and_what_follows_from_them(jobs: dict, model: str) -> None:
    job = jobs[model]
    assert set(job) == JOB_FIELDS
    assert (job["job_type"], job["model_name"], job["sign_name"]) == ("model", model, None)
    assert instant(job["created_at"]) <= instant(job["completed_at"])
    result = job["result"]
    assert set(result) == {"summary", "signals", "audio_quality", "extended_metrics"}
    assert [signal["name"] for signal in result["signals"]] == MODELS[model]
    for signal in result["signals"]:
        assert_signal(signal, signal["name"])
    assert_summary(result["summary"], result["signals"])
    assert_audio_quality(result["audio_quality"])
    for metric in result["extended_metrics"]:
        assert_metric(metric)


def test_tide_has_no_extended_metrics(jobs: dict) -> None:
    assert jobs["tide"]["result"]["extended_metrics"] == []


def test_extended_metrics_are_named_once(jobs: dict) -> None:
    for model in MODELS:
        names = [metric["metric_id"] for metric in jobs[model]["result"]["extended_metrics"]]
        assert len(set(names)) == len(names)
    assert {"anxious-mood", "vad-valence"} <= {m["metric_id"] for m in jobs["haven"]["result"]["extended_metrics"]}


def test_sign_result_holds_one_signal_and_the_audio_quality(jobs: dict) -> None:
    job = jobs["sign"]
    assert set(job) == JOB_FIELDS
    assert (job["job_type"], job["sign_name"], job["model_name"]) == ("sign", "mood-disruption", None)
    assert set(job["result"]) == {"signal", "audio_quality"}
    assert_signal(job["result"]["signal"], "mood-disruption")
    assert_audio_quality(job["result"]["audio_quality"])


def test_sign_reads_the_same_alone_and_in_its_models(jobs: dict) -> None:
    alone = jobs["sign"]["result"]["signal"]
    for model in ("pulse", "haven", "aria"):
        assert alone in jobs[model]["result"]["signals"]


def test_raw_group_results_have_the_shape_of_plain_ones(jobs: dict) -> None:
    assert jobs["group"]["result"] == jobs["breath"]["result"]
    assert set(jobs["group sign"]["result"]) == {"signal", "audio_quality"}
    assert_signal(jobs["group sign"]["result"]["signal"], "fatigue")


def test_clean_speech_has_no_quality_issue(jobs: dict) -> None:
    quality = jobs["pulse"]["result"]["audio_quality"]
    assert quality["issues"] == []
    assert quality["voice_percentage"] > 50 and quality["audio_clarity"] > 50


def test_noisy_speech_is_told_by_issue_and_clarity(jobs: dict) -> None:
    result = jobs["noisy"]["result"]
    assert "high_background_noise" in result["audio_quality"]["issues"]
    assert result["audio_quality"]["audio_clarity"] < 50
    assert_summary(result["summary"], result["signals"])


def test_recording_without_a_voice_is_done_and_inconclusive(jobs: dict) -> None:
    result = jobs["no voice"]["result"]
    assert "insufficient_speech" in result["audio_quality"]["issues"]
    assert result["audio_quality"]["voice_percentage"] < 30
    assert {signal["level"] for signal in result["signals"]} == {"inconclusive"}
    assert {signal["score"] for signal in result["signals"]} == {0.2}
    assert result["summary"]["overall_level"] == result["summary"]["recommended_action"] == "inconclusive"
    assert_summary(result["summary"], result["signals"])


def test_diarized_model_result_adds_the_speakers_by_speech_time(jobs: dict) -> None:
    result = jobs["dialogue"]["result"]
    assert set(result) == {"summary", "signals", "audio_quality", "extended_metrics", "speakers"}
    assert [speaker["speaker"] for speaker in result["speakers"]] == ["speaker_1", "speaker_2"]
    for speaker in result["speakers"]:
        assert set(speaker) == {"speaker", "speech_seconds", "segments", "summary", "signals"}
        assert [signal["name"] for signal in speaker["signals"]] == MODELS["breath"]
        assert_summary(speaker["summary"], speaker["signals"])
        flat = [edge for segment in speaker["segments"] for edge in segment]
        assert flat == sorted(flat) and flat[0] >= 0 and flat[-1] <= jobs["dialogue"]["audio_duration_seconds"]
        assert 0 < speaker["speech_seconds"] <= sum(end - start for start, end in speaker["segments"])
    first, second = result["speakers"]
    assert first["speech_seconds"] >= second["speech_seconds"] > 0
    assert (result["summary"], result["signals"]) == (first["summary"], first["signals"])


def test_diarized_sign_result_of_one_speaker_adds_one_entry_with_its_signal(jobs: dict) -> None:
    result = jobs["monologue"]["result"]
    assert set(result) == {"signal", "audio_quality", "speakers"}
    (speaker,) = result["speakers"]
    assert set(speaker) == {"speaker", "speech_seconds", "segments", "signal"}
    assert speaker["speaker"] == "speaker_1"
    assert_signal(speaker["signal"], "stress")
    assert result["signal"] == speaker["signal"]


def test_audio_fields_stay_as_they_were_accepted(jobs: dict) -> None:
    job = jobs["clarity"]
    assert (job["audio_content_type"], job["audio_size_bytes"]) == ("audio/flac", len(SPEECH))
    assert (job["audio_duration_seconds"], job["audio_sample_rate"]) == (20.5, 16_000)
