"""Consent of a subject: what was given or withdrawn, and what is in force at a moment.

Events are only added, so they can be merged from several computers in any order. For each purpose the newest event
counts; of two with the same time, the withdrawal.
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any


class ConsentKind(StrEnum):
    """What a consent covers."""

    CLINICAL = "clinical"
    RESEARCH = "research"
    BOTH = "both"
    NOT_STATED = "not_stated"
    """A tick of an earlier release, which had no kinds."""


GIVEN_KINDS = (ConsentKind.CLINICAL, ConsentKind.RESEARCH, ConsentKind.BOTH)
"""What a person can consent to now."""


class ConsentChange(StrEnum):
    """What happened."""

    GIVEN = "given"
    WITHDRAWN = "withdrawn"


class ConsentState(StrEnum):
    """The state of a subject's consent."""

    NONE = "none"
    IN_FORCE = "in_force"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    UNREADABLE = "unreadable"
    """Something other than vbdesk changed an event, which may have been a withdrawal."""


class ConsentPolicy(StrEnum):
    """What a profile asks for."""

    REQUIRED = "required"
    REMINDED = "reminded"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class ConsentEvent:
    """One consent that was given or withdrawn.

    Attributes:
        group_id: the subject.
        at: when, aware.
        wording: version of the wording that was read or signed; empty if it is not known.
        language: of the wording, as in `en`; empty if it is not known.
        asked_by: who asked, as they wrote it; may be empty.
        expires: when a consent ends; None if it has no end. A withdrawal has none.
    """

    event_id: str
    group_id: str
    change: ConsentChange
    kind: ConsentKind
    at: datetime
    wording: str = ""
    language: str = ""
    asked_by: str = ""
    expires: datetime | None = None


@dataclass(frozen=True, slots=True)
class ConsentStatus:
    """The state of a subject's consent at a moment, and the event that decides it.

    Attributes:
        kind: what is in force; None if nothing is.
        event: the newest event that decides; None if there is none.
    """

    state: ConsentState
    kind: ConsentKind | None = None
    event: ConsentEvent | None = None

    @property
    def in_force(self) -> bool:
        """Whether the subject has consented, for any purpose."""
        return self.state is ConsentState.IN_FORCE


LONGEST_ASKED_BY = 100
NO_CONSENT = ConsentStatus(ConsentState.NONE)

_PURPOSES = (ConsentKind.CLINICAL, ConsentKind.RESEARCH, ConsentKind.NOT_STATED)
_GIVES = {
    ConsentKind.CLINICAL: {ConsentKind.CLINICAL},
    ConsentKind.RESEARCH: {ConsentKind.RESEARCH},
    ConsentKind.BOTH: {ConsentKind.CLINICAL, ConsentKind.RESEARCH},
    ConsentKind.NOT_STATED: {ConsentKind.NOT_STATED},
}
_WITHDRAWS = {
    ConsentKind.CLINICAL: {ConsentKind.CLINICAL, ConsentKind.NOT_STATED},
    ConsentKind.RESEARCH: {ConsentKind.RESEARCH, ConsentKind.NOT_STATED},
    ConsentKind.BOTH: set(_PURPOSES),
    ConsentKind.NOT_STATED: set(_PURPOSES),
}
_TICKS = uuid.UUID("6b1e0c3a-6a0e-4b1f-9b0b-2f1f5d0e8a41")
_TICK_LASTS = timedelta(hours=24)


def status_of(events: Iterable[ConsentEvent], at: datetime) -> ConsentStatus:
    """The state of one subject's consent for a recording made `at`.

    A withdrawal counts for every recording, an end only for those made after it. A consent covers earlier recordings
    too: it was asked for them.
    """
    newest: dict[ConsentKind, ConsentEvent] = {}
    for event in events:
        for purpose in purposes_of(event):
            if purpose not in newest or event_order(event) > event_order(newest[purpose]):
                newest[purpose] = event
    if not newest:
        return NO_CONSENT
    valid = {purpose: event for purpose, event in newest.items() if _is_valid(event, at)}
    if valid:
        return ConsentStatus(ConsentState.IN_FORCE, _kind_of(set(valid)), max(valid.values(), key=event_order))
    last = max(newest.values(), key=event_order)
    withdrawn = last.change is ConsentChange.WITHDRAWN
    return ConsentStatus(ConsentState.WITHDRAWN if withdrawn else ConsentState.EXPIRED, None, last)


