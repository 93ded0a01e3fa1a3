"""Sentences about a result: the suggested action, and issues of the recording."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from vbdesk.contract.levels import Level, RecommendedAction
from vbdesk.contract.results import AudioQuality
from vbdesk.contract.rounding import whole
from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.language import _, pgettext
from vbdesk.report.reader_words import level_in_sentence, level_word
from vbdesk.resource_files import resource

OTHER_ISSUE = "other"


class ActionText(StrictDataModel):
    """Title and sentence of a suggested action, in English as all texts of the file: `_` translates them."""

    title: str
    sentence: str


class IssueText(StrictDataModel):
    """An issue of the recording, and advice for the next one."""

    what: str
    next_time: str


class ResultTexts(StrictDataModel):
    """All texts of result_words.toml."""

    action: Mapping[RecommendedAction, ActionText]
    issue: Mapping[str, IssueText]


@dataclass(frozen=True, slots=True)
class QualityText:
    """Quality of a recording as text: its figures, its issues, and each advice once."""

    figures: str
    issues: tuple[str, ...]
    advice: tuple[str, ...]


@cache
def result_texts() -> ResultTexts:
    """The texts of result_words.toml.

    Raises:
        ValueError: a text is missing.
    """
    texts = ResultTexts.model_validate(read_toml(resource("result_words.toml")))
    if set(texts.action) != set(RecommendedAction) or OTHER_ISSUE not in texts.issue:
        raise ValueError("result_words.toml lacks texts for an action, or for other issues.")
    return texts


def overall_word(level: Level) -> str:
    """The overall level of a recording in the reader's language. "None" alone would read as "no result"."""
    return _("Nothing stood out") if level is Level.NONE else level_word(level)


def overall_in_sentence(level: Level) -> str:
    """The overall level of a recording, not at the beginning of a text."""
    if level is Level.NONE:
        return pgettext("level inside of a sentence", "Nothing stood out")
    return level_in_sentence(level)


def quality_text(quality: AudioQuality) -> QualityText:
    """Describe the quality of a recording, in the reader's language."""
    texts = result_texts().issue
    entries = [(code, texts.get(code, texts[OTHER_ISSUE])) for code in quality.issues]
    return QualityText(
        figures=_figures(quality),
        issues=tuple(_(entry.what, code=code.replace("_", " ")) for code, entry in entries),
        advice=tuple(dict.fromkeys(_(entry.next_time) for _code, entry in entries)),
    )


_MOST = 100  # of clarity; a field, so that it has the digits of the reader's region


def _figures(quality: AudioQuality) -> str:
    speech = None if quality.voice_percentage is None else whole(quality.voice_percentage) / 100
    clarity = None if quality.audio_clarity is None else whole(quality.audio_clarity)
    if speech is None:
        return "" if clarity is None else _("Clarity {clarity} of {most}.", clarity=clarity, most=_MOST)
    if clarity is None:
        return _("Speech {share:.0%}.", share=speech)
    # Translators: the share of the recording that is speech, and how clear the sound is
    return _("Speech {share:.0%}, clarity {clarity} of {most}.", share=speech, clarity=clarity, most=_MOST)


def action_title(action: RecommendedAction) -> str:
    """The suggested action in one or two words: `Review.`"""
    return _(result_texts().action[action].title)


def action_sentence(action: RecommendedAction) -> str:
    """What the suggested action means."""
    return _(result_texts().action[action].sentence)


def advice_for(code: str) -> str:
    """What to do next time about an issue."""
    texts = result_texts().issue
    return _(texts.get(code, texts[OTHER_ISSUE]).next_time)
