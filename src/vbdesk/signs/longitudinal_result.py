"""Add a subject's history to a result."""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from vbdesk.contract.longitudinal import LongitudinalFields
from vbdesk.contract.narrative import history_of
from vbdesk.contract.narrative_texts import DEFAULT_LANGUAGE, NarrativeTexts
from vbdesk.contract.results import LongitudinalSignal, ModelResult, Signal, SignResult, Summary
from vbdesk.signs.narrative import add_history_sentence
from vbdesk.signs.reference_data import load_reference_data

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
        result: the analysis result. The entries of single speakers stay unchanged: the history is of the top-level
            fields.
        fields: by sign name; a missing sign gets nulls, as on a first submission.
        unconfirmed: slow signs with a change seen in one recording only.
        language: BCP 47 tag of the summary's language.
    """
    if isinstance(result, SignResult):
        return result.model_copy(update={"signal": _extend(result.signal, fields)})
    signals = [_extend(signal, fields) for signal in result.signals]
    texts = load_reference_data(language).narrative.texts
    sentence = history_sentence(signals, unconfirmed, texts)
    summary = result.summary if sentence is None else _with_sentence(result.summary, sentence, texts)
    return result.model_copy(update={"signals": signals, "summary": summary})


def history_sentence(
    signals: Sequence[LongitudinalSignal], unconfirmed: Collection[str], texts: NarrativeTexts
) -> str | None:
    """The sentence about the history; None without a history or a change to report."""
    history = history_of(signals, unconfirmed)
    return None if history is None else str(getattr(texts.history, history))


def _extend(signal: Signal, fields: Mapping[str, LongitudinalFields]) -> LongitudinalSignal:
    own = fields.get(signal.name, LongitudinalFields())
    return LongitudinalSignal(**{**signal.model_dump(), **own.model_dump()})


def _with_sentence(summary: Summary, sentence: str, texts: NarrativeTexts) -> Summary:
    text = add_history_sentence(summary.description.summary, sentence, texts)
    return summary.model_copy(update={"description": summary.description.model_copy(update={"summary": text})})
