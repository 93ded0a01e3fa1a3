"""Finding: what was checked, its state, and one sentence with the result or the remedy."""

from dataclasses import dataclass
from enum import StrEnum

from vbdesk.language import Message, joined


class Health(StrEnum):
    """State of a finding."""

    OK = "ok"
    NOTE = "note"
    REPAIR = "MEND"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a report, without secrets and personal data.

    Attributes:
        topic: what was checked; a text marked for translation.
        health: its state.
        sentence: the result, and what to do about it.
    """

    topic: str
    health: Health
    sentence: Message


def ok(topic: str, *sentences: str) -> Finding:
    """Create a finding without a problem."""
    return Finding(topic, Health.OK, joined(*sentences))


def note(topic: str, *sentences: str) -> Finding:
    """Create a finding that needs no action."""
    return Finding(topic, Health.NOTE, joined(*sentences))


def action_needed(topic: str, *sentences: str | Exception) -> Finding:
    """Create a finding that needs action."""
    return Finding(topic, Health.REPAIR, joined(*sentences))
