"""Consent events of a subject as consents for one purpose each, with their end."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from vbdesk.outbox.library.consent import ConsentChange, ConsentEvent, ConsentKind, event_order, purposes_of
from vbdesk.outbox.library.consent_rows import SubjectConsent
from vbdesk.report.subject_consent import ConsentGrant, ConsentPurpose

_PURPOSES: Mapping[ConsentKind, ConsentPurpose] = {
    ConsentKind.CLINICAL: "clinical",
    ConsentKind.RESEARCH: "research",
    ConsentKind.NOT_STATED: "not_stated",
}


def consent_grants(subject: SubjectConsent) -> tuple[ConsentGrant, ...]:
    """The consents of a subject, oldest first; none if an event is unreadable: it may have been a withdrawal.

    Events are only added, so a consent that has ended never becomes active again.
    """
    if subject.unreadable:
        return ()
    found = [
        grant
        for kind, purpose in _PURPOSES.items()
        for grant in _of_purpose(
            purpose, sorted((event for event in subject.events if kind in purposes_of(event)), key=event_order)
        )
    ]
    return tuple(sorted(found, key=lambda grant: (grant.at, grant.event_id, grant.purpose)))


def _of_purpose(purpose: ConsentPurpose, events: Sequence[ConsentEvent]) -> Iterator[ConsentGrant]:
    """The consents for one purpose, from the events that are about it, in their order."""
    given = False
    for event, later in zip_longest(events, events[1:]):
        ended_at = None if later is None else later.at
        if event.change is ConsentChange.GIVEN:
            given = True
            yield ConsentGrant(
                event.event_id, purpose, event.at, event.wording, event.language, event.expires, ended_at
            )
        elif not given and purpose != "not_stated":
            yield ConsentGrant(event.event_id, purpose, event.at, ended_at=ended_at, refused=True)
