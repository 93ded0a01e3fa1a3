"""Corrections of a course, as Result, Subject and Outbox offer them: one question, then the change, then its undo."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.commands import Command, CommandOutcome, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import Failure, TaskContext
from vbdesk.desk.flow.topics import SubjectTopic
from vbdesk.desk.results.result_text import title_of
from vbdesk.desk.ui.notice import NoticeAction
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.language import _, joined, message, ngettext, translated
from vbdesk.outbox.library.corrections import CorrectedRecording, Correction, CorrectionReason
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library, NotAllowed, UnknownTake
from vbdesk.outbox.library.states import OutboxState

_COUNTED_STATES = frozenset({OutboxState.SUBMITTED, OutboxState.RUNNING, OutboxState.DONE})
_REFUSALS = (NotAllowed, UnknownTake, ValueError)


class CorrectionChoice(StrEnum):
    """What a person can do about a recording that does not belong into a course."""

    PUT_BACK = "put_back"
    EXCLUDE = "exclude"
    MOVE = "move"
    ERASE = "erase"


@dataclass(frozen=True, slots=True)
class CorrectionQuestion:
    """What can be corrected about a recording, in words.

    Attributes:
        member: the recording.
        last: number of the last correction of it in force; None if there is none.
        title: which recording.
        offered: what can be done, with the label of its choice.
        sentences: what each does.
        reasons: key and text of each reason.
        subjects: known subjects, to complete from.
    """

    member: CorrectedRecording
    last: int | None
    title: str
    offered: dict[CorrectionChoice, str]
    sentences: dict[CorrectionChoice, str]
    reasons: tuple[tuple[str, str], ...]
    subjects: tuple[str, ...]

    def answer(self, change: CorrectionChoice, reason: str, group_id: str) -> "CorrectionCommand":
        """The command for a choice; `group_id` names the other subject of a move, by id or alias."""
        if change is CorrectionChoice.PUT_BACK and self.last is not None:
            return PutBack(self.title, self.member, self.last)
        why = CorrectionReason(reason)
        if change is CorrectionChoice.MOVE:
            return Move(self.title, self.member, why, group_id)
        if change is CorrectionChoice.EXCLUDE:
            return Exclude(self.title, self.member, why)
        return EraseRecording(self.title, self.member, why)


@dataclass(frozen=True)
class CorrectionRead(Read[CorrectionQuestion]):
    """What can be done about a recording. It is read once for each question."""

    recording: RecordingRoute
    cached = False
    topics = frozenset()

    def here(self, context: DeskContext, before: CorrectionQuestion | None, task: TaskContext) -> CorrectionQuestion:  # noqa: D102
        library = context.library
        member, item = _member(context, self.recording)
        job_id = member.job_ids[0] if member.job_ids else None
        entries = library.corrections.in_force()
        last = next((entry for entry in reversed(entries) if entry.concerns(member.take_id, job_id)), None)
        offered, subject = {}, _shown(library, member.group_id)
        if last is not None:
            offered[CorrectionChoice.PUT_BACK] = _("Put back")
        if item is None or (item.state in _COUNTED_STATES and not item.excluded):
            offered[CorrectionChoice.EXCLUDE] = _("Exclude from this person's course")
        offered[CorrectionChoice.MOVE] = _("Move to another subject")
        if item is not None:
            offered[CorrectionChoice.ERASE] = _("Erase")
        title = _("{subject}: {recording}", subject=subject, recording=title_of(member.recorded_at))
        notes = library.subject_notes
        others = {*library.groups(), *library.responses.trajectories()} - {member.group_id}
        return CorrectionQuestion(
            member,
            None if last is None else last.number,
            title,
            offered,
            _sentences(library, member, last),
            _reasons(),
            tuple(sorted(notes.note_of(group_id).alias or group_id for group_id in others)),
        )


@dataclass(frozen=True)
class CorrectionCommand(Command):
    """A correction of the course of one recording."""

    title: str
    member: CorrectedRecording

    def done(self, context: DeskContext, sentence: str, undo: Command | None, *others: str) -> Done:
        """What a correction did, to this subject and `others`."""
        follows = _("The service gets this correction as soon as it answers.") if self.member.job_ids else ""
        touched = frozenset(SubjectTopic(group_id) for group_id in (self.member.group_id, *others))
        return Done(joined(sentence, follows), touched, undo=undo)


@dataclass(frozen=True)
class PutBack(CorrectionCommand):
    """Take a correction back; `undoes` what was done a moment ago."""

    number: int
    undoes: bool = False
    other: str = ""

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        context.library.corrections.put_back(self.number)
        done = self.done(context, _("Put back."), None, self.other)
        return Done(_("Undone: the recording is where it was."), done.touched) if self.undoes else done


@dataclass(frozen=True)
class Exclude(CorrectionCommand):
    """Leave a recording out of its subject's course."""

    reason: CorrectionReason

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        number = context.library.corrections.exclude(self.member, self.reason).number
        subject = _shown(context.library, self.member.group_id)
        sentence = _("Excluded from the course of {subject}.", subject=subject)
        return self.done(context, sentence, PutBack(self.title, self.member, number, undoes=True))


