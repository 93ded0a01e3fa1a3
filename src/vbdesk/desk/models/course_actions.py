"""Corrections of a course, as Result, Subject and Outbox offer them: one question, then the change, then its undo."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.models.result_text import title_of
from vbdesk.desk.tasks import Failure, Task, TaskContext, TaskOwner
from vbdesk.desk.ui.notice import NoticeAction
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.language import _, joined, message, ngettext, translated
from vbdesk.outbox.library.course_corrections import CorrectionReason, CourseCorrection, CourseMember
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library, NotAllowed, UnknownTake
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.results.repository import ResultRepository

_IN_COURSE = frozenset({OutboxState.SUBMITTED, OutboxState.RUNNING, OutboxState.DONE})
_REFUSALS = (NotAllowed, UnknownTake, ValueError)


class CourseChange(StrEnum):
    """What a person can do about a recording that does not belong into a course."""

    PUT_BACK = "put_back"
    EXCLUDE = "exclude"
    MOVE = "move"
    ERASE = "erase"


@dataclass(frozen=True, slots=True)
class CourseQuestion:
    """What can be corrected about a recording, in words.

    Attributes:
        title: which recording.
        offered: what can be done, with the label of its choice.
        sentences: what each does.
        reasons: key and text of each reason.
        subjects: known subjects, to complete from.
    """

    title: str
    offered: dict[CourseChange, str]
    sentences: dict[CourseChange, str]
    reasons: tuple[tuple[str, str], ...]
    subjects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CourseChanged:
    """What was done about which recording, as a sentence, and what undoes it, if anything can."""

    title: str
    sentence: str
    undo: Callable[[], None] | None

    def undo_action(self) -> NoticeAction | None:
        """The button that undoes this change; None if nothing can."""
        return None if self.undo is None else NoticeAction(_("Undo"), self.undo)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The recording in question."""

    member: CourseMember
    item: RecordingItem | None
    last: CourseCorrection | None
    question: CourseQuestion


@dataclass(frozen=True, slots=True)
class _Done:
    """A change that was made, and how to undo it."""

    sentence: str
    undo: Callable[[], object] | None


