"""The check of a take, right after it was made: the service's own measures, in words for the person beside the patient.

Limits and sentences are data: `resources/check.toml`; limits that the service has are the service's.
"""

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from vbdesk.capture.meter import overview
from vbdesk.capture.sealed import TakeAudio
from vbdesk.contract.limits import MAX_DURATION_S, MIN_DURATION_S
from vbdesk.resource_files import resource
from vbdesk.voice.decode import from_samples
from vbdesk.voice.quality import Quality, assess
from vbdesk.voice.thresholds import quality_rules

OVERVIEW_POINTS = 2000
FULL_SCALE = np.float32(32768.0)

Verdict = Literal["pass", "watch", "fail"]
Overall = Literal["good", "watch", "bad"]
RowName = Literal["length", "speech", "clarity", "clipping", "loudness"]


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One line of the check.

    Attributes:
        value: in `unit`; None when it could not be measured.
        low, high: where passing begins and ends, in `unit`; None where there is no such limit.
        limit_text: the limit in words.
        sentence: what it means, and what to do if it is not good.
    """

    name: RowName
    verdict: Verdict
    value: float | None
    unit: str
    low: float | None
    high: float | None
    limit_text: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Check:
    """The check of one take.

    Attributes:
        overall: `bad` when the service will likely call it inconclusive or refuse it.
        sentence: the verdict in one sentence.
        issues: codes as the service would report them.
        waveform: lowest and highest sample, shape (n, 2), for drawing.
        quality: the figures, as JSON values, to be kept with the recording.
    """

    rows: tuple[CheckRow, ...]
    overall: Overall
    sentence: str
    issues: tuple[str, ...]
    waveform: NDArray[np.int16]
    quality: dict[str, float | list[str] | None]


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RowTexts(_Data):
    """What is said of one measure, and how far above its limit "watch" reaches."""

    watch_span: float
    passed: str
    watch: str
    fail: str
    limit: str


class LoudnessTexts(RowTexts):
    """Loudness has an upper limit too."""

    high_dbfs: float
    watch_high: str


class OverallTexts(_Data):
    """The verdict."""

    good: str
    watch: str
    bad: str


class CheckTexts(_Data):
    """The whole of resources/check.toml."""

    length: RowTexts
    length_too_long: str
    speech: RowTexts
    clarity: RowTexts
    clarity_unmeasured: str
    clipping: RowTexts
    loudness: LoudnessTexts
    overall: OverallTexts


def read_check_texts(path: Path) -> CheckTexts:
    """Read and check `path`.

    Raises:
        pydantic.ValidationError: a text is missing or unknown.
    """
    return CheckTexts.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))


@cache
def check_texts() -> CheckTexts:
    """The texts that ship with the product, read once per process."""
    return read_check_texts(resource("check.toml"))


def check_take(audio: TakeAudio) -> Check:
    """Check a take: 0.7 s of work for 20 s of sound, 7 s for 20 minutes, so not on the thread of a window.

    Raises:
        ValueError: there is no sound at all.
    """
    if len(audio.samples) == 0:
        raise ValueError("Nothing was recorded. Check the microphone and record again.")
    texts = check_texts()
    quality = assess(from_samples(audio.samples.astype(np.float32) / FULL_SCALE, audio.sample_rate))
    rows = (
        _length(audio.duration_s, texts),
        _speech(quality, texts.speech),
        _clarity(quality, texts),
        _clipping(quality, texts.clipping),
        _loudness(quality, texts.loudness),
    )
    overall, sentence = _verdict(rows, texts.overall)
    return Check(
        rows=rows,
        overall=overall,
        sentence=sentence,
        issues=tuple(quality.issues),
        waveform=overview(audio.samples, OVERVIEW_POINTS),
        quality=_figures(quality),
    )


def _length(duration_s: float, texts: CheckTexts) -> CheckRow:
    words = texts.length
    if duration_s > MAX_DURATION_S:
        verdict: Verdict = "fail"
        sentence = texts.length_too_long
    else:
        verdict = _at_least(duration_s, MIN_DURATION_S, words.watch_span)
        sentence = _sentence(words, verdict, value=duration_s, limit=MIN_DURATION_S)
    limit_text = words.limit.format(limit=MIN_DURATION_S)
    return CheckRow("length", verdict, duration_s, "s", MIN_DURATION_S, MAX_DURATION_S, limit_text, sentence)


def _speech(quality: Quality, words: RowTexts) -> CheckRow:
    limit = quality_rules().issues.insufficient_speech.voice_percentage_below
    value = quality.voice_percentage
    verdict = "fail" if "insufficient_speech" in quality.issues else _at_least(value, limit, words.watch_span)
    sentence = _sentence(words, verdict, value=value, limit=limit, speech_s=quality.speech_seconds)
    return CheckRow("speech", verdict, value, "%", limit, None, words.limit.format(limit=limit), sentence)


def _clarity(quality: Quality, texts: CheckTexts) -> CheckRow:
    words, limit = texts.clarity, quality_rules().issues.high_background_noise.clarity_below
    value = quality.audio_clarity
    limit_text = words.limit.format(limit=limit)
    if value is None:
        return CheckRow("clarity", "watch", None, "", limit, None, limit_text, texts.clarity_unmeasured)
    verdict = _at_least(value, limit, words.watch_span)
    sentence = _sentence(words, verdict, value=value, limit=limit)
    return CheckRow("clarity", verdict, value, "", limit, None, limit_text, sentence)


def _clipping(quality: Quality, words: RowTexts) -> CheckRow:
    limit = quality_rules().issues.clipping.clipped_percent_above
    value = quality.level.clipped_percent
    verdict: Verdict = "pass" if value <= limit else "watch" if value <= limit + words.watch_span else "fail"
    sentence = _sentence(words, verdict, value=value, limit=limit)
    return CheckRow("clipping", verdict, value, "%", None, limit, words.limit.format(limit=limit), sentence)


def _loudness(quality: Quality, words: LoudnessTexts) -> CheckRow:
    limit = quality_rules().issues.low_level.speech_dbfs_below
    value = quality.level.rms_dbfs
    verdict = _at_least(value, limit, words.watch_span)
    sentence = _sentence(words, verdict, value=value, limit=limit)
    if value > words.high_dbfs:
        verdict, sentence = "watch", words.watch_high
    limit_text = words.limit.format(limit=limit, high=words.high_dbfs)
    return CheckRow("loudness", verdict, _finite(value), "dB", limit, words.high_dbfs, limit_text, sentence)


def _at_least(value: float, limit: float, watch_span: float) -> Verdict:
    if value < limit:
        return "fail"
    return "watch" if value < limit + watch_span else "pass"


def _sentence(words: RowTexts, verdict: Verdict, **values: float) -> str:
    text = {"pass": words.passed, "watch": words.watch, "fail": words.fail}[verdict]
    return text.format(**values)


def _verdict(rows: tuple[CheckRow, ...], texts: OverallTexts) -> tuple[Overall, str]:
    """The worst row speaks for the take; the first one of several."""
    failing = next((row for row in rows if row.verdict == "fail"), None)
    if failing is not None:
        return "bad", f"{texts.bad} {failing.sentence}"
    doubtful = next((row for row in rows if row.verdict == "watch"), None)
    if doubtful is not None:
        return "watch", f"{texts.watch} {doubtful.sentence}"
    return "good", texts.good


def _figures(quality: Quality) -> dict[str, float | list[str] | None]:
    return {
        "issues": list(quality.issues),
        "voice_percentage": quality.voice_percentage,
        "audio_clarity": quality.audio_clarity,
        "speech_seconds": quality.speech_seconds,
        "rms_dbfs": _finite(quality.level.rms_dbfs),
        "peak_dbfs": _finite(quality.level.peak_dbfs),
        "clipped_percent": quality.level.clipped_percent,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
