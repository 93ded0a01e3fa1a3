"""A result seen against the subject's own history."""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from vbdesk.contract.levels import Level, overall_level
from vbdesk.contract.longitudinal import LongitudinalFields
from vbdesk.contract.results import LongitudinalSignal, ModelResult, Signal, SignResult, Summary
from vbdesk.signs.narrative import with_history
from vbdesk.signs.reference import load_reference
from vbdesk.signs.wording import DEFAULT_LANGUAGE, Words

AnyResult = TypeVar("AnyResult", ModelResult, SignResult)


def add_longitudinal(
    result: AnyResult,
    fields: Mapping[str, LongitudinalFields],
    unconfirmed: Collection[str] = (),
    *,
    language: str = DEFAULT_LANGUAGE,
) -> AnyResult:
    """Add the longitudinal fields to every signal, and a sentence about them to the summary.

    Args:
        result: as analysed. Readings of single speakers stay as they are: the history is that of the usual fields.
        fields: by name of the sign; a sign that is not there gets nulls, as on a first submission.
        unconfirmed: slow signs with a change that has been seen once and not yet again.
        language: in which the summary of `result` is written, as a BCP 47 tag.
    """
    if isinstance(result, SignResult):
        return result.model_copy(update={"signal": _extend(result.signal, fields)})
    signals = [_extend(signal, fields) for signal in result.signals]
    words = load_reference(language).wording.words
    sentence = history_sentence(signals, unconfirmed, words)
    summary = result.summary if sentence is None else _with_sentence(result.summary, sentence, words)
    return result.model_copy(update={"signals": signals, "summary": summary})


def history_sentence(signals: Sequence[LongitudinalSignal], unconfirmed: Collection[str], words: Words) -> str | None:
    """What the history adds to the text; None when there is none yet, or nothing to say."""
    overall = overall_level(signal.level for signal in signals)
    if overall is Level.INCONCLUSIVE:
        return None
    known = [signal for signal in signals if signal.baseline_score is not None]
    standing_out = [signal for signal in known if signal.level is overall and overall is not Level.NONE]
    if any(signal.anomaly for signal in standing_out):
        return words.history.changed
    if any(signal.anomaly for signal in known):
        return words.history.changed_elsewhere
    if any(signal.name in unconfirmed for signal in known):
        return words.history.unconfirmed
    if standing_out and overall.flagged:
        return words.history.in_line
    return None


def _extend(signal: Signal, fields: Mapping[str, LongitudinalFields]) -> LongitudinalSignal:
    own = fields.get(signal.name, LongitudinalFields())
    return LongitudinalSignal(**{**signal.model_dump(), **own.model_dump()})


def _with_sentence(summary: Summary, sentence: str, words: Words) -> Summary:
    text = with_history(summary.description.summary, sentence, words)
    return summary.model_copy(update={"description": summary.description.model_copy(update={"summary": text})})
