"""Check a take right after recording: the service's own measures, in words for the person who records.

Limits and sentences are data in `resources/check.toml`; the service's limits come from the contract.
"""

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.capture.enhancement import Enhancement, detect_enhancement, frame_levels
from vbdesk.capture.meter import SILENT_PEAK, overview
from vbdesk.contract.limits import MAX_DURATION_S, MIN_DURATION_S
from vbdesk.contract.rounding import whole
from vbdesk.contract.timestamps import bounded
from vbdesk.data_files import read_toml
from vbdesk.language import N_, Message, joined, message
from vbdesk.resource_files import resource
from vbdesk.voice.activity import SpeechActivity, detect_speech
from vbdesk.voice.decode import from_samples, is_silent
from vbdesk.voice.quality import Quality, assess_quality
from vbdesk.voice.quality_rules import quality_rules

OVERVIEW_POINTS = 2000
TRIM_MARGIN_S = 0.5
MIN_SPARED_S = 1.0
MUTED_AT_LEAST_S = 2.0  # of zeros; shorter ones are pauses that the system cut off
MUTED_SHARE = 0.9  # of the take
FULL_SCALE = np.float32(32768.0)
RESAMPLED, SPEECH_FOUND = 0.1, 0.5  # shares of the work done, roughly

Overall = Literal["good", "watch", "bad"]
RowName = Literal["Length", "Speech", "Clarity", "Clipping", "Loudness"]
ROW_NAMES: tuple[str, ...] = (N_("Length"), N_("Speech"), N_("Clarity"), N_("Clipping"), N_("Loudness"))
"""In the order of the check; `_` translates them where they are shown."""


class CheckRating(StrEnum):
    """How a measure compares with its limit."""

    PASS = "pass"  # noqa: S105 - not a password
    WATCH = "watch"
    FAIL = "fail"


