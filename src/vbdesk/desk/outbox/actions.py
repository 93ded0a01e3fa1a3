"""Actions on recordings of the Outbox, with their confirmations and undo."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.commands import Command, CommandOutcome, Done
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.outbox.commands import (
    AcceptCopy,
    ChangeEach,
    MoveToTrash,
    Remove,
    Step,
    TakeBack,
)
from vbdesk.desk.outbox.reads import Deletion, RemovedHere, UnconfirmedRead, UndoableRead
from vbdesk.desk.outbox.rows import RowAction, RowContext, row_action
from vbdesk.desk.ui.notice import Notice, NoticeAction, Tone, close_action
from vbdesk.language import _, joined, message, ngettext, translated
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.pending_erasures import ErasureScope
from vbdesk.outbox.library.recording_time import clock_text
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.library.trash import TrashedRecording

ABOUT_SELECTION = "selection"  # topic of questions that end when other recordings are chosen

_S = OutboxState

STEPS = {
    RowAction.SEND: Step.QUEUE,
    RowAction.SEND_NOW: Step.SEND_NOW,
    RowAction.RETRY: Step.RETRY,
    RowAction.CANCEL: Step.CANCEL,
}
"""The actions of a row that nobody has to confirm."""

_SENDING = STEPS.keys() - {RowAction.CANCEL}


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected recordings, grouped by the actions that apply.

    Attributes:
        send: on hold, ended without a result, or waiting for the user; each with the step that sends it.
        search: the service may have them, and can be asked again.
        cancel: queued and not sent yet.
        hand_over: can be exported in a bundle for another computer.
        take_back: exported in such a bundle.
        delete: can be deleted.
        undoable: those of `delete` that the trash keeps.
        with_result: those of `delete` that keep a result if only their sound is removed.
        restore: can be restored from the trash.
        destroy: are in the trash.
        correct: their subject's course can be corrected.
    """

    chosen: tuple[str, ...] = ()
    send: tuple[tuple[str, Step], ...] = ()
    search: tuple[str, ...] = ()
    cancel: tuple[str, ...] = ()
    hand_over: tuple[str, ...] = ()
    take_back: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    undoable: tuple[str, ...] = ()
    with_result: tuple[str, ...] = ()
    restore: tuple[str, ...] = ()
    destroy: tuple[str, ...] = ()
    correct: tuple[str, ...] = ()


def trash_selection(trashed: Iterable[TrashedRecording]) -> Selection:
    """Actions that apply to these recordings of the trash."""
    chosen = list(trashed)
    keys = tuple(each.take_id for each in chosen)
    return Selection(keys, restore=tuple(each.take_id for each in chosen if each.fault is None), destroy=keys)


def selection_of(items: Iterable[RecordingItem], context: RowContext) -> Selection:
    """Actions that apply to these recordings."""
    chosen = list(items)

    def keys(fits: Callable[[RecordingItem], bool]) -> tuple[str, ...]:
        return tuple(item.take_id for item in chosen if fits(item))

    actions = [(item.take_id, row_action(item, context)) for item in chosen]
    return Selection(
        chosen=keys(lambda item: True),
        send=tuple((take_id, STEPS[action]) for take_id, action in actions if action in _SENDING),
        search=keys(lambda item: item.fix is Fix.SEND_AGAIN and item.asked),
        cancel=keys(lambda item: item.state in (_S.WAITING, _S.UPLOADING) and not item.asked),
        hand_over=keys(lambda item: item.state is _S.WAITING or (item.state is _S.UPLOADING and not item.asked)),
        take_back=keys(lambda item: item.state is _S.HANDED_OVER),
        delete=keys(_deletable),
        undoable=keys(lambda item: _deletable(item) and item.fault is None),
        with_result=keys(_keeps_result),
        correct=keys(_correctable),
    )


def _deletable(item: RecordingItem) -> bool:
    resting = item.state not in (_S.UPLOADING, _S.SUBMITTED, _S.RUNNING, _S.HANDED_OVER)
    return resting and not item.unanswered


