"""Corrections of which recordings belong to which subject: events of the journal, and what is still to be done.

A correction takes a recording out of one group (`source`), puts it into another (`target`), or both. The transaction
that a person starts changes this computer at once and adds the event. The sync worker then changes the groups at the
service, one step at a time: the recording is in the new group, and that was verified, before it leaves the old one.
Every step may be repeated, so a lost answer or a crash only delays it. Corrections of one recording are done in their
order, so undoing one is one more correction.

The events show which trajectories are older than a correction, and what can be put back. How far the service has come
is a row of `corrections_due` from the first step to the last, which is an event too. Without a row it begins again.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from vbdesk.contract.groups import group_id_fault
from vbdesk.language import message
from vbdesk.outbox.library.audit import AuditAction, AuditPart
from vbdesk.outbox.library.column_encryption import InvalidTag
from vbdesk.outbox.library.consent_gate import ConsentGate
from vbdesk.outbox.library.items import RecordingItem, metadata_of
from vbdesk.outbox.library.journal import Event, Projection
from vbdesk.outbox.library.recording_language import with_language_of_other
from vbdesk.outbox.library.states import NotAllowed, OutboxState
from vbdesk.outbox.library.store import Store
from vbdesk.outbox.library.stored_reasons import read_reason, written_reason
from vbdesk.outbox.library.subject_notes import SubjectNotes

_AT_REST = frozenset(OutboxState) - {OutboxState.UPLOADING, OutboxState.HANDED_OVER}
_IN_GROUP = frozenset({OutboxState.SUBMITTED, OutboxState.RUNNING, OutboxState.DONE})
_KINDS = (AuditAction.MOVED, AuditAction.EXCLUDED, AuditAction.PUT_BACK, AuditAction.CONVERTED)


class CorrectionReason(StrEnum):
    """Why a person corrects a course. Fixed words, because the audit log holds nothing that a person wrote."""

    WRONG_PERSON = "wrong person"
    UNUSUAL_DAY = "unusual circumstances"
    POOR_SOUND = "poor sound"
    TEST = "test recording"
    ON_REQUEST = "on request of the person"
    MISTAKE = "correction was a mistake"
    OTHER = "other reason"


class CorrectionStep(StrEnum):
    """What the service is asked for next."""

    CREATE = "create"
    ADD = "add"
    VERIFY = "verify"
    REMOVE = "remove"
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class CorrectedRecording:
    """A recording of a subject, as a correction needs it.

    Attributes:
        take_id: None if it is not on this computer.
        group_id: the subject.
        job_ids: every job of it at the service.
        finished: the job with its result; None before.
        reading: its data point in the subject's trajectory as JSON values, if it is not on this computer.
    """

    take_id: str | None
    group_id: str
    recorded_at: datetime
    job_ids: tuple[str, ...]
    finished: str | None
    reading: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Correction:
    """One correction.

    Attributes:
        number: counts from 1; corrections are done in this order.
        source: the group that it leaves; None if it was in none.
        target: the group that it joins; None if it joins none.
        undoes: the entry that this one undoes; None if it undoes none.
        step: what the service is asked for next.
        attempts: how often that failed in a row.
        not_before: when it is retried; None: at once.
        trouble: why it is retried, as a sentence; empty if nothing failed.
        settled_at: when the service had done all of it; None before.
        erased: whether a subject of it was erased, so that nothing stays of it once it is settled.
    """

    number: int
    member: CorrectedRecording
    source: str | None
    target: str | None
    reason: CorrectionReason
    made_at: datetime
    undoes: int | None = None
    step: CorrectionStep = CorrectionStep.SETTLED
    attempts: int = 0
    not_before: datetime | None = None
    trouble: str = ""
    settled_at: datetime | None = None
    erased: bool = False

    @property
    def settled(self) -> bool:
        """Whether nothing is left to do."""
        return self.step is CorrectionStep.SETTLED

    @property
    def subjects(self) -> frozenset[str]:
        """The subjects that it is about."""
        return frozenset(each for each in (self.member.group_id, self.source, self.target) if each is not None)

    def concerns(self, take_id: str | None, job_id: str | None) -> bool:
        """Whether it is about this recording."""
        own = self.member
        return (take_id is not None and own.take_id == take_id) or (job_id is not None and job_id in own.job_ids)


class Corrections:
    """The corrections of one library. Every method reads or writes the disk."""

    def __init__(self, store: Store, consent: ConsentGate, notes: SubjectNotes) -> None:
        self._store, self._consent, self._notes = store, consent, notes

    # Reading

    def all(self) -> list[Correction]:
        """Every correction, oldest first; those that nobody can read any more are left out."""
        with self._store.reading():
            due = self._due()
            made = self._store.journal.read(_CORRECTIONS)
        found = {number: entry for number, entry in enumerate(made, 1) if entry is not None}
        for number, document in due.items():
            if number <= len(made) and not (number in found and found[number].settled):
                found[number] = _entry(number, document)
        return [found[number] for number in sorted(found)]

    def due(self) -> list[Correction]:
        """Entries that the service can be asked about now: of each recording the oldest that is not settled."""
        first: list[Correction] = []
        seen: set[str] = set()
        for entry in self.all():
            if entry.settled:
                continue
            if seen.isdisjoint(entry.member.job_ids):
                first.append(entry)
            seen.update(entry.member.job_ids)
        return first

    def in_force(self) -> list[Correction]:
        """Of each recording the newest entry that was not undone, oldest first: what can be put back."""
        done: dict[int, Correction] = {}
        for entry in self.all():
            if entry.undoes is None and not entry.erased:
                done[entry.number] = entry
            else:
                done.pop(entry.undoes or entry.number, None)
        newest = {(entry.member.take_id or entry.member.job_ids): entry for entry in done.values()}
        return sorted(newest.values(), key=lambda entry: entry.number)

    def member(self, take_id: str) -> CorrectedRecording:
        """A recording of this computer, as a correction needs it. Raises UnknownTake."""
        item = self._store.get(take_id)
        rows = self._store.rows("SELECT job_id FROM jobs WHERE take_id = ? ORDER BY job_id", (take_id,))
        job_ids = dict.fromkeys([*(row["job_id"] for row in rows), *([item.job_id] if item.job_id else [])])
        finished = item.job_id if item.state is OutboxState.DONE else None
        return CorrectedRecording(take_id, item.group_id, item.recorded_at, tuple(job_ids), finished)

    # What a person does; a recording of this computer is read again, since it may be at the service by now

    def exclude(self, member: CorrectedRecording, reason: CorrectionReason) -> Correction:
        """Take a recording out of its subject's course; it stays a recording.

        Raises:
            NotAllowed: the service does not have it, or it is excluded already.
            UnknownTake: it is no longer on this computer.
        """
        with self._store.changing():
            if member.take_id is not None:
                item, member = self._correctable(member.take_id), self.member(member.take_id)
                if item.state not in _IN_GROUP or item.excluded:
                    raise NotAllowed(
                        message("This recording is excluded from the course already.")
                        if item.excluded
                        else message(
                            "Only a recording that the service has can be excluded from the course. "
                            "Keep this one here, or delete it."
                        )
                    )
                self._store.store_details(item.take_id, replace(metadata_of(item), excluded=True))
            return self._add(member, member.group_id, None, reason, AuditAction.EXCLUDED)

    def move(self, member: CorrectedRecording, group_id: str, reason: CorrectionReason) -> Correction:
        """Move a recording to another subject.

        Raises:
            NotAllowed: it is that subject's already, a recording of that subject has the same time, or it is on its way
                to the service, or the profile requires a consent that the other subject has not given.
            ValueError: the group id breaks the rules.
            UnknownTake: it is no longer on this computer.
        """
        fault = group_id_fault(group_id)
        if fault is not None:
            raise ValueError(fault)
        with self._store.changing():
            item = None
            if member.take_id is not None:
                item, member = self._correctable(member.take_id), self.member(member.take_id)
            if group_id == member.group_id:
                raise NotAllowed(
                    message(
                        "This recording belongs to {subject} already. Choose another subject.",
                        subject=self._shown(group_id),
                    )
                )
            refusal = self._consent.refusal(group_id, member.recorded_at)
            if refusal is not None:
                raise NotAllowed(message("{subject}: {reason}", subject=self._shown(group_id), reason=refusal))
            source: str | None = member.group_id
            if item is not None:
                source = None if item.excluded else item.group_id
                self._change_subject(item, group_id)
            return self._add(member, source, group_id, reason, AuditAction.MOVED)

    def put_back(self, number: int) -> Correction:
        """Undo a correction: the recording returns to where it was before.

        Raises:
            NotAllowed: it was corrected again since, or as for `move`.
            UnknownTake: it is no longer on this computer.
        """
        with self._store.changing():
            entry = next((entry for entry in self.in_force() if entry.number == number), None)
            if entry is None:
                raise NotAllowed(message("This correction cannot be undone: the recording was corrected again since."))
            member = entry.member
            if member.take_id is not None:
                item = self._correctable(member.take_id)
                self._change_subject(item, member.group_id, excluded=entry.source is None)
                member = replace(self.member(member.take_id), group_id=member.group_id)
            return self._add(
                member, entry.target, entry.source, CorrectionReason.MISTAKE, AuditAction.PUT_BACK, entry.number
            )

    def erase_subject(self, group_id: str) -> None:
        """Keep of a subject what the service has still to do, until it has. Within a transaction."""
        for entry in self.all():
            if group_id in entry.subjects and not entry.settled:
                self._store_progress(replace(entry, erased=True, member=replace(entry.member, reading=None)))

    # What the sync worker does

    def advance(self, entry: Correction, step: CorrectionStep) -> None:
        """Record that the service has done a step, and what is next."""
        with self._store.changing():
            entry = self._now(entry)
            if step is not CorrectionStep.SETTLED:
                self._store_progress(replace(entry, step=step, attempts=0, not_before=None, trouble=""))
                return
            self._store.drop("corrections_due", entry.number)
            what, take_id, part = AuditAction.CORRECTED_AT_SERVICE, entry.member.take_id, AuditPart.SYNC_WORKER
            if entry.erased:
                self._store.note(what, take_id, part=part)
            else:
                self._store.journal.note(what, {"number": entry.number}, entry.subjects, take_id, part=part)

    def postpone(
        self, entry: Correction, not_before: datetime, trouble: str, step: CorrectionStep | None = None
    ) -> None:
        """Retry an entry at `not_before`, from `step` if given; `trouble` says why."""
        with self._store.changing():
            entry = self._now(entry)
            changed = replace(entry, attempts=entry.attempts + 1, not_before=not_before, trouble=trouble)
            self._store_progress(replace(changed, step=step or entry.step))

    def _shown(self, group_id: str) -> str:
        """How a person calls a subject."""
        return self._notes.shown(group_id).name

    # Within a transaction

    def _now(self, entry: Correction) -> Correction:
        """A correction that was read before, as it is now: a subject of it may have been erased since."""
        return next(each for each in self.all() if each.number == entry.number)

    def _correctable(self, take_id: str) -> RecordingItem:
        """A recording whose subject may change, or NotAllowed."""
        item = self._store.get(take_id)
        if item.fault is not None:
            raise NotAllowed(item.fault)
        if item.state is OutboxState.HANDED_OVER:
            raise NotAllowed(
                message("This recording was handed over to be sent elsewhere. Take it back, then correct it.")
            )
        if item.state not in _AT_REST:
            raise NotAllowed(
                message("This recording is being sent now. Cancel that or wait for the result, then correct it.")
            )
        if item.asked or (item.bundle_id is not None and item.job_id is None):
            raise NotAllowed(
                message(
                    "The service may have this recording already, under its present subject. Wait until that is known, "
                    "then correct it."
                )
            )
        return item

    def _change_subject(self, item: RecordingItem, group_id: str, *, excluded: bool = False) -> None:
        if self._store.is_taken(group_id, item.recorded_at, but=item.take_id):
            raise NotAllowed(
                message(
                    "{subject} has a recording of exactly this time already, so these may be the same recording. "
                    "Exclude or erase one of the two, then move the other.",
                    subject=self._shown(group_id),
                )
            )
        ticked = item.consented_at if group_id == item.group_id else None  # the consent of another subject
        metadata = replace(metadata_of(item), group_id=group_id, excluded=excluded, consented_at=ticked)
        if item.job_id is None:
            before, after = (self._notes.note_of(each).spoken for each in (item.group_id, group_id))
            metadata = with_language_of_other(metadata, before, after)
        self._store.store_details(item.take_id, metadata)
        self._store.update(item.take_id, {"group_id": group_id})

    def _add(
        self,
        member: CorrectedRecording,
        source: str | None,
        target: str | None,
        reason: CorrectionReason,
        what: AuditAction,
        undoes: int | None = None,
    ) -> Correction:
        now, journal = self._store.clock.now(), self._store.journal
        number = len(journal.read(_CORRECTIONS)) + 1
        entry = Correction(number, member, source, target, reason, now, undoes, _first_step(target))
        if not member.job_ids:  # the service has nothing of it
            entry = replace(entry, step=CorrectionStep.SETTLED, settled_at=now)
        journal.note(what, _content(entry), entry.subjects, member.take_id)
        return entry

    def _store_progress(self, entry: Correction) -> None:
        document = json.dumps(_content(entry) | _progress(entry)).encode()
        self._store.put("corrections_due", entry.number, self._store.cipher.encrypt(document, _place(entry.number)))

    def _due(self) -> dict[int, Mapping[str, Any]]:
        """What `_store_progress` has stored, by number; without the rows that somebody else wrote."""
        found: dict[int, Mapping[str, Any]] = {}
        for row in self._store.rows("SELECT number, sealed FROM corrections_due"):
            with suppress(InvalidTag, TypeError, ValueError):
                found[row["number"]] = json.loads(self._store.cipher.decrypt(row["sealed"], _place(row["number"])))
        return found


def _place(number: int) -> str:
    return f"corrections_due/{number}"


def _first_step(target: str | None) -> CorrectionStep:
    return CorrectionStep.REMOVE if target is None else CorrectionStep.CREATE


def _content(entry: Correction) -> dict[str, Any]:
    member = entry.member
    return {
        "take": member.take_id,
        "group": member.group_id,
        "recorded_at": member.recorded_at.isoformat(),
        "jobs": member.job_ids,
        "finished": member.finished,
        "reading": member.reading,
        "source": entry.source,
        "target": entry.target,
        "reason": entry.reason,
        "made_at": entry.made_at.isoformat(),
        "undoes": entry.undoes,
        "settled_at": _text(entry.settled_at),
    }


def _progress(entry: Correction) -> dict[str, Any]:
    return {
        "step": entry.step,
        "attempts": entry.attempts,
        "not_before": _text(entry.not_before),
        "trouble": written_reason(entry.trouble) or "",
        "erased": entry.erased,
    }


def _entry(number: int, document: Mapping[str, Any]) -> Correction:
    member = CorrectedRecording(
        document["take"],
        document["group"],
        datetime.fromisoformat(document["recorded_at"]),
        tuple(document["jobs"]),
        document["finished"],
        document["reading"],
    )
    settled = document["settled_at"] is not None
    return Correction(
        number=number,
        member=member,
        source=document["source"],
        target=document["target"],
        reason=CorrectionReason(document["reason"]),
        made_at=datetime.fromisoformat(document["made_at"]),
        undoes=document["undoes"],
        step=CorrectionStep.SETTLED
        if settled
        else CorrectionStep(document.get("step", _first_step(document["target"]))),
        attempts=document.get("attempts", 0),
        not_before=_moment(document.get("not_before")),
        trouble=read_reason(document.get("trouble", "")) or "",
        settled_at=_moment(document["settled_at"]),
        erased=document.get("erased", False),
    )


def _add_events(known: tuple[Correction | None, ...], events: list[Event]) -> tuple[Correction | None, ...]:
    """Corrections by number, None for one that nobody can read any more."""
    found = list(known)
    for event in events:
        if event.what in _KINDS:
            found.append(None if event.content is None else _entry(len(found) + 1, event.content))
            continue
        index = len(found) if event.content is None else event.content["number"] - 1
        before = found[index] if index < len(found) else None  # gone if somebody has removed events
        if before is not None:
            settled_at = datetime.fromisoformat(event.at)
            found[index] = replace(before, step=CorrectionStep.SETTLED, settled_at=settled_at)
    return tuple(found)


_CORRECTIONS: Projection[tuple[Correction | None, ...]] = Projection(
    (*_KINDS, AuditAction.CORRECTED_AT_SERVICE), (), _add_events
)


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
