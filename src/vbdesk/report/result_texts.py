"""Sentences about a result: the suggested action, and issues of the recording."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from vbdesk.contract.levels import Level, RecommendedAction
from vbdesk.contract.results import AudioQuality
from vbdesk.contract.rounding import whole
from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.resource_files import resource

OTHER_ISSUE = "other"


class ActionText(StrictDataModel):
    """Title and sentence of a suggested action."""

    title: str
    sentence: str


class IssueText(StrictDataModel):
    """An issue of the recording, and advice for the next one."""

    what: str
    next_time: str


class ResultTexts(StrictDataModel):
    """All texts of result_words.toml."""

    overall: Mapping[Level, str]
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
    complete = set(texts.action) == set(RecommendedAction) and set(texts.overall) == set(Level)
    if not complete or OTHER_ISSUE not in texts.issue:
        raise ValueError("result_words.toml lacks texts for an action, a level, or for other issues.")
    return texts


def overall_word(level: Level) -> str:
    """The overall level of a recording in words; single signs keep the level's own word."""
    return result_texts().overall[level]


def quality_text(quality: AudioQuality) -> QualityText:
    """Describe the quality of a recording."""
    figures = []
    if quality.voice_percentage is not None:
        figures.append(f"Speech {whole(quality.voice_percentage)} %")
    if quality.audio_clarity is not None:
        figures.append(f"clarity {whole(quality.audio_clarity)} of 100")
    texts = result_texts().issue
    entries = [(code, texts.get(code, texts[OTHER_ISSUE])) for code in quality.issues]
    return QualityText(
        figures=f"{', '.join(figures)}." if figures else "",
        issues=tuple(entry.what.format(code=code.replace("_", " ")) for code, entry in entries),
        advice=tuple(dict.fromkeys(entry.next_time for _, entry in entries)),
    )
