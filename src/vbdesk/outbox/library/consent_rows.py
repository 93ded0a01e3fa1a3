"""Consent events as rows of the database: encrypted, each bound to its id and subject."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from vbdesk.outbox.library.column_encryption import ColumnCipher, InvalidTag
from vbdesk.outbox.library.consent import (
    NO_CONSENT,
    ConsentEvent,
    ConsentState,
    ConsentStatus,
    event_json,
    read_event,
    status_of,
)
from vbdesk.outbox.library.encrypted_sqlite import DatabaseRow


@dataclass(frozen=True, slots=True)
class SubjectConsent:
    """The consent events of one subject, oldest first; unreadable if something other than vbdesk changed one."""

    events: tuple[ConsentEvent, ...] = ()
    unreadable: bool = False

    def status(self, at: datetime) -> ConsentStatus:
        """The state of the consent for a recording made `at`."""
        return ConsentStatus(ConsentState.UNREADABLE) if self.unreadable else status_of(self.events, at)


def encrypted_row(event: ConsentEvent, cipher: ColumnCipher) -> tuple[str, str, bytes]:
    """An event as a row of `consents`."""
    content = json.dumps(event_json(event)).encode()
    return event.event_id, event.group_id, cipher.encrypt(content, _place(event.event_id, event.group_id))


def read_consents(rows: Iterable[DatabaseRow], cipher: ColumnCipher) -> dict[str, SubjectConsent]:
    """Rows of `consents` by subject."""
    found: dict[str, list[ConsentEvent]] = {}
    unreadable: set[str] = set()
    for row in rows:
        event_id, group_id, sealed = row["event_id"], row["group_id"], row["sealed"]
        if not isinstance(event_id, str) or not isinstance(group_id, str):
            continue  # the checksum of the table reports it
        events = found.setdefault(group_id, [])
        try:
            if not isinstance(sealed, bytes):
                raise ValueError("not encrypted")
            events.append(
                read_event(event_id, group_id, json.loads(cipher.decrypt(sealed, _place(event_id, group_id))))
            )
        except (InvalidTag, KeyError, TypeError, ValueError):
            unreadable.add(group_id)
    return {
        group_id: SubjectConsent(tuple(sorted(events, key=lambda event: event.at)), group_id in unreadable)
        for group_id, events in found.items()
    }


def consent_of(consents: Mapping[str, SubjectConsent], group_id: str, at: datetime) -> ConsentStatus:
    """The state of a subject's consent for a recording made `at`, by events that were read before."""
    known = consents.get(group_id)
    return NO_CONSENT if known is None else known.status(at)


def _place(event_id: str, group_id: str) -> str:
    return f"consents/{event_id}/{group_id}"
