"""Check a take right after recording: the service's own measures, in words for the person who records.

Limits and sentences are data in `resources/check.toml`; the service's limits come from the contract.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.capture.enhancement import Enhancement, detect_enhancement, frame_levels
from vbdesk.capture.meter import SILENT_PEAK, overview
from vbdesk.capture.room_check import silence_advice
from vbdesk.contract.limits import MAX_DURATION_S, MIN_DURATION_S
from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource
from vbdesk.voice.activity import SpeechActivity, detect_speech
from vbdesk.voice.decode import from_samples
from vbdesk.voice.quality import Quality, assess_quality
from vbdesk.voice.quality_rules import quality_rules

OVERVIEW_POINTS = 2000
TRIM_MARGIN_S = 0.5
MIN_SPARED_S = 1.0
FULL_SCALE = np.float32(32768.0)
RESAMPLED, SPEECH_FOUND = 0.1, 0.5  # shares of the work done, roughly

Overall = Literal["good", "watch", "bad"]
RowName = Literal["Length", "Speech", "Clarity", "Clipping", "Loudness"]


class CheckRating(StrEnum):
    """How a measure compares with its limit."""

    PASS = "pass"  # noqa: S105 - not a password
    WATCH = "watch"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One measure of the check.

    Attributes:
        value: in `unit`; None if it could not be measured.
        low, high: the passing range, in `unit`; None for no limit.
        limit_text: the limit in words.
        sentence: what it means, and what to do if it is not good.
    """

    name: RowName
    verdict: CheckRating
    value: float | None
    unit: str
    low: float | None
    high: float | None
    limit_text: str
    sentence: str


@dataclass(frozen=True, slots=True)
class TakeCheck:
    """The check of one take.

    Attributes:
        overall: `bad` if the service will likely call it inconclusive or refuse it.
        sentence: the overall rating in one sentence.
        issues: codes as the service would report them.
        speech_s: seconds of speech.
        suggested_trim_s: start and end without the silence at both ends; None if that saves less than a second.
        waveform: lowest and highest sample, shape (n, 2), for drawing.
        quality: the figures, as JSON values, to be stored with the recording.
        hints: sentences on sound that was lost or changed before it came here, and what to do.
    """

    rows: tuple[CheckRow, ...]
    overall: Overall
    sentence: str
    issues: tuple[str, ...]
    speech_s: float
    suggested_trim_s: tuple[float, float] | None
    waveform: NDArray[np.int16]
    quality: dict[str, float | list[str] | str | None]
    hints: tuple[str, ...] = ()


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RowTexts(_Data):
    """Texts of one measure, and how far above its limit "watch" reaches."""

    watch_span: float
    passed: str
    watch: str
    fail: str
    limit: str


class LoudnessTexts(RowTexts):
    """Loudness also has an upper limit."""

    high_dbfs: float
    watch_high: str


class OverallTexts(_Data):
    """Texts of the overall rating."""

    good: str
    watch: str
    bad: str


class HintTexts(_Data):
    """Texts about lost sound."""

    missing: str
    overflows: str


class CheckTexts(_Data):
    """The content of resources/check.toml."""

    length: RowTexts
    length_too_long: str
    speech: RowTexts
    clarity: RowTexts
    clarity_unmeasured: str
    clipping: RowTexts
    loudness: LoudnessTexts
    overall: OverallTexts
    hints: HintTexts


def read_check_texts(path: Path) -> CheckTexts:
    """Read and validate `path`.

    Raises:
        pydantic.ValidationError: a text is missing or unknown.
    """
    return CheckTexts.model_validate(read_toml(path))


@cache
def check_texts() -> CheckTexts:
    """The shipped texts, read once per process."""
    return read_check_texts(resource("check.toml"))


def check_take(audio: TakeAudio, progress: Callable[[float], None] = lambda share: None) -> TakeCheck:
    """Check a take: takes seconds for 20 minutes of sound, so not on the GUI thread.

    Args:
        audio: the take.
    progress: called with the share of the work done, 0 to 1.

    Raises:
        ValueError: there is no sound at all.
    """
    if len(audio.samples) == 0:
        raise ValueError("Nothing was recorded. Check the microphone and record again.")
    texts = check_texts()
    recording = from_samples(audio.samples.astype(np.float32) / FULL_SCALE, audio.sample_rate)
    progress(RESAMPLED)
    activity = detect_speech(recording)
    progress(SPEECH_FOUND)
    quality = assess_quality(recording, activity)
    rows = (
        _length(audio.duration_s, texts),
        _speech(quality, texts.speech),
        _clarity(quality, texts),
        _clipping(quality, texts.clipping),
        _loudness(quality, texts.loudness),
    )
    overall, sentence = _overall_rating(rows, texts.overall)
    if max(audio.samples.max(), -int(audio.samples.min())) <= SILENT_PEAK:
        overall, sentence = "bad", f"{texts.overall.bad} {silence_advice()}"
    enhancement = detect_enhancement(frame_levels(audio.samples, audio.sample_rate))
    figures = _figures(quality)
    if enhancement.enhancement is not Enhancement.NONE:
        figures["enhancement"] = str(enhancement.enhancement)
    check = TakeCheck(
        rows=rows,
        overall=overall,
        sentence=sentence,
        issues=tuple(quality.issues),
        speech_s=quality.speech_seconds,
        suggested_trim_s=_trim(activity, audio.duration_s),
        waveform=overview(audio.samples, OVERVIEW_POINTS),
        quality=figures,
        hints=(*_lost(audio, texts.hints), *([enhancement.sentence] if enhancement.sentence else [])),
    )
    progress(1.0)
    return check


