"""Consent events in a bundle: which ones travel, and what they mean for its recordings on arrival."""

from collections.abc import Collection, Iterable

from pydantic import ValidationError

from vbdesk.language import message
from vbdesk.outbox.bundles.bundle_manifest import BundledConsent, BundledTake, BundleManifest, field_at_fault
from vbdesk.outbox.library.consent import (
    ConsentChange,
    ConsentEvent,
    ConsentPolicy,
    ConsentState,
    SubjectConsent,
    event_json,
    read_event,
)
from vbdesk.outbox.library.consent_gate import ConsentList
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import OutboxState


def consents_to_carry(library: Library, group_ids: Collection[str]) -> tuple[BundledConsent, ...]:
    """The events of these subjects, of those whose recordings another computer still has to send, and all withdrawals.

    A withdrawal reaches the computer that has an earlier bundle, also after the recordings were taken back or erased.
    """
    handed_over = library.store.rows("SELECT group_id FROM recordings WHERE state = ?", (OutboxState.HANDED_OVER,))
    wanted = {*group_ids, *(row["group_id"] for row in handed_over)}
    found: list[BundledConsent] = []
    for group_id, known in library.consents.all().items():
        withdrawn = any(event.change is ConsentChange.WITHDRAWN for event in known.events)
        if (withdrawn or group_id in wanted) and fault_of(known) is None:
            found += map(_bundled, known.events)
    return tuple(found)


def fault_of(known: SubjectConsent) -> str | None:
    """Why the events of a subject cannot travel, as a sentence; None if they can."""
    if known.unreadable:
        return message("The consent of its subject was changed by something other than vbdesk.")
    try:
        for event in known.events:
            _bundled(event)
    except ValidationError as error:
        return message("A bundle does not take it for {field}.", field=field_at_fault(error))
    return None


def events_of(manifest: BundleManifest) -> list[ConsentEvent]:
    """The consent events that a bundle carries."""
    return [_event(each) for each in manifest.consents]


def refused_takes(
    takes: Iterable[BundledTake], known: ConsentList, arriving: Iterable[ConsentEvent]
) -> dict[str, ConsentState]:
    """Take ids of recordings that the consent of their subject does not let in, with its state.

    The events of both computers count together. Where consent is required, one must be in force; where a person is only
    reminded, a withdrawn consent keeps a recording out as well, since it would enter the queue without a decision.
    """
    if known.rules.policy is ConsentPolicy.OFF:
        return {}
    new: dict[str, list[ConsentEvent]] = {}
    for event in arriving:
        new.setdefault(event.group_id, []).append(event)
    found = {}
    for take in takes:
        here = known.subjects.get(take.group_id, SubjectConsent())
        there = {event.event_id: event for event in (*new.get(take.group_id, ()), *here.events)}
        status = SubjectConsent(tuple(there.values()), here.unreadable).status(take.recorded_at)
        required = known.rules.policy is ConsentPolicy.REQUIRED and not status.in_force
        if required or status.state is ConsentState.WITHDRAWN:
            found[take.take_id] = status.state
    return found


def _bundled(event: ConsentEvent) -> BundledConsent:
    document = {"event_id": event.event_id, "group_id": event.group_id, **event_json(event)}
    return BundledConsent.model_validate(document, strict=False)


def _event(each: BundledConsent) -> ConsentEvent:
    return read_event(each.event_id, each.group_id, each.model_dump(mode="json", exclude={"event_id", "group_id"}))
