"""The consent of subjects: events of the journal that outlast the erasure of their subject, and are only ever added."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from vbdesk.contract.ids import new_id
from vbdesk.contract.timestamps import add_clamped
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.consent import (
    ConsentChange,
    ConsentEvent,
    ConsentKind,
    ConsentStatus,
    SubjectConsent,
    event_json,
    event_of_tick,
    plain_name,
    read_event,
)
from vbdesk.outbox.library.consent_wordings import ConsentWording
from vbdesk.outbox.library.journal import Event, Projection
from vbdesk.outbox.library.settings import ConsentRules
from vbdesk.outbox.library.store import Store


def _add(known: Mapping[str, SubjectConsent], events: list[Event]) -> Mapping[str, SubjectConsent]:
    new: dict[str, list[ConsentEvent]] = {}
    unreadable = [each.subject for each in events if each.subject is not None]
    for content in (each.content for each in events if each.content is not None):
        consent = read_event(content["event_id"], content["group_id"], content)
        new.setdefault(consent.group_id, []).append(consent)
    changed = {}
    for group_id in dict.fromkeys((*new, *unreadable)):
        before = known.get(group_id, SubjectConsent())
        every = sorted((*before.events, *new.get(group_id, ())), key=lambda event: event.at)
        changed[group_id] = SubjectConsent(tuple(every), before.unreadable or group_id in unreadable)
    return {**known, **changed}


CONSENTS: Projection[Mapping[str, SubjectConsent]] = Projection(
    (AuditAction.CONSENT_GIVEN, AuditAction.CONSENT_WITHDRAWN, AuditAction.CONSENT_TAKEN_IN), {}, _add
)
"""The consent of every subject that has any."""


class Consents:
    """Consent events of one library. Every method reads or writes the disk."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self) -> Mapping[str, SubjectConsent]:
        """The events of every subject that has any."""
        return self._store.journal.read(CONSENTS)

    def of(self, group_id: str) -> SubjectConsent:
        """The events of one subject."""
        return self.all().get(group_id, SubjectConsent())

    def status(self, group_id: str, at: datetime | None = None) -> ConsentStatus:
        """The state of a subject's consent for a recording made `at`; now if None."""
        return self.of(group_id).status(at or self._store.clock.now())

    def give(
        self,
        group_id: str,
        kind: ConsentKind,
        *,
        wording: str = "",
        language: str = "",
        asked_by: str = "",
        expires: datetime | None = None,
        at: datetime | None = None,
    ) -> ConsentEvent:
        """Note that a subject has consented, `at` a moment or now."""
        moment = at or self._store.clock.now()
        event = ConsentEvent(
            new_id(), group_id, ConsentChange.GIVEN, kind, moment, wording, language, plain_name(asked_by), expires
        )
        return self._note(event)

    def give_by(
        self,
        rules: ConsentRules,
        group_ids: Iterable[str],
        kind: ConsentKind,
        at: datetime,
        wording: ConsentWording,
        asked_by: str | None = None,
    ) -> None:
        """Note that subjects have consented `at` a moment, with the validity of `rules`; all or none.

        Args:
            rules: of the profile.
            group_ids: the subjects.
            kind: what the consent covers.
            at: when they consented.
            wording: that they were shown.
            asked_by: who asked; as the rules say if None.
        """
        expires = None if rules.valid_days is None else add_clamped(at, timedelta(days=rules.valid_days))
        with self._store.changing():
            for group_id in group_ids:
                self.give(
                    group_id,
                    kind,
                    wording=wording.version,
                    language=wording.language,
                    asked_by=rules.asked_by if asked_by is None else asked_by,
                    expires=expires,
                    at=at,
                )

    def withdraw(self, group_id: str, kind: ConsentKind = ConsentKind.BOTH, *, asked_by: str = "") -> ConsentEvent:
        """Note that a subject has withdrawn consent for these purposes."""
        moment = self._store.clock.now()
        event = ConsentEvent(new_id(), group_id, ConsentChange.WITHDRAWN, kind, moment, asked_by=plain_name(asked_by))
        return self._note(event)

    def take_in(self, events: Iterable[ConsentEvent]) -> int:
        """Add events of another computer; known ones are skipped. Returns how many were new."""
        with self._store.changing():
            known = {event.event_id for subject in self.all().values() for event in subject.events}
            new = {event.event_id: event for event in events if event.event_id not in known}
            for event in new.values():
                self._add(event, AuditAction.CONSENT_TAKEN_IN)
        return len(new)

    def take_in_tick(self, group_id: str, ticked_at: datetime | None) -> None:
        """Add the event for a tick of an earlier release, if there is one and it is not known."""
        if ticked_at is not None:
            self.take_in([event_of_tick(group_id, ticked_at)])

    def _note(self, event: ConsentEvent) -> ConsentEvent:
        """Add an event of this computer: newer than all that are known, even if a clock was wrong."""
        with self._store.changing():
            known = [each.at for each in self.of(event.group_id).events if each.change is not event.change]
            if known and max(known) >= event.at:
                event = replace(event, at=max(known) + timedelta(microseconds=1))
            given = event.change is ConsentChange.GIVEN
            self._add(event, AuditAction.CONSENT_GIVEN if given else AuditAction.CONSENT_WITHDRAWN)
        return event

    def _add(self, event: ConsentEvent, what: AuditAction) -> None:
        content = {"event_id": event.event_id, "group_id": event.group_id, **event_json(event)}
        self._store.journal.note(what, content, outlasts=event.group_id)