def _correctable(item: RecordingItem) -> bool:
    at_rest = item.state not in (_S.UPLOADING, _S.HANDED_OVER)
    return at_rest and not item.asked and item.fault is None and (item.bundle_id is None or item.job_id is not None)


def _keeps_result(item: RecordingItem) -> bool:
    with_both = item.encrypted_result is not None and item.audio_gone_at is None
    return item.state is _S.DONE and with_both and item.fault is None


@dataclass(frozen=True, slots=True)
class TimeQuestion:
    """Which time of a recording is right.

    Attributes:
        subject: how the subject is shown; empty for its id.
        sentence: why it is asked.
        present_text: its present time, from the clock or corrected.
        original_text: the time before a correction; empty if there was none.
        suggested, suggested_text: the correct time by the service's clock, if known.
        correctable: no service has the recording with its present time.
    """

    take_id: str
    group_id: str
    sentence: str
    present_text: str
    suggested: datetime | None
    suggested_text: str
    original_text: str
    correctable: bool
    subject: str = ""


class OutboxActions(QObject):
    """Gives commands for recordings; asks first where a person should decide.

    Signals:
        noticed: (Notice) what to show.
        time_asked: (TimeQuestion) the user has to decide which time of a recording is right.
        undo_changed: (Notice | None) the offer to undo the last deletion.
    """

    noticed = Signal(object)
    time_asked = Signal(object)
    undo_changed = Signal(object)

    def __init__(self, flow: Flow) -> None:
        super().__init__()
        self._flow, self._erasures = flow, flow.erasures
        self._screen = flow.screen(self)
        self._screen.changed.connect(self._show)
        if self._erasures is not None:
            self._erasures.failed.connect(self._on_not_confirmed)

    def do(self, command: Command) -> None:
        """Give a command, and say what became of it."""
        self._flow.commands.do(command).ended.connect(self._on_ended)

    def ask_to_accept_copy(self) -> None:
        """Ask whether to accept the list after an older copy was restored or the list was changed."""
        question = _(
            "Go on with this list? Recordings that are missing from it stay missing. Subjects that were erased since "
            "an older copy was made are in it again: erase them again. The audit log keeps that you accepted it."
        )
        accept = NoticeAction(_("Accept this list"), partial(self.do, AcceptCopy()))
        self.noticed.emit(Notice(Tone.WARN, question, (accept,)))

    def delete(self, choice: Selection) -> None:
        """Move recordings to the trash; ask first about those that it does not keep."""
        take_ids = choice.delete
        others = _why_others_stay(choice)
        if not take_ids:
            self._warn(others)
        elif take_ids != choice.undoable:
            self._ask(
                f"{self._question(len(take_ids))} {others}",
                (_("Delete for good"), partial(self.do, Remove(take_ids, ErasureScope.EVERYTHING))),
            )
        elif self._erasures is not None and choice.with_result == take_ids:
            self._ask(
                _(
                    "The sound only, or everything? The sound only: it is destroyed now, here and at the service "
                    "on this computer, and the result stays. Everything: it goes to the trash first."
                )
                + f" {others}",
                (_("Everything"), partial(self.do, MoveToTrash(take_ids))),
                (_("The sound only"), partial(self.do, Remove(take_ids, ErasureScope.SOUND))),
            )
        else:
            self.do(MoveToTrash(take_ids))
            if others:
                self._warn(others)

    def forget_undo(self) -> None:
        """Offer no undo any more; the recordings stay in the trash."""
        self._screen.drop(UndoableRead)
        self.undo_changed.emit(None)

    def ask_to_destroy(self, take_ids: Collection[str]) -> None:
        """Ask before recordings in the trash are destroyed."""
        if take_ids:
            self._ask(
                self._question(len(take_ids)),
                (_("Destroy now"), partial(self.do, Remove(tuple(take_ids), ErasureScope.EVERYTHING))),
            )

    def ask_for_time(self, item: RecordingItem) -> None:
        """Ask which time of a recording is right."""
        suggested = None if item.time_doubt is None else item.time_doubt.suggested
        self.time_asked.emit(
            TimeQuestion(
                take_id=item.take_id,
                group_id=item.group_id,
                subject=self._flow.context.library.subject_notes.shown(item.group_id).text,
                sentence=translated(item.reason or _corrected_sentence(item)),
                present_text=_entered_text(item.recorded_at),
                suggested=suggested,
                suggested_text="" if suggested is None else _entered_text(suggested),
                original_text="" if item.original_time is None else _entered_text(item.original_time),
                correctable=item.bundle_id is None and not item.asked,
            )
        )

    def ask_to_send_again(self, item: RecordingItem) -> None:
        """Ask before sending a recording that the service may have: it may be charged twice."""
        subject = self._flow.context.library.subject_notes.shown(item.group_id).text
        question = _(
            "{subject}: send this recording again? If the service has it already, it is analysed and charged a "
            "second time. The recording is kept here in any case.",
            subject=subject,
        )
        self._ask(question, (_("Send again"), partial(self.do, ChangeEach.alike(Step.SEND_AGAIN, [item.take_id]))))

    def _undo(self, deletion: Deletion) -> Notice:
        sentence = ngettext(
            "{count} recording is in the trash. Days until its keys are destroyed: {days}.",
            "{count} recordings are in the trash. Days until their keys are destroyed: {days}.",
            len(deletion.take_ids),
            days=deletion.days,
        )
        restore = ChangeEach.alike(Step.RESTORE, deletion.take_ids)
        action = NoticeAction(_("Undo"), partial(self.do, restore), stays=True)
        return Notice(Tone.INFO, sentence, (action, close_action()), closed=self.forget_undo)

    def _question(self, count: int) -> str:
        return _question(count) if self._erasures is None else _question_of_all(count)

    def _ask(self, question: str, *answers: tuple[str, Callable[[], None]]) -> None:
        """Ask about the selection."""
        actions = tuple(NoticeAction(label, run) for label, run in answers)
        self.noticed.emit(Notice(Tone.WARN, question.strip(), actions, topic=ABOUT_SELECTION))

    def _warn(self, sentence: str) -> None:
        self.noticed.emit(Notice(Tone.WARN, sentence, (close_action(),)))

    def _report(self, sentence: str) -> None:
        self.noticed.emit(Notice(Tone.OK, sentence, (close_action(),)))

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        done = outcome.done
        if outcome.failure is None:
            match outcome.command:
                case TakeBack():
                    self._tell_taken_back(done)
                case MoveToTrash(take_ids) if take_ids and isinstance(done.found, int):
                    read = self._screen.read(UndoableRead)
                    before = () if read is None else read.deletions
                    self._screen.add(UndoableRead((*before, Deletion(take_ids, done.found))))
                case Remove():
                    self._tell_removed(done)
        if outcome.sentence:
            self._warn(outcome.sentence)

    def _tell_taken_back(self, done: Done) -> None:
        if isinstance(done.found, int):
            sentence = ngettext(
                "{count} recording is queued on this computer again. The service is asked first, so that it is "
                "not sent twice.",
                "{count} recordings are queued on this computer again. The service is asked first, so that none is "
                "sent twice.",
                done.found,
            )
            self._report(sentence)

    def _tell_removed(self, done: Done) -> None:
        """Erase at the local service too, after the keys here are destroyed."""
        removed = done.found
        if not isinstance(removed, RemovedHere):
            return
        if removed.at_service and self._erasures is not None:
            read = self._screen.read(UnconfirmedRead)
            self._screen.add(UnconfirmedRead((*(() if read is None else read.removed), removed)))
            self._report(_gone_text(len(removed.take_ids), removed.what))
            self._erasures.run()
        else:
            self._report(_destroyed_text(len(removed.take_ids), removed.what))

    @Slot()
    def _show(self) -> None:
        read, undoable = self._screen.read(UnconfirmedRead), self._screen.of(UndoableRead).value
        if undoable is not None:
            self.undo_changed.emit(self._undo(undoable[-1]) if undoable else None)
        if read is not None and self._screen.of(UnconfirmedRead).value == 0:
            self._screen.drop(UnconfirmedRead)
            what = {each.what for each in read.removed}
            scope = ErasureScope.EVERYTHING if ErasureScope.EVERYTHING in what else ErasureScope.SOUND
            self._report(_destroyed_text(len(read.at_service), scope, at_service=True))

    @Slot(str)
    def _on_not_confirmed(self, sentence: str) -> None:
        if self._screen.read(UnconfirmedRead) is not None:
            self._warn(sentence)