class CourseActions(QObject):
    """Asks about one recording, and corrects its course.

    Signals:
        asked: (CourseQuestion) what can be done.
        changed: (CourseChanged) it was done.
        refused: (str) why it was not, and what to do.
    """

    asked = Signal(object)
    changed = Signal(object)
    refused = Signal(str)

    def __init__(self, library: Library, results: ResultRepository, tasks: TaskOwner) -> None:
        super().__init__()
        self._library, self._results, self._tasks = library, results, tasks
        self._asked: _Asked | None = None
        self._question_task: Task | None = None

    def ask(self, recording: RecordingRoute) -> None:
        """Find out what can be done about a recording, and ask."""

        def work(context: TaskContext) -> _Asked:
            return self._question(recording)

        self._question_task = self._tasks.start(work, self._on_asked, self._on_failed, name="course-question")

    def do(self, change: CourseChange, reason: str, group_id: str = "") -> None:
        """Do one of the changes that were asked about.

        Args:
            change: which.
            reason: key of the reason; empty for putting back, which follows from the change that it undoes.
            group_id: the other subject of a move, by id or alias.
        """
        asked = self._asked
        if asked is not None:
            self._start(asked.question.title, lambda: self._change(asked, change, reason, group_id.strip()))

    def forget(self) -> None:
        """The page is left: nothing is asked any more."""
        self._asked = self._question_task = None

    def _start(self, title: str, work: Callable[[], _Done]) -> None:
        """The outcome names the recording: when the change has ended, the page may show another one."""

        def task(context: TaskContext) -> CourseChanged:
            done = work()
            undo = None if done.undo is None else partial(self._start, title, partial(self._undone, done.undo))
            return CourseChanged(title, done.sentence, undo)

        self._tasks.start(task, self._on_changed, self._on_failed, name="course-change")

    # On a worker

    def _question(self, recording: RecordingRoute) -> _Asked:
        member, item = self._member(recording)
        job_id = member.job_ids[0] if member.job_ids else None
        entries = self._library.corrections.in_force()
        last = next((entry for entry in reversed(entries) if entry.concerns(member.take_id, job_id)), None)
        offered, subject = {}, self._shown(member.group_id)
        if last is not None:
            offered[CourseChange.PUT_BACK] = _("Put back")
        if item is None or (item.state in _IN_COURSE and not item.excluded):
            offered[CourseChange.EXCLUDE] = _("Exclude from this person's course")
        offered[CourseChange.MOVE] = _("Move to another subject")
        if item is not None:
            offered[CourseChange.ERASE] = _("Erase")
        title = _("{subject}: {recording}", subject=subject, recording=title_of(member.recorded_at))
        notes = self._library.subject_notes
        others = {*self._library.groups(), *self._library.responses.trajectories()} - {member.group_id}
        groups = sorted(notes.note_of(group_id).alias or group_id for group_id in others)
        question = CourseQuestion(title, offered, self._sentences(member, last), self._reasons(), tuple(groups))
        return _Asked(member, item, last, question)

    def _member(self, recording: RecordingRoute) -> tuple[CourseMember, RecordingItem | None]:
        """A recording of this computer, or one that only the service has."""
        if recording.take_id is not None:
            item: RecordingItem | None = self._library.get(recording.take_id)
        else:
            item = None if recording.job_id is None else self._library.of_job(recording.job_id)
        if item is not None:
            return self._library.corrections.member(item.take_id), item
        entries = self._library.corrections.in_force()
        kept = next((entry.member for entry in entries if entry.concerns(None, recording.job_id)), None)
        history = self._results.history(recording.group_id or "")
        points = [] if history is None else history.value.data_points
        point = next((point for point in points if point.job_id == recording.job_id), None)
        if point is None and kept is not None:
            return kept, None
        if recording.job_id is None or recording.group_id is None or point is None:
            raise NotAllowed(
                message("This recording is not in the course of its subject as it was last read. Open it again.")
            )
        reading = point.model_dump(mode="json")
        at = point.recorded_at
        return CourseMember(None, recording.group_id, at, (recording.job_id,), recording.job_id, reading), None

    def _sentences(self, member: CourseMember, last: CourseCorrection | None) -> dict[CourseChange, str]:
        subject, days = self._shown(member.group_id), self._library.settings().trash_days
        kept = ngettext(
            "The recording and its result are deleted here: they go to the trash for {count} day, then their keys are "
            "destroyed. It leaves the course of {subject}.",
            "The recording and its result are deleted here: they go to the trash for {count} days, then their keys are "
            "destroyed. It leaves the course of {subject}.",
            days,
            subject=subject,
        )
        if self._library.erasures is not None:
            service = _("The service on this computer then erases its analysis too.")
        elif member.job_ids:
            service = _("The service keeps its analysis: it offers no way to delete one.")
        else:
            service = _("The service does not have it.")
        if last is not None and last.target is None:
            back = _("It counts in the course of {subject} again.", subject=self._shown(last.source or member.group_id))
        else:
            back = _("It returns to {subject}.", subject=subject if last is None else self._shown(last.member.group_id))
        return {
            CourseChange.PUT_BACK: back,
            CourseChange.EXCLUDE: _(
                "It stays a recording of {subject}, with its result and its sound, but it is left out of charts, "
                "baseline and counts. It can be put back.",
                subject=subject,
            ),
            CourseChange.MOVE: _(
                "It leaves the course of {subject} and counts in the course of the other subject. Both courses are "
                "computed again. It can be put back.",
                subject=subject,
            ),
            CourseChange.ERASE: joined(kept, service),
        }

    def _reasons(self) -> tuple[tuple[str, str], ...]:
        words = {
            CorrectionReason.WRONG_PERSON: _("Another person speaks"),
            CorrectionReason.UNUSUAL_DAY: _("Unusual circumstances, such as a cold"),
            CorrectionReason.POOR_SOUND: _("The sound is poor"),
            CorrectionReason.TEST: _("It was a test"),
            CorrectionReason.ON_REQUEST: _("The person asked for it"),
            CorrectionReason.MISTAKE: _("A correction was a mistake"),
            CorrectionReason.OTHER: _("Another reason"),
        }
        return tuple((reason.value, text) for reason, text in words.items())

    def _change(self, asked: _Asked, change: CourseChange, key: str, group_id: str) -> _Done:
        corrections, member = self._library.corrections, asked.member
        if change is CourseChange.PUT_BACK and asked.last is not None:
            corrections.put_back(asked.last.number)
            return _Done(joined(_("Put back."), self._follows(member)), None)
        reason = CorrectionReason(key)
        if change is CourseChange.MOVE:
            group_id = self._library.subject_notes.group_id_named(group_id)
            entry = corrections.move(member, group_id, reason)
            done = _("Moved to {subject}.", subject=self._shown(group_id))
        elif change is CourseChange.EXCLUDE:
            entry = corrections.exclude(member, reason)
            done = _("Excluded from the course of {subject}.", subject=self._shown(group_id or member.group_id))
        else:
            return self._erase(asked, reason)
        return _Done(joined(done, self._follows(member)), lambda: corrections.put_back(entry.number))

    def _erase(self, asked: _Asked, reason: CorrectionReason) -> _Done:
        """Take it out of the course, then move it to the trash."""
        library, take_id = self._library, asked.member.take_id
        if take_id is None or asked.item is None:
            raise NotAllowed(message("This recording is not on this computer, so it cannot be erased here."))
        number = library.erase_from_course(take_id, reason)

        def undo() -> None:
            library.trash.restore(take_id)
            if number is not None:
                library.corrections.put_back(number)

        subject = self._shown(asked.member.group_id)
        return _Done(_("Moved to the trash, and out of the course of {subject}.", subject=subject), undo)

    def _shown(self, group_id: str) -> str:
        return self._library.subject_notes.shown(group_id).words

    def _follows(self, member: CourseMember) -> str:
        return _("The service gets this correction as soon as it answers.") if member.job_ids else ""

    def _undone(self, undo: Callable[[], object]) -> _Done:
        undo()
        return _Done(_("Undone: the recording is where it was."), None)

    # Back on the GUI thread

    @Slot(object)
    def _on_asked(self, asked: _Asked) -> None:
        if self.sender() is not self._question_task:  # the page was left, or another recording was asked about since
            return
        self._asked = asked
        self.asked.emit(asked.question)

    @Slot(object)
    def _on_changed(self, changed: CourseChanged) -> None:
        self.changed.emit(changed)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.refused.emit(translated(failure.error) if isinstance(failure.error, _REFUSALS) else failure.sentence)