class Silence(StrEnum):
    """Whether a take has sound at all; the service refuses one without."""

    NONE = "none"
    MUTED = "muted"  # the microphone gave only zeros
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One measure of the check.

    Attributes:
        value: in `unit`; None if it could not be measured.
        low, high: the passing range, in `unit`; None for no limit.
        limit_text: the limit in words; of several, the one that was missed.
        sentence: what it means, and what to do if it is not good.
        missed: how the limit was missed, in a word or two; empty if it was not.
    """

    name: RowName
    rating: CheckRating
    value: float | None
    unit: str
    low: float | None
    high: float | None
    limit_text: str
    sentence: str
    missed: str = ""


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
        silence: whether there is any sound.
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
    silence: Silence = Silence.NONE


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RowTexts(_Data):
    """Texts of one measure, and how far above its limit "watch" reaches; `missed` is the limit missed in a word."""

    watch_span: float
    passed: str
    watch: str
    fail: str
    limit: str
    missed: str


class OtherLimitTexts(_Data):
    """Texts of a second limit of a measure."""

    fail: str
    limit: str
    missed: str


class LoudnessTexts(RowTexts):
    """Loudness also has an upper limit."""

    high_dbfs: float
    watch_high: str


class OverallTexts(_Data):
    """Texts of the overall rating."""

    good: str
    watch: str
    bad: str
    refused: str
    silent: str


class MutedTexts(_Data):
    """What to do about a muted microphone; some systems also ask for permission."""

    linux: str
    macos: str
    windows: str


class HintTexts(_Data):
    """Texts about lost sound."""

    missing: str
    overflow: str
    overflows: str
    muted: str


class CheckTexts(_Data):
    """The content of resources/check.toml."""

    length: RowTexts
    too_long: OtherLimitTexts
    speech: RowTexts
    speech_seconds: OtherLimitTexts
    clarity: RowTexts
    clarity_unmeasured: str
    clipping: RowTexts
    loudness: LoudnessTexts
    overall: OverallTexts
    muted: MutedTexts
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


@dataclass(frozen=True, slots=True)
class TakeFigures:
    """The measured figures that the rows rate; `rms_dbfs` and `audio_clarity` are None if unmeasured."""

    voice_percentage: float
    speech_seconds: float
    audio_clarity: float | None
    clipped_percent: float
    rms_dbfs: float | None

    @classmethod
    def of(cls, quality: Quality) -> "TakeFigures":
        """The figures of a recording."""
        return cls(
            voice_percentage=quality.voice_percentage,
            speech_seconds=quality.speech_seconds,
            audio_clarity=quality.audio_clarity,
            clipped_percent=quality.level.clipped_percent,
            rms_dbfs=quality.level.rms_dbfs if math.isfinite(quality.level.rms_dbfs) else None,
        )

    @classmethod
    def stored(cls, quality: Mapping[str, Any]) -> "TakeFigures | None":
        """TakeFigures stored with a recording; None if they are incomplete or of another kind."""
        found: dict[str, Any] = {name: quality.get(name) for name in cls.__slots__}
        measured = {name: value for name, value in found.items() if value is not None}
        lacking = found.keys() - measured.keys() - {"audio_clarity", "rms_dbfs"}
        return None if lacking or not all(map(_is_finite, measured.values())) else cls(**found)


def check_take(audio: TakeAudio, progress: Callable[[float], None] = lambda share: None) -> TakeCheck:
    """Check a take: takes seconds for 20 minutes of sound, so not on the GUI thread.

    Args:
        audio: the take.
    progress: called with the share of the work done, 0 to 1.

    Raises:
        ValueError: there is no sound at all.
    """
    if len(audio.samples) == 0:
        raise ValueError(message("Nothing was recorded. Check the microphone and record again."))
    texts = check_texts()
    recording = from_samples(audio.samples.astype(np.float32) / FULL_SCALE, audio.sample_rate)
    progress(RESAMPLED)
    activity = detect_speech(recording)
    progress(SPEECH_FOUND)
    quality = assess_quality(recording, activity)
    rows = rate(audio.duration_s, TakeFigures.of(quality))
    overall, sentence = _overall_rating(rows, texts.overall)
    muted_s = _muted_s(audio)
    silence = Silence.NONE
    if is_silent(recording.samples):
        silence = Silence.MUTED if muted_s >= MUTED_SHARE * audio.duration_s else Silence.SILENT
        overall, sentence = "bad", silence_sentence(silence)
    enhancement = detect_enhancement(frame_levels(audio.samples, audio.sample_rate))
    hints = _lost(audio, texts.hints)
    figures = _stored(quality, silence)
    if enhancement.enhancement is not Enhancement.NONE:
        figures["enhancement"] = str(enhancement.enhancement)
    elif muted_s and silence is Silence.NONE:  # noise suppression gives zeros too
        hints.append(_filled(texts.hints.muted, muted_s=whole(muted_s)))
    check = TakeCheck(
        rows=rows,
        overall=overall,
        sentence=sentence,
        issues=tuple(quality.issues),
        speech_s=quality.speech_seconds,
        suggested_trim_s=_trim(activity, audio.duration_s),
        waveform=overview(audio.samples, OVERVIEW_POINTS),
        quality=figures,
        hints=(*hints, *([enhancement.sentence] if enhancement.sentence else [])),
        silence=silence,
    )
    progress(1.0)
    return check


def rate(duration_s: float, figures: TakeFigures) -> tuple[CheckRow, ...]:
    """Rate the figures of a recording of this length."""
    texts = check_texts()
    return (
        _length(duration_s, texts),
        _speech(figures, texts),
        _clarity(figures, texts),
        _clipping(figures, texts.clipping),
        _loudness(figures, texts.loudness),
    )


def silence_sentence(silence: Silence, platform: str = sys.platform) -> str:
    """Why a take has no sound, and what to do."""
    texts = check_texts()
    if silence is Silence.MUTED:
        return {"win32": texts.muted.windows, "darwin": texts.muted.macos}.get(platform, texts.muted.linux)
    return texts.overall.silent


def take_fault(duration_s: float, quality: Mapping[str, Any]) -> tuple[str, bool] | None:
    """Why a recording that was checked before is of little use, and whether the service would refuse it.

    None if it is good enough, or was never checked.
    """
    texts = check_texts().overall
    length = _length(duration_s, check_texts())
    if quality.get("silence") in (Silence.MUTED, Silence.SILENT):
        return silence_sentence(Silence(quality["silence"])), True
    if length.rating is CheckRating.FAIL:
        return joined(texts.refused, length.sentence), True
    figures = TakeFigures.stored(quality)
    if quality.get("overall") != "bad" or figures is None:
        return None
    overall, sentence = _overall_rating(rate(duration_s, figures), texts)
    return (sentence, False) if overall == "bad" else None


def _muted_s(audio: TakeAudio) -> float:
    """Seconds in which the microphone gave only zeros, in stretches of at least `MUTED_AT_LEAST_S`."""
    sounding = np.flatnonzero((audio.samples > SILENT_PEAK) | (audio.samples < -SILENT_PEAK))
    gaps = np.diff(np.concatenate([[-1], sounding, [len(audio.samples)]])) - 1
    return float(gaps[gaps >= MUTED_AT_LEAST_S * audio.sample_rate].sum() / audio.sample_rate)


def _lost(audio: TakeAudio, texts: HintTexts) -> list[str]:
    """Sentences on lost sound, from the manifest."""
    missing_s, overflows = float(audio.closing.get("missing_s", 0.0)), int(audio.closing.get("overflows", 0))
    if missing_s > 0:
        return [_filled(texts.missing, missing_s=missing_s)]
    if overflows == 1:
        return [texts.overflow]
    return [_filled(texts.overflows, overflows=overflows)] if overflows else []


def _trim(activity: SpeechActivity, duration_s: float) -> tuple[float, float] | None:
    if not activity.segments:
        return None
    start_s = max(0.0, activity.segments[0][0] - TRIM_MARGIN_S)
    end_s = min(duration_s, activity.segments[-1][1] + TRIM_MARGIN_S)
    return (start_s, end_s) if start_s + duration_s - end_s >= MIN_SPARED_S else None


def _length(duration_s: float, texts: CheckTexts) -> CheckRow:
    row_texts, most = texts.length, texts.too_long
    low, high = MIN_DURATION_S, MAX_DURATION_S
    if duration_s > MAX_DURATION_S:
        limit_text = _filled(most.limit, limit_minutes=MAX_DURATION_S / 60)
        return CheckRow("Length", CheckRating.FAIL, duration_s, "s", low, high, limit_text, most.fail, most.missed)
    rating = _at_least(duration_s, MIN_DURATION_S, row_texts.watch_span)
    sentence = _sentence(row_texts, rating, value=whole(duration_s), limit=MIN_DURATION_S)
    limit_text = _filled(row_texts.limit, limit=MIN_DURATION_S)
    return CheckRow("Length", rating, duration_s, "s", low, high, limit_text, sentence, _missed(row_texts, rating))


def _speech(figures: TakeFigures, texts: CheckTexts) -> CheckRow:
    """Rate seconds of speech, and its share; the row shows the limit that was missed, of both the seconds."""
    rules = quality_rules().issues.insufficient_speech
    if figures.speech_seconds < rules.speech_seconds_below:
        few, limit, value = texts.speech_seconds, rules.speech_seconds_below, figures.speech_seconds
        limit_text = _filled(few.limit, limit=limit)
        sentence = _filled(few.fail, value=whole(value), limit=limit)
        return CheckRow("Speech", CheckRating.FAIL, value, "s", limit, None, limit_text, sentence, few.missed)
    row_texts, limit, value = texts.speech, rules.voice_percentage_below, figures.voice_percentage
    rating = _at_least(value, limit, row_texts.watch_span)
    sentence = _sentence(row_texts, rating, value=whole(value) / 100, limit=limit / 100)
    limit_text = _filled(row_texts.limit, limit=limit / 100)
    return CheckRow("Speech", rating, value, "%", limit, None, limit_text, sentence, _missed(row_texts, rating))


def _clarity(figures: TakeFigures, texts: CheckTexts) -> CheckRow:
    row_texts, limit = texts.clarity, quality_rules().issues.high_background_noise.clarity_below
    value = figures.audio_clarity
    limit_text = _filled(row_texts.limit, limit=limit)
    if value is None:
        return CheckRow("Clarity", CheckRating.WATCH, None, "", limit, None, limit_text, texts.clarity_unmeasured)
    rating = _at_least(value, limit, row_texts.watch_span)
    sentence = _sentence(row_texts, rating, value=whole(value), limit=limit)
    return CheckRow("Clarity", rating, value, "", limit, None, limit_text, sentence, _missed(row_texts, rating))


def _clipping(figures: TakeFigures, row_texts: RowTexts) -> CheckRow:
    limit = quality_rules().issues.clipping.clipped_percent_above
    value = figures.clipped_percent
    rating = _at_least(-value, -limit - row_texts.watch_span, row_texts.watch_span)
    sentence = _sentence(row_texts, rating, value=value / 100, limit=limit / 100)
    limit_text = _filled(row_texts.limit, limit=limit / 100)
    return CheckRow("Clipping", rating, value, "%", None, limit, limit_text, sentence, _missed(row_texts, rating))


def _loudness(figures: TakeFigures, row_texts: LoudnessTexts) -> CheckRow:
    limit = quality_rules().issues.low_level.speech_dbfs_below
    value = -math.inf if figures.rms_dbfs is None else figures.rms_dbfs
    rating = _at_least(value, limit, row_texts.watch_span)
    sentence = _sentence(row_texts, rating, value=value, limit=limit)
    missed = _missed(row_texts, rating)
    if value > row_texts.high_dbfs:
        rating, sentence = CheckRating.WATCH, _filled(row_texts.watch_high)
    limit_text = _filled(row_texts.limit, limit=limit, high=row_texts.high_dbfs)
    return CheckRow(
        "Loudness", rating, figures.rms_dbfs, "dB", limit, row_texts.high_dbfs, limit_text, sentence, missed
    )


def _missed(row_texts: RowTexts, rating: CheckRating) -> str:
    return row_texts.missed if rating is CheckRating.FAIL else ""


def _at_least(value: float, limit: float, watch_span: float) -> CheckRating:
    if value < limit:
        return CheckRating.FAIL
    return CheckRating.WATCH if value < limit + watch_span else CheckRating.PASS


def _sentence(row_texts: RowTexts, rating: CheckRating, **values: float) -> Message:
    text = {CheckRating.PASS: row_texts.passed, CheckRating.WATCH: row_texts.watch, CheckRating.FAIL: row_texts.fail}[
        rating
    ]
    return _filled(text, **values)


def _filled(text: str, **values: float) -> Message:
    """A text of check.toml with its values."""
    return Message.make(text, fields=values)


def _overall_rating(rows: tuple[CheckRow, ...], texts: OverallTexts) -> tuple[Overall, str]:
    """The worst row determines the rating; of several, the first."""
    failing = next((row for row in rows if row.rating is CheckRating.FAIL), None)
    if failing is not None:
        return "bad", joined(texts.bad, failing.sentence)
    doubtful = next((row for row in rows if row.rating is CheckRating.WATCH), None)
    if doubtful is not None:
        return "watch", joined(texts.watch, doubtful.sentence)
    return "good", texts.good


def _stored(quality: Quality, silence: Silence) -> dict[str, float | list[str] | str | None]:
    figures = TakeFigures.of(quality)
    return {
        "issues": list(quality.issues),
        **{name: getattr(figures, name) for name in TakeFigures.__slots__},
        "peak_dbfs": quality.level.peak_dbfs if math.isfinite(quality.level.peak_dbfs) else None,
        "silence": str(silence),
    }


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bounded(value) == value