def _why_others_stay(choice: Selection) -> str:
    """Why some of the chosen recordings, or all, cannot be deleted; empty if all can."""
    left = set(choice.chosen) - set(choice.delete)
    if not left:
        return ""
    if left == set(choice.take_back):
        why = _("Another computer is to send what was handed over. Take it back, then delete it.")
    else:
        why = _("What is being sent or analysed cannot be deleted now. Wait for its result.")
    count, all_count = len(left), len(choice.chosen)
    if count == all_count:
        return why
    could_not = ngettext(
        "{count:,} of {all:,} could not be changed.", "{count:,} of {all:,} could not be changed.", count, all=all_count
    )
    return f"{could_not} {why}"


def _question(count: int) -> str:
    return ngettext(
        "Delete this recording for good? The sound and its key are destroyed, and nobody can bring them back. What the "
        "service has stays there.",
        "Delete {count:,} recordings for good? The sound and their keys are destroyed, and nobody can bring them back. "
        "What the service has stays there.",
        count,
    )


def _question_of_all(count: int) -> str:
    return ngettext(
        "Delete this recording for good, here and at the service on this computer? The sound and its key are "
        "destroyed, jobs and results go too, and nobody can bring them back.",
        "Delete {count:,} recordings for good, here and at the service on this computer? The sound and their keys are "
        "destroyed, jobs and results go too, and nobody can bring them back.",
        count,
    )


