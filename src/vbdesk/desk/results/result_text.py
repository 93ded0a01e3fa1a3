"""Texts and rows of a result for the Result page. No Qt: made on a worker."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from vbdesk.clock import utc_now
from vbdesk.contract.baseline_changes import Comparison
from vbdesk.contract.catalog import MODEL_SIGNS, ModelName, label_of
from vbdesk.contract.levels import Level, RecommendedAction, overall_level, recommended_action
from vbdesk.contract.results import (
    AudioQuality,
    IssueCode,
    LongitudinalSignal,
    ModelResult,
    Result,
    Signal,
    SpeakerResult,
    Summary,
    signals_of,
)
from vbdesk.contract.rounding import whole
from vbdesk.contract.spoken_language import UNKNOWN_LANGUAGE, SpokenLanguage, is_widened, without_widening
from vbdesk.contract.timestamps import in_zone
from vbdesk.desk.results.analysis_text import model_text
from vbdesk.desk.results.metric_rows import MetricRow, metric_rows
from vbdesk.desk.results.result_rows import FeatureRow, SignRow, feature_row, sign_rows
from vbdesk.desk.ui.time_text import clock_text
from vbdesk.language import N_, _, formats, ngettext, pgettext
from vbdesk.report.comparison_basis import Basis, ComparisonBasis, comparison_basis
from vbdesk.report.language_note import language_note
from vbdesk.report.narrative import ShownNarrative, narrative_of
from vbdesk.report.result_texts import action_sentence, action_title, advice_for, quality_text
from vbdesk.report.shipped_signs import healthy_flagged_share, shipped_signs

if TYPE_CHECKING:
    from vbdesk.report.own_ranges import OwnRange

_NO_CAUSE = N_("The service named no fault of the sound.")
_LITTLE_SPEECH_S = 30.0  # minimum that the advice for inconclusive recordings names


@dataclass(frozen=True, slots=True)
class VoiceReading:
    """Result of one voice: of the whole recording or of one speaker.

    Attributes:
        action: title and sentence of the suggested action.
        longitudinal: a sign is compared with the subject's own baseline.
        first: the service keeps a history, and this is its first recording.
        compared: why the comparison was more cautious, as a sentence; empty if it was not.
    """

    level: Level
    action: tuple[str, str]
    signs: tuple[SignRow, ...]
    narrative: ShownNarrative
    features: tuple[FeatureRow, ...]
    longitudinal: bool
    first: bool
    compared: str = ""


@dataclass(frozen=True, slots=True)
class Speaker:
    """One of several speakers; `segments` are speech segments in seconds."""

    label: str
    segments: tuple[tuple[float, float], ...]
    voice: VoiceReading


@dataclass(frozen=True, slots=True)
class QualityReading:
    """How good the recording was.

    Attributes:
        figures: speech and clarity, as a sentence.
        issues: what was wrong, and what to do next time.
    """

    figures: str
    issues: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ResultReading:
    """Content of the Result page for one recording.

    Attributes:
        voice: of the whole recording.
        speakers: one reading for each, if they were separated.
        metrics: sound of the voice in the whole recording.
        compared: the people that the voice was compared with, as a sentence.
        flagged_share: the share of healthy speakers that this model flags, as a sentence; empty when unknown.
        notes: what limits this result, as sentences.
        versions: of the calibrations that scored it.
        speech_s: seconds of speech; None if unknown.
        raw: the result as JSON.
    """

    target: str
    voice: VoiceReading
    speakers: tuple[Speaker, ...]
    metrics: tuple[MetricRow, ...]
    compared: str
    flagged_share: str
    quality: QualityReading
    notes: tuple[str, ...]
    versions: tuple[str, ...]
    speech_s: float | None
    raw: str

    @property
    def inconclusive(self) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """Why the result is inconclusive, and what to do next time; None if it is conclusive."""
        if self.voice.level is not Level.INCONCLUSIVE:
            return None
        why = [what for what, _ in self.quality.issues]
        advice = [advice for _, advice in self.quality.issues]
        if not why and self.speech_s is not None and self.speech_s < _LITTLE_SPEECH_S:
            speech_sentence = ngettext(
                "The sound is good, but only about {count} second of speech was heard.",
                "The sound is good, but only about {count} seconds of speech were heard.",
                whole(self.speech_s),
            )
            why, advice = [speech_sentence], [advice_for(IssueCode.INSUFFICIENT_SPEECH)]
        return tuple(why or [_(_NO_CAUSE)]), tuple(dict.fromkeys(advice))


def reading_of(
    result: Result,
    raw: str | None = None,
    seconds: float | None = None,
    comparison: Comparison = Comparison.COMPARED,
    spoken_language: SpokenLanguage = UNKNOWN_LANGUAGE,
    own: "Mapping[str, OwnRange] | None" = None,
) -> ResultReading:
    """Put `result` in words.

    Args:
        comparison: whether it is compared with earlier recordings of the subject.
        spoken_language: what this computer knows about the language of the recording.
        own: the subject's own usual range by vocal feature.
        result: what the service found.
        raw: the JSON to show; by default the result's own.
        seconds: how long the recording is, where that is known.
    """
    signals = signals_of(result)
    model = _model_of(signals) if isinstance(result, ModelResult) else None
    summary, issues = result.summary if isinstance(result, ModelResult) else None, result.audio_quality.issues
    voice = _voice(signals, summary, comparison, spoken_language, own or {}, issues)
    language = [note] if (note := language_note(signals, spoken_language, model)) else []
    versions = tuple(dict.fromkeys(signal.sign_version for signal in signals if signal.sign_version))
    return ResultReading(
        target=model_text(model.value) if model else ", ".join(signal.label for signal in signals[:1]),
        voice=voice,
        speakers=tuple(_speaker(speaker, spoken_language, issues) for speaker in result.speakers or ()),
        metrics=metric_rows(result.extended_metrics, signals) if isinstance(result, ModelResult) else (),
        compared=_compared(comparison_basis(signals)),
        flagged_share=_flagged_share(model),
        quality=quality_reading(result.audio_quality),
        notes=(*language, *_comparison_notes(signals, comparison), *_notes(signals, versions)),
        versions=versions,
        speech_s=_speech_s(result.audio_quality, seconds),
        raw=raw or json.dumps(result.model_dump(mode="json"), indent=2, ensure_ascii=False),
    )


def _speech_s(quality: AudioQuality, seconds: float | None) -> float | None:
    if seconds is None or quality.voice_percentage is None:
        return None
    return seconds * quality.voice_percentage / 100


def quality_reading(quality: AudioQuality) -> QualityReading:
    """A recording's quality in words."""
    text = quality_text(quality)
    advice = [advice_for(code) for code in quality.issues]
    return QualityReading(text.figures, tuple(zip(text.issues, advice, strict=True)))