def _lost(audio: TakeAudio, texts: HintTexts) -> list[str]:
    """Sentences on lost sound, from the manifest."""
    missing_s, overflows = float(audio.closing.get("missing_s", 0.0)), int(audio.closing.get("overflows", 0))
    if missing_s > 0:
        return [texts.missing.format(missing_s=missing_s)]
    return [texts.overflows.format(overflows=overflows)] if overflows else []


def _trim(activity: SpeechActivity, duration_s: float) -> tuple[float, float] | None:
    if not activity.segments:
        return None
    start_s = max(0.0, activity.segments[0][0] - TRIM_MARGIN_S)
    end_s = min(duration_s, activity.segments[-1][1] + TRIM_MARGIN_S)
    return (start_s, end_s) if start_s + duration_s - end_s >= MIN_SPARED_S else None


def _length(duration_s: float, texts: CheckTexts) -> CheckRow:
    words = texts.length
    if duration_s > MAX_DURATION_S:
        verdict = CheckRating.FAIL
        sentence = texts.length_too_long
    else:
        verdict = _at_least(duration_s, MIN_DURATION_S, words.watch_span)
        sentence = _sentence(words, verdict, value=duration_s, limit=MIN_DURATION_S)
    limit_text = words.limit.format(limit=MIN_DURATION_S)
    return CheckRow("Length", verdict, duration_s, "s", MIN_DURATION_S, MAX_DURATION_S, limit_text, sentence)


def _speech(quality: Quality, words: RowTexts) -> CheckRow:
    limit = quality_rules().issues.insufficient_speech.voice_percentage_below
    value = quality.voice_percentage
    too_little = "insufficient_speech" in quality.issues
    verdict = CheckRating.FAIL if too_little else _at_least(value, limit, words.watch_span)
    sentence = _sentence(words, verdict, value=value, limit=limit, speech_s=quality.speech_seconds)
    return CheckRow("Speech", verdict, value, "%", limit, None, words.limit.format(limit=limit), sentence)


def _clarity(quality: Quality, texts: CheckTexts) -> CheckRow:
    words, limit = texts.clarity, quality_rules().issues.high_background_noise.clarity_below
    value = quality.audio_clarity
    limit_text = words.limit.format(limit=limit)
    if value is None:
        return CheckRow("Clarity", CheckRating.WATCH, None, "", limit, None, limit_text, texts.clarity_unmeasured)
    verdict = _at_least(value, limit, words.watch_span)
    sentence = _sentence(words, verdict, value=value, limit=limit)
    return CheckRow("Clarity", verdict, value, "", limit, None, limit_text, sentence)


def _clipping(quality: Quality, words: RowTexts) -> CheckRow:
    limit = quality_rules().issues.clipping.clipped_percent_above
    value = quality.level.clipped_percent
    verdict = _at_least(-value, -limit - words.watch_span, words.watch_span)
    sentence = _sentence(words, verdict, value=value, limit=limit)
    return CheckRow("Clipping", verdict, value, "%", None, limit, words.limit.format(limit=limit), sentence)


def _loudness(quality: Quality, words: LoudnessTexts) -> CheckRow:
    limit = quality_rules().issues.low_level.speech_dbfs_below
    value = quality.level.rms_dbfs
    verdict = _at_least(value, limit, words.watch_span)
    sentence = _sentence(words, verdict, value=value, limit=limit)
    if value > words.high_dbfs:
        verdict, sentence = CheckRating.WATCH, words.watch_high
    limit_text = words.limit.format(limit=limit, high=words.high_dbfs)
    return CheckRow("Loudness", verdict, _finite(value), "dB", limit, words.high_dbfs, limit_text, sentence)


def _at_least(value: float, limit: float, watch_span: float) -> CheckRating:
    if value < limit:
        return CheckRating.FAIL
    return CheckRating.WATCH if value < limit + watch_span else CheckRating.PASS


def _sentence(words: RowTexts, verdict: CheckRating, **values: float) -> str:
    text = {CheckRating.PASS: words.passed, CheckRating.WATCH: words.watch, CheckRating.FAIL: words.fail}[verdict]
    return text.format(**values)


def _overall_rating(rows: tuple[CheckRow, ...], texts: OverallTexts) -> tuple[Overall, str]:
    """The worst row determines the rating; of several, the first."""
    failing = next((row for row in rows if row.verdict is CheckRating.FAIL), None)
    if failing is not None:
        return "bad", f"{texts.bad} {failing.sentence}"
    doubtful = next((row for row in rows if row.verdict is CheckRating.WATCH), None)
    if doubtful is not None:
        return "watch", f"{texts.watch} {doubtful.sentence}"
    return "good", texts.good


def _figures(quality: Quality) -> dict[str, float | list[str] | str | None]:
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