@dataclass(frozen=True, slots=True)
class SubjectConsent:
    """The consent events of one subject, oldest first; unreadable if something other than vbdesk changed one."""

    events: tuple[ConsentEvent, ...] = ()
    unreadable: bool = False

    def status(self, at: datetime) -> ConsentStatus:
        """The state of the consent for a recording made `at`."""
        return ConsentStatus(ConsentState.UNREADABLE) if self.unreadable else status_of(self.events, at)


def purposes_of(event: ConsentEvent) -> set[ConsentKind]:
    """The purposes that an event gives or withdraws; a withdrawal also ends consents of earlier releases."""
    return (_GIVES if event.change is ConsentChange.GIVEN else _WITHDRAWS)[event.kind]


def event_order(event: ConsentEvent) -> tuple[datetime, bool]:
    """Sort key: the later event counts, and of two with the same time the withdrawal."""
    return event.at, event.change is ConsentChange.WITHDRAWN


def event_of_tick(group_id: str, ticked_at: datetime) -> ConsentEvent:
    """The consent event for a tick of an earlier release, which was stored with one recording.

    Its kind is not known, and it was given for the recordings of that day: it ends after 24 hours, so the subject is
    asked again before a later recording. The id follows from the content, so a tick becomes one event on any computer.
    """
    moment = ticked_at.astimezone(UTC)
    return ConsentEvent(
        event_id=str(uuid.uuid5(_TICKS, f"{group_id}/{moment.isoformat()}")),
        group_id=group_id,
        change=ConsentChange.GIVEN,
        kind=ConsentKind.NOT_STATED,
        at=moment,
        expires=_later(moment, _TICK_LASTS),
    )


def plain_name(text: str) -> str:
    """Who asked, as one short line without signs that steer what shows it."""
    line = "".join(sign if sign.isprintable() and sign != "<" else " " for sign in text)
    return " ".join(line.split())[:LONGEST_ASKED_BY]


def event_json(event: ConsentEvent) -> dict[str, Any]:
    """An event as JSON values, without the id and the subject."""
    return {
        "change": event.change,
        "kind": event.kind,
        "at": event.at.astimezone(UTC).isoformat(),
        "wording": event.wording,
        "language": event.language,
        "asked_by": event.asked_by,
        "expires": None if event.expires is None else event.expires.astimezone(UTC).isoformat(),
    }


def read_event(event_id: str, group_id: str, document: Mapping[str, Any]) -> ConsentEvent:
    """Parse what `event_json` wrote. Raises ValueError, TypeError, KeyError."""
    expires = document["expires"]
    return ConsentEvent(
        event_id=event_id,
        group_id=group_id,
        change=ConsentChange(document["change"]),
        kind=ConsentKind(document["kind"]),
        at=datetime.fromisoformat(document["at"]),
        wording=document["wording"],
        language=document["language"],
        asked_by=document["asked_by"],
        expires=None if expires is None else datetime.fromisoformat(expires),
    )


def _is_valid(event: ConsentEvent, at: datetime) -> bool:
    return event.change is ConsentChange.GIVEN and (event.expires is None or at < event.expires)


def _kind_of(purposes: set[ConsentKind]) -> ConsentKind:
    if {ConsentKind.CLINICAL, ConsentKind.RESEARCH} <= purposes:
        return ConsentKind.BOTH
    return next(purpose for purpose in _PURPOSES if purpose in purposes)


def _later(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment + by
    except OverflowError:  # a damaged or hostile time
        return moment