@dataclass(frozen=True)
class Move(CorrectionCommand):
    """Move a recording to the course of another subject, by id or alias."""

    reason: CorrectionReason
    group_id: str

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        group_id = context.library.subject_notes.group_id_named(self.group_id)
        number = context.library.corrections.move(self.member, group_id, self.reason).number
        undo = PutBack(self.title, self.member, number, undoes=True, other=group_id)
        sentence = _("Moved to {subject}.", subject=_shown(context.library, group_id))
        return self.done(context, sentence, undo, group_id)


@dataclass(frozen=True)
class EraseRecording(CorrectionCommand):
    """Take a recording out of the course, then move it to the trash."""

    reason: CorrectionReason

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        take_id = self.member.take_id
        if take_id is None:
            raise NotAllowed(message("This recording is not on this computer, so it cannot be erased here."))
        number = context.library.erase_from_trajectory(take_id, self.reason)
        subject = _shown(context.library, self.member.group_id)
        return Done(
            _("Moved to the trash, and out of the course of {subject}.", subject=subject),
            frozenset({SubjectTopic(self.member.group_id)}),
            undo=RestoreRecording(self.title, self.member, take_id, number),
        )


@dataclass(frozen=True)
class RestoreRecording(CorrectionCommand):
    """Undo an erasure from a course; `number` is its correction, None if the recording was in no course."""

    take_id: str
    number: int | None

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        context.library.trash.restore(self.take_id)
        if self.number is not None:
            context.library.corrections.put_back(self.number)
        touched = frozenset({SubjectTopic(self.member.group_id)})
        return Done(_("Undone: the recording is where it was."), touched)


@dataclass(frozen=True, slots=True)
class CorrectionDone:
    """What was done about which recording, as a sentence, and what undoes it, if anything can."""

    title: str
    sentence: str
    undo: Callable[[], object] | None

    def undo_action(self) -> NoticeAction | None:
        """The button that undoes this change; None if nothing can."""
        return None if self.undo is None else NoticeAction(_("Undo"), self.undo)


class CorrectionActions(QObject):
    """Asks about one recording, and corrects its course.

    Signals:
        asked: (CorrectionQuestion) what can be done.
        answered: what was asked about last was done.
        changed: (CorrectionDone) something was done.
        refused: (str) why it was not, and what to do.
    """

    asked = Signal(object)
    answered = Signal()
    changed = Signal(object)
    refused = Signal(str)

    def __init__(self, flow: Flow) -> None:
        super().__init__()
        self._screen = flow.screen(self)
        self._screen.changed.connect(self._show)
        self._screen.ended.connect(self._on_answered)

    def ask(self, recording: RecordingRoute) -> None:
        """Find out what can be done about a recording, and ask."""
        self._screen.show(CorrectionRead(recording))

    @Slot(str, str, str)
    def do(self, change: str, reason: str, group_id: str = "") -> None:
        """Do one of the changes that were asked about.

        Args:
            change: which `CorrectionChoice`.
            reason: key of the reason; empty for putting back, which follows from the change that it undoes.
            group_id: the other subject of a move, by id or alias.
        """
        question = self._screen.of(CorrectionRead).value
        if question is not None:
            command = question.answer(CorrectionChoice(change), reason, group_id.strip())
            self._screen.do(command).ended.connect(self._on_ended)

    @Slot()
    def withdraw(self) -> None:
        """What was asked is done or given up, and is not asked again."""
        self._screen.drop(CorrectionRead)

    def forget(self) -> None:
        """The page is left: nothing is asked any more."""
        self._screen.clear()

    def _undo(self, command: CorrectionCommand) -> None:
        self._screen.do(command).ended.connect(self._on_ended)

    @Slot()
    def _show(self) -> None:
        snapshot = self._screen.of(CorrectionRead)
        if snapshot.unreadable is not None:
            self.refused.emit(_refusal(snapshot.unreadable))
        elif snapshot.value is not None:
            self.asked.emit(snapshot.value)

    @Slot(object)
    def _on_answered(self, outcome: CommandOutcome) -> None:
        if outcome.failure is None:
            self.answered.emit()

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        if outcome.failure is not None:
            self.refused.emit(_refusal(outcome.failure))
            return
        undo = outcome.done.undo
        undo_it = partial(self._undo, undo) if isinstance(undo, CorrectionCommand) else None
        self.changed.emit(CorrectionDone(outcome.command.title, outcome.sentence, undo_it))