def title_of(recorded_at: datetime | None) -> str:
    """`Recording of 21 November, 10:41` in the local zone."""
    if recorded_at is None:
        # Translators: the title of a page with one recording.
        return pgettext("one recording", "Recording")
    return _("Recording of {moment}", moment=moment_of(recorded_at))


def moment_of(recorded_at: datetime) -> str:
    """`21 November, 10:41` in the local zone; with the year if it differs."""
    local = in_zone(recorded_at)
    return formats.long_day_and_time(local, year=local.year != utc_now().astimezone(local.tzinfo).year)


def _model_of(signals: Sequence[Signal]) -> ModelName | None:
    names = {signal.name for signal in signals}
    return next((name for name, signs in MODEL_SIGNS.items() if names == {sign.value for sign in signs}), None)


def _voice(
    signals: list[Signal],
    summary: Summary | None,
    comparison: Comparison,
    spoken_language: SpokenLanguage,
    own: "Mapping[str, OwnRange]",
    issues: Collection[str],
) -> VoiceReading:
    levels = [signal.level for signal in signals]
    if summary is not None:
        level, action = summary.overall_level, summary.recommended_action
    else:
        level, action = overall_level(levels), recommended_action(levels)
    history = [signal for signal in signals if isinstance(signal, LongitudinalSignal)]
    compared = any(signal.z_score is not None for signal in history)
    return VoiceReading(
        level=level,
        action=_action(action),
        signs=sign_rows(signals, comparison),
        narrative=narrative_of(signals, summary, issues) if summary else ShownNarrative(""),
        features=tuple(feature_row(feature, own.get(feature.feature)) for feature in summary.description.vocal_features)
        if summary
        else (),
        longitudinal=compared,
        first=bool(history) and not compared and comparison in (Comparison.FIRST, Comparison.COMPARED),
        compared=_compared_cautiously(signals, spoken_language),
    )


