"""What a library adds to the records of an export: details of its recordings, consent, corrections of courses."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest
from typing import Any

from vbdesk.outbox.library.consent import (
    ConsentChange,
    ConsentEvent,
    ConsentKind,
    SubjectConsent,
    event_order,
    purposes_of,
)
from vbdesk.outbox.library.consent_gate import ConsentList
from vbdesk.outbox.library.corrections import Correction
from vbdesk.outbox.library.items import ItemFilter, RecordingItem
from vbdesk.outbox.library.library import Library, capture_facts
from vbdesk.outbox.library.listing import RecordingList
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.results.subject_history import corrected, left_and_joined
from vbdesk.report.recording_details import RecordingDetails
from vbdesk.report.subject_consent import ConsentGrant, ConsentPurpose
from vbdesk.report.subject_record import SubjectRecord


def with_details(library: Library, records: Iterable[SubjectRecord]) -> list[SubjectRecord]:
    """Copies with the details of recordings that are here, and each subject's consent for every recording.

    Reads the disk.
    """
    whole = list(records)
    details = recording_details(library, [record.group_id for record in whole])
    consents = library.consent_gate.all()
    return [record.with_details(details, _SubjectConsent(consents, record.group_id)) for record in whole]


def with_consents(library: Library, records: Iterable[SubjectRecord]) -> list[SubjectRecord]:
    """Copies with the consents of each subject; none if something other than vbdesk changed one. Reads the disk."""
    subjects = library.consent_gate.all().subjects
    return [
        replace(record, consents=consent_grants(subjects.get(record.group_id, SubjectConsent()))) for record in records
    ]


def with_unreadable_consents(library: Library, group_ids: Iterable[str]) -> list[str]:
    """The subjects among these whose consents something other than vbdesk changed. Reads the disk."""
    subjects = library.consent_gate.all().subjects
    return [group_id for group_id in group_ids if group_id in subjects and subjects[group_id].unreadable]


def with_corrections(library: Library, records: Iterable[SubjectRecord]) -> list[SubjectRecord]:
    """Copies without the recordings that left a subject's course, although the service may still list them.

    Reads the disk.
    """
    entries = library.corrections.all()
    return [_corrected(library, record, entries) for record in records] if entries else list(records)


class _SubjectConsent:
    """The consent of one subject for a recording of a time, as an export names it."""

    def __init__(self, consents: ConsentList, group_id: str) -> None:
        self._consents, self._group_id = consents, group_id

    def __call__(self, recorded_at: datetime) -> str:
        status = self._consents.status(self._group_id, recorded_at)
        return status.kind or status.state


def _corrected(library: Library, record: SubjectRecord, entries: Iterable[Correction]) -> SubjectRecord:
    now = library.store.clock.now()
    left, _ = left_and_joined(record.group_id, entries, now)
    if not left:
        return record
    trajectory = record.trajectory
    if trajectory is not None:
        only = ItemFilter(states=frozenset({OutboxState.DONE}), group_id=record.group_id)
        trajectory = corrected(trajectory, now, library.list(only), list(entries))
    return record.without(left, trajectory)


def recording_details(library: RecordingList, group_ids: Collection[str]) -> Mapping[str, RecordingDetails]:
    """Details of every recording of these subjects that has a job, by job id. Reads the disk."""
    wanted = set(group_ids)
    return {
        item.job_id: _details(item, _capture(library, item))
        for item in library.list()
        if item.job_id is not None and item.fault is None and item.group_id in wanted
    }


def _capture(library: RecordingList, item: RecordingItem) -> Mapping[str, Any]:
    """What the recorder noted; takes of earlier versions have it only in their sound."""
    if item.capture or item.imported or item.audio_gone_at is not None or not isinstance(library, Library):
        return item.capture
    with suppress(OSError, ValueError):
        return capture_facts(library.whole_audio(item.take_id))
    return {}


def _details(item: RecordingItem, capture: Mapping[str, Any]) -> RecordingDetails:
    start, end = item.trim_s or (0.0, float("inf"))
    marks = [float(mark) for mark in capture.get("marks_s", ())]
    return RecordingDetails(
        protocol=item.protocol,
        protocol_version=capture.get("protocol_version"),
        protocol_language=str(capture.get("language", "")),
        microphone=str(capture.get("device", "")),
        microphone_sample_rate=capture.get("sample_rate"),
        imported=item.imported,
        tags=item.tags,
        note=item.note,
        markers_s=tuple(mark - start for mark in marks if start <= mark <= end),
        check=item.quality,
        recorder_version=str(capture.get("app_version", "")),
        random_fraction=item.imported and item.time_is_unique,
        spoken_language=item.spoken.language or "",
        second_language=item.spoken.second_language,
    )


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
