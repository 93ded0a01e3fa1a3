"""A person's settings for the recordings of one profile: when to send, how long to keep the sound."""

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class SendRule(StrEnum):
    """When a recording in the queue is sent."""

    AT_ONCE = "at_once"
    UNMETERED = "unmetered"
    BY_HAND = "by_hand"


class RetentionRule(StrEnum):
    """How long the sound of a recording stays on this computer."""

    FOR_EVER = "for_ever"
    AFTER_RESULT = "after_result"


@dataclass(frozen=True, slots=True)
class Retention:
    """When the sound is deleted: never, or so many days after its result; 0 means directly."""

    rule: RetentionRule = RetentionRule.FOR_EVER
    days: int = 0

    def __post_init__(self) -> None:
        """Refuse a number of days below 0."""
        if self.days < 0:
            raise ValueError("The number of days that the sound is kept cannot be below 0.")


@dataclass(frozen=True, slots=True)
class LibrarySettings:
    """The settings of one library.

    Attributes:
        send_rule: when a recording in the queue is sent.
        retention: how long its sound stays after its result.
        paused: nothing is sent until a person resumes.
    """

    send_rule: SendRule = SendRule.AT_ONCE
    retention: Retention = field(default_factory=Retention)
    paused: bool = False

    @property
    def words(self) -> str:
        """All settings in one short line, for the audit log."""
        kept = "for_ever" if self.retention.rule is RetentionRule.FOR_EVER else f"{self.retention.days} days"
        return f"send={self.send_rule}, sound={kept}, paused={'yes' if self.paused else 'no'}"


def write_settings(settings: LibrarySettings) -> bytes:
    """Settings as bytes, before encryption."""
    retention = {"rule": settings.retention.rule, "days": settings.retention.days}
    document = {"send_rule": settings.send_rule, "retention": retention, "paused": settings.paused}
    return json.dumps(document).encode()


def read_settings(content: bytes) -> LibrarySettings:
    """Parse what `write_settings` wrote."""
    document: dict[str, Any] = json.loads(content)
    retention = document["retention"]
    return LibrarySettings(
        send_rule=SendRule(document["send_rule"]),
        retention=Retention(RetentionRule(retention["rule"]), retention["days"]),
        paused=document["paused"],
    )
