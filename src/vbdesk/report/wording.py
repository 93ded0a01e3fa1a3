"""The sentences beside a result: what is suggested, and what was wrong with the sound."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from vbdesk.contract.levels import RecommendedAction
from vbdesk.contract.results import AudioQuality
from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.resource_files import resource

OTHER_ISSUE = "other"


class ActionWords(StrictDataModel):
    """A suggested action."""

    title: str
    sentence: str


class IssueWords(StrictDataModel):
    """Something wrong with the sound, and what to do next time."""

    what: str
    next_time: str


class ResultWords(StrictDataModel):
    """Every sentence beside a result."""

    action: Mapping[RecommendedAction, ActionWords]
    issue: Mapping[str, IssueWords]


@dataclass(frozen=True, slots=True)
class QualityWords:
    """A recording's quality in words: its figures, what was wrong, and advice without repetition."""

    figures: str
    issues: tuple[str, ...]
    advice: tuple[str, ...]


@cache
def result_words() -> ResultWords:
    """The words of result_words.toml.

    Raises:
        ValueError: something is missing.
    """
    words = ResultWords.model_validate(read_toml(resource("result_words.toml")))
    if set(words.action) != set(RecommendedAction) or OTHER_ISSUE not in words.issue:
        raise ValueError("result_words.toml lacks words for an action, or for other issues.")
    return words


def quality_words(quality: AudioQuality) -> QualityWords:
    """Say how good a recording was."""
    figures = []
    if quality.voice_percentage is not None:
        figures.append(f"Speech {quality.voice_percentage:.0f} %")
    if quality.audio_clarity is not None:
        figures.append(f"clarity {quality.audio_clarity:.0f} of 100")
    words = result_words().issue
    entries = [(code, words.get(code, words[OTHER_ISSUE])) for code in quality.issues]
    return QualityWords(
        figures=f"{', '.join(figures)}." if figures else "",
        issues=tuple(entry.what.format(code=code.replace("_", " ")) for code, entry in entries),
        advice=tuple(dict.fromkeys(entry.next_time for _, entry in entries)),
    )