def _gone_text(count: int, what: ErasureScope) -> str:
    if what is ErasureScope.EVERYTHING:
        return ngettext(
            "{count:,} recording deleted here. The service on this computer erases it now.",
            "{count:,} recordings deleted here. The service on this computer erases it now.",
            count,
        )
    return ngettext(
        "Sound of {count:,} recording removed here. The service on this computer erases it now.",
        "Sound of {count:,} recordings removed here. The service on this computer erases it now.",
        count,
    )


def _destroyed_text(count: int, what: ErasureScope, *, at_service: bool = False) -> str:
    match what is ErasureScope.EVERYTHING, at_service:
        case True, True:
            return ngettext(
                "{count:,} recording deleted, here and at the service on this computer. Its key is destroyed: "
                "nobody can open the sound again.",
                "{count:,} recordings deleted, here and at the service on this computer. Their keys are "
                "destroyed: nobody can open the sound again.",
                count,
            )
        case True, False:
            return ngettext(
                "{count:,} recording deleted. Its key is destroyed: nobody can open the sound on this computer again.",
                "{count:,} recordings deleted. Their keys are destroyed: nobody can open the sound on this computer "
                "again.",
                count,
            )
        case _, True:
            return ngettext(
                "Sound of {count:,} recording removed, here and at the service on this computer. Its key is destroyed: "
                "nobody can open the sound again.",
                "Sound of {count:,} recordings removed, here and at the service on this computer. Their keys are "
                "destroyed: nobody can open the sound again.",
                count,
            )
    return ngettext(
        "Sound of {count:,} recording removed. Its key is destroyed: nobody can open the sound on this computer again.",
        "Sound of {count:,} recordings removed. Their keys are destroyed: nobody can open the sound on this computer "
        "again.",
        count,
    )


def _corrected_sentence(item: RecordingItem) -> str:
    """Explanation for a recording whose time was corrected before."""
    if item.original_time is None:
        return ""
    before, now = clock_text(item.original_time, item.recorded_at)
    return joined(
        message("The time of this recording was corrected from {original} to {noted}.", original=before, noted=now),
        message("Choose the time to send it with."),
    )


def _entered_text(moment: datetime) -> str:
    """As a person would enter it."""
    return clock_text(moment)[0]
