"""Rows of the Outbox's trash: deleted recordings, until when they can be restored. No Qt widgets."""

import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from vbdesk.desk.ui.cells import ButtonCell, Cell, LabelCell, StateCell, TwoLineCell
from vbdesk.desk.ui.time_text import day_and_time
from vbdesk.language import _, ngettext, translated
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.subject_names import ShownSubject
from vbdesk.outbox.library.subject_notes import SubjectNotes
from vbdesk.outbox.library.trash import TrashedRecording


@dataclass(frozen=True)
class TrashRow:
    """One deleted recording; its cells are made on first paint."""

    trashed: TrashedRecording
    now: datetime = field(compare=False)
    days_left: int | None
    subject: ShownSubject | None = None

    @classmethod
    def of(cls, trashed: TrashedRecording, now: datetime, notes: SubjectNotes | None = None) -> "TrashRow":
        """The row of a recording as it reads `now`; `notes` give the subject's name."""
        item = trashed.item
        subject = None if notes is None or item is None else notes.shown(item.group_id)
        if trashed.destroyed_at is None:
            return cls(trashed, now, None, subject)
        days_left = max(0, math.ceil((trashed.destroyed_at - now) / timedelta(days=1)))
        return cls(trashed, now, days_left, subject)

    @property
    def key(self) -> str:
        """Its take id."""
        return self.trashed.take_id

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Subject, state before the deletion, when it was deleted, time left, button."""
        item, deleted_at = self.trashed.item, self.trashed.deleted_at
        if item is None or deleted_at is None:
            unknown = TwoLineCell(_("Unknown subject"), "")
            state = StateCell(OutboxState.NEEDS_ATTENTION)
            return unknown, state, LabelCell(translated(self.trashed.fault or "")), LabelCell(""), ButtonCell("")
        return (
            TwoLineCell(
                item.group_id if self.subject is None else self.subject.text, day_and_time(item.recorded_at, self.now)
            ),
            StateCell(item.state),
            LabelCell(_("Deleted: {when}", when=day_and_time(deleted_at, self.now))),
            LabelCell(_left_text(self.days_left), ink="text2"),
            ButtonCell(_("Restore")),
        )


def _left_text(days: int | None) -> str:
    if days is None:
        return ""
    if days == 0:
        return _("destroyed soon")
    return ngettext("{count} day left", "{count} days left", days)