def _refusal(failure: Failure) -> str:
    return translated(failure.error) if isinstance(failure.error, _REFUSALS) else failure.sentence


def _member(context: DeskContext, recording: RecordingRoute) -> tuple[CorrectedRecording, RecordingItem | None]:
    """A recording of this computer, or one that only the service has."""
    if recording.take_id is not None:
        item: RecordingItem | None = context.library.get(recording.take_id)
    else:
        item = None if recording.job_id is None else context.library.of_job(recording.job_id)
    if item is not None:
        return context.library.corrections.member(item.take_id), item
    entries = context.library.corrections.in_force()
    entered = next((entry.member for entry in entries if entry.concerns(None, recording.job_id)), None)
    history = context.results.history(recording.group_id or "")
    points = [] if history is None else history.value.data_points
    point = next((point for point in points if point.job_id == recording.job_id), None)
    if point is None and entered is not None:
        return entered, None
    if recording.job_id is None or recording.group_id is None or point is None:
        raise NotAllowed(
            message("This recording is not in the course of its subject as it was last read. Open it again.")
        )
    reading = point.model_dump(mode="json")
    at = point.recorded_at
    return CorrectedRecording(None, recording.group_id, at, (recording.job_id,), recording.job_id, reading), None


def _sentences(library: Library, member: CorrectedRecording, last: Correction | None) -> dict[CorrectionChoice, str]:
    subject, days = _shown(library, member.group_id), library.settings().trash_days
    kept_text = ngettext(
        "The recording and its result are deleted here: they go to the trash for {count} day, then their keys are "
        "destroyed. It leaves the course of {subject}.",
        "The recording and its result are deleted here: they go to the trash for {count} days, then their keys are "
        "destroyed. It leaves the course of {subject}.",
        days,
        subject=subject,
    )
    if library.erasures is not None:
        service = _("The service on this computer then erases its analysis too.")
    elif member.job_ids:
        service = _("The service keeps its analysis: it offers no way to delete one.")
    else:
        service = _("The service does not have it.")
    if last is not None and last.target is None:
        back = _("It counts in the course of {subject} again.", subject=_shown(library, last.source or member.group_id))
    else:
        back = _("It returns to {subject}.", subject=subject if last is None else _shown(library, last.member.group_id))
    return {
        CorrectionChoice.PUT_BACK: back,
        CorrectionChoice.EXCLUDE: _(
            "It stays a recording of {subject}, with its result and its sound, but it is left out of charts, "
            "baseline and counts. It can be put back.",
            subject=subject,
        ),
        CorrectionChoice.MOVE: _(
            "It leaves the course of {subject} and counts in the course of the other subject. Both courses are "
            "computed again. It can be put back.",
            subject=subject,
        ),
        CorrectionChoice.ERASE: joined(kept_text, service),
    }


def _reasons() -> tuple[tuple[str, str], ...]:
    texts = {
        CorrectionReason.WRONG_PERSON: _("Another person speaks"),
        CorrectionReason.UNUSUAL_DAY: _("Unusual circumstances, such as a cold"),
        CorrectionReason.POOR_SOUND: _("The sound is poor"),
        CorrectionReason.TEST: _("It was a test"),
        CorrectionReason.ON_REQUEST: _("The person asked for it"),
        CorrectionReason.MISTAKE: _("A correction was a mistake"),
        CorrectionReason.OTHER: _("Another reason"),
    }
    return tuple((reason.value, text) for reason, text in texts.items())


def _shown(library: Library, group_id: str) -> str:
    return library.subject_notes.shown(group_id).text
