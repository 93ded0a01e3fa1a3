"""A person's settings for the recordings of one profile: when to send, how long to keep the sound."""

from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import TypeAdapter

from vbdesk.language import message
from vbdesk.outbox.library.consent import ConsentKind, ConsentPolicy

SETTINGS_NAME = "library"
"""Name of the settings in the store."""


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
            raise ValueError(message("The number of days that the sound is kept cannot be below 0."))


TRASH_DAYS = 7
LONGEST_TRASH_DAYS = 90


class SubjectDetail(StrEnum):
    """What the second line of a subject holds."""

    NONE = "none"
    BIRTH_YEAR = "birth_year"
    INITIALS = "initials"
    RECORD_NUMBER = "record_number"


@dataclass(frozen=True, slots=True)
class ConsentRules:
    """What a profile asks of subjects.

    Attributes:
        policy: whether recordings need a consent.
        kind: what is usually asked for.
        valid_days: how long a new consent is valid; None for no end.
        asked_by: who asks, as noted with each consent; may be empty.
    """

    policy: ConsentPolicy = ConsentPolicy.REMINDED
    kind: ConsentKind = ConsentKind.CLINICAL
    valid_days: int | None = None
    asked_by: str = ""

    def __post_init__(self) -> None:
        """Refuse a validity below one day."""
        if self.valid_days is not None and self.valid_days < 1:
            raise ValueError(message("A consent is valid for one day or more."))


@dataclass(frozen=True, slots=True)
class LibrarySettings:
    """The settings of one library.

    Attributes:
        send_rule: when a recording in the queue is sent.
        retention: how long its sound stays after its result.
        paused: nothing is sent until a person resumes.
        consent: what subjects are asked, and whether recordings need their consent.
        trash_days: how long a deleted recording can be restored.
        detail: what the second line of a subject holds.
    """

    send_rule: SendRule = SendRule.AT_ONCE
    retention: Retention = field(default_factory=Retention)
    paused: bool = False
    consent: ConsentRules = field(default_factory=ConsentRules)
    trash_days: int = TRASH_DAYS
    detail: SubjectDetail = SubjectDetail.NONE

    def __post_init__(self) -> None:
        """Refuse a number of days below 1, or one that keeps what a person has deleted for too long."""
        if not 1 <= self.trash_days <= LONGEST_TRASH_DAYS:
            raise ValueError(
                message(
                    "The trash keeps deleted recordings for 1 to {days} days.",
                    days=LONGEST_TRASH_DAYS,
                )
            )

    @property
    def audit_text(self) -> str:
        """All settings in one short line, for the audit log."""
        kept = "for_ever" if self.retention.rule is RetentionRule.FOR_EVER else f"{self.retention.days} days"
        paused = "yes" if self.paused else "no"
        rules = f"consent={self.consent.policy}, trash={self.trash_days}"
        return f"send={self.send_rule}, sound={kept}, paused={paused}, {rules}"


_DOCUMENT = TypeAdapter(LibrarySettings)


def write_settings(settings: LibrarySettings) -> bytes:
    """Settings as bytes, before encryption."""
    return _DOCUMENT.dump_json(settings)


def read_settings(content: bytes) -> LibrarySettings:
    """Parse what `write_settings` wrote; a setting that an earlier version did not have gets its default."""
    return _DOCUMENT.validate_json(content)
