"""Finding: what was checked, its state, and one sentence with the result or the remedy."""

from dataclasses import dataclass
from enum import StrEnum


class Health(StrEnum):
    """State of a finding; the values are printed as they are."""

    OK = "ok"
    NOTE = "note"
    MEND = "MEND"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a report. The sentence contains no secret and no personal data."""

    topic: str
    health: Health
    sentence: str


def ok(topic: str, sentence: str) -> Finding:
    """Create a finding without a problem."""
    return Finding(topic, Health.OK, sentence)


def note(topic: str, sentence: str) -> Finding:
    """Create a finding that needs no action."""
    return Finding(topic, Health.NOTE, sentence)


def action_needed(topic: str, sentence: str) -> Finding:
    """Create a finding that needs action."""
    return Finding(topic, Health.MEND, sentence)
