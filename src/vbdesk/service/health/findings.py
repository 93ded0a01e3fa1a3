"""A finding: what was looked at, how it is, and one sentence that says so or says what to do."""

from dataclasses import dataclass
from enum import StrEnum


class Health(StrEnum):
    """How something is; the words are those that are printed."""

    OK = "ok"
    NOTE = "note"
    MEND = "MEND"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a report. The sentence holds no secret and nothing personal."""

    topic: str
    health: Health
    sentence: str


def ok(topic: str, sentence: str) -> Finding:
    """All is well."""
    return Finding(topic, Health.OK, sentence)


def note(topic: str, sentence: str) -> Finding:
    """Worth knowing; nothing has to be done."""
    return Finding(topic, Health.NOTE, sentence)


def action_needed(topic: str, sentence: str) -> Finding:
    """Something has to be done."""
    return Finding(topic, Health.MEND, sentence)
