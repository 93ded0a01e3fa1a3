"""The check of a take, right after it was made: the service's own measures, in words for the person beside the patient.

Limits and sentences are data: `resources/check.toml`; limits that the service has are the service's.
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
from vbdesk.capture.enhancement import Enhancement, frame_levels, judge_enhancement
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
RESAMPLED, SPEECH_FOUND = 0.1, 0.5  # of the work, about

Overall = Literal["good", "watch", "bad"]
RowName = Literal["Length", "Speech", "Clarity", "Clipping", "Loudness"]


class Verdict(StrEnum):
    """How one measure stands to its limit."""

    PASS = "pass"  # noqa: S105 - not a password
    WATCH = "watch"
    FAIL = "fail"


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
        speech_s: seconds of speech.
        suggested_trim_s: start and end that leave out silence at both ends; None if that spares less than a second.
        waveform: lowest and highest sample, shape (n, 2), for drawing.
        quality: the figures, as JSON values, to be kept with the recording.
        hints: sentences on what no row is about: sound that was lost or changed before it came here, and what to do.
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


class HintTexts(_Data):
    """What is said of sound that was lost."""

    missing: str
    overflows: str


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
    hints: HintTexts


def read_check_texts(path: Path) -> CheckTexts:
    """Read and check `path`.

    Raises:
        pydantic.ValidationError: a text is missing or unknown.
    """
    return CheckTexts.model_validate(read_toml(path))


@cache
def check_texts() -> CheckTexts:
    """The texts that ship with the product, read once per process."""
    return read_check_texts(resource("check.toml"))


def check_take(audio: TakeAudio, progress: Callable[[float], None] = lambda share: None) -> Check:
    """Check a take: some seconds of work for 20 minutes of sound, so not on the thread of a window.

    Args:
        audio: the take.
        progress: called with the share that is done, 0 to 1.

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
    overall, sentence = _verdict(rows, texts.overall)
    if max(audio.samples.max(), -int(audio.samples.min())) <= SILENT_PEAK:
        overall, sentence = "bad", f"{texts.overall.bad} {silence_advice()}"
    enhancement = judge_enhancement(frame_levels(audio.samples, audio.sample_rate))
    figures = _figures(quality)
    if enhancement.enhancement is not Enhancement.NONE:
        figures["enhancement"] = str(enhancement.enhancement)
    check = Check(
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
    """What the manifest says of sound that never came."""
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
        verdict = Verdict.FAIL
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
    verdict = Verdict.FAIL if too_little else _at_least(value, limit, words.watch_span)
    sentence = _sentence(words, verdict, value=value, limit=limit, speech_s=quality.speech_seconds)
    return CheckRow("Speech", verdict, value, "%", limit, None, words.limit.format(limit=limit), sentence)


def _clarity(quality: Quality, texts: CheckTexts) -> CheckRow:
    words, limit = texts.clarity, quality_rules().issues.high_background_noise.clarity_below
    value = quality.audio_clarity
    limit_text = words.limit.format(limit=limit)
    if value is None:
        return CheckRow("Clarity", Verdict.WATCH, None, "", limit, None, limit_text, texts.clarity_unmeasured)
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
        verdict, sentence = Verdict.WATCH, words.watch_high
    limit_text = words.limit.format(limit=limit, high=words.high_dbfs)
    return CheckRow("Loudness", verdict, _finite(value), "dB", limit, words.high_dbfs, limit_text, sentence)


def _at_least(value: float, limit: float, watch_span: float) -> Verdict:
    if value < limit:
        return Verdict.FAIL
    return Verdict.WATCH if value < limit + watch_span else Verdict.PASS


def _sentence(words: RowTexts, verdict: Verdict, **values: float) -> str:
    text = {Verdict.PASS: words.passed, Verdict.WATCH: words.watch, Verdict.FAIL: words.fail}[verdict]
    return text.format(**values)


def _verdict(rows: tuple[CheckRow, ...], texts: OverallTexts) -> tuple[Overall, str]:
    """The worst row speaks for the take; the first one of several."""
    failing = next((row for row in rows if row.verdict is Verdict.FAIL), None)
    if failing is not None:
        return "bad", f"{texts.bad} {failing.sentence}"
    doubtful = next((row for row in rows if row.verdict is Verdict.WATCH), None)
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