def _compared_cautiously(signals: Sequence[Signal], spoken_language: SpokenLanguage) -> str:
    if not any(is_widened(signal.sign_version) for signal in signals):
        return ""
    if spoken_language.second_language:
        return _("Compared more cautiously: the speaker reads a second language.")
    if spoken_language.language is not None:
        return _("Compared more cautiously: the recording is not in the language of the reference.")
    return _("Compared more cautiously, because of the language of the recording.")


def _speaker(speaker: SpeakerResult, spoken_language: SpokenLanguage, issues: Collection[str]) -> Speaker:
    number = speaker.speaker.rpartition("_")[2]
    name = _("Speaker {number}", number=number) if number.isdigit() else speaker.speaker
    signals: list[Signal] = list(speaker.signals or ([speaker.signal] if speaker.signal else []))
    label = _("{speaker}, {time} of speech", speaker=name, time=clock_text(speaker.speech_seconds))
    voice = _voice(signals, speaker.summary, Comparison.PENDING, spoken_language, {}, issues)
    return Speaker(label, tuple(speaker.segments), voice)


def _action(action: RecommendedAction) -> tuple[str, str]:
    return action_title(action), action_sentence(action)


def _flagged_share(model: ModelName | None) -> str:
    share = healthy_flagged_share().get(model.value) if model else None
    if share is None or model is None:
        return ""
    return _(
        "The {model} analysis flags about {share:.0%} of healthy speakers: of 100 people without any of these "
        "conditions, about {percent} would show at least one signal at consider or above.",
        model=label_of(model.value),
        share=share,
        percent=round(100 * share),
    )


def _compared(basis: ComparisonBasis) -> str:
    match basis.kind:
        case Basis.SHIPPED:
            return _(
                "How this was compared: with {readers} adults who read English aloud (norms {norms}, calibration "
                "{calibration}).",
                readers=basis.readers,
                norms=basis.norms,
                calibration=basis.calibration,
            )
        case Basis.SITE:
            return _(
                "How this was compared: with the service's own reference recordings (norms {norms}, calibration "
                "{calibration}).",
                norms=basis.norms,
                calibration=basis.calibration,
            )
        case Basis.OWN_SIGN:
            return _(
                "How this was compared: with the reference of this sign, which is not one of vbdesk (version "
                "{calibration}).",
                calibration=basis.calibration,
            )
        case Basis.OTHER_RELEASE:
            return _(
                "How this was compared: with the reference of calibration {calibration}, which this vbdesk cannot "
                "describe.",
                calibration=basis.calibration,
            )
        case Basis.UNKNOWN:
            return _("How this was compared: the service does not tell the version of its reference.")


def _comparison_notes(signals: Sequence[Signal], comparison: Comparison) -> list[str]:
    """Why there is no comparison with the person's own baseline, if there could be one."""
    if comparison is Comparison.EXCLUDED:
        return [
            _(
                "This recording is excluded from the person's course. It is not compared with the person's own "
                "baseline, and does not change it."
            )
        ]
    if comparison is Comparison.PENDING and any(isinstance(signal, LongitudinalSignal) for signal in signals):
        return [
            _(
                "Changes against this person's own baseline appear here when the service has computed the course with "
                "this recording."
            )
        ]
    return []


def _notes(signals: Sequence[Signal], versions: Sequence[str]) -> tuple[str, ...]:
    notes = []
    if len(versions) > 1:
        notes.append(
            _(
                "The signals come from several calibrations ({versions}), so their levels are not on one scale.",
                versions=formats.list_of(versions),
            )
        )
    references = shipped_signs()
    here = sorted({reference.version for reference in references.values()})
    calibrations = dict.fromkeys(without_widening(version) for version in versions)
    strange = [version for version in calibrations if version not in here]
    if strange and any(signal.name in references for signal in signals):
        notes.append(
            _(
                "Scored by calibration {calibration}; what is said here about research and healthy speakers belongs to "
                "{known}.",
                calibration=formats.list_of(strange),
                known=formats.list_of(here),
            )
        )
    unread = sum(signal.level is Level.INCONCLUSIVE for signal in signals)
    if 0 < unread < len(signals):
        notes.append(
            ngettext(
                "{count} of {all} signals could not be read from this recording.",
                "{count} of {all} signals could not be read from this recording.",
                unread,
                all=len(signals),
            )
        )
    return tuple(notes)
