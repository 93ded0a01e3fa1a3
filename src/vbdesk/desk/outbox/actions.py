"""Actions on recordings of the Outbox, with their confirmations and undo."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.models.service_erasures import ServiceErasures
from vbdesk.desk.outbox.rows import RowAction, RowContext, row_action
from vbdesk.desk.tasks import Failure, Lane, TaskContext, TaskOwner
from vbdesk.language import Message, _, joined, message, ngettext, plural_message, translated
from vbdesk.outbox.bundles.bundle_export import take_back
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library, NotAllowed, UnknownTake
from vbdesk.outbox.library.pending_erasures import ErasureScope, PendingErasure
from vbdesk.outbox.library.recording_time import clock_words
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.library.trash import TrashedRecording

_S = OutboxState

_SENDING = {RowAction.SEND, RowAction.SEND_NOW, RowAction.RETRY}


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected recordings, grouped by the actions that apply.

    Attributes:
        send: on hold, ended without a result, or waiting for the user.
        look: the service may have them, and can be asked again.
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
    send: tuple[str, ...] = ()
    look: tuple[str, ...] = ()
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


def selection_of(items: Iterable[RecordingItem], around: RowContext) -> Selection:
    """Actions that apply to these recordings."""
    chosen = list(items)

    def keys(fits: Callable[[RecordingItem], bool]) -> tuple[str, ...]:
        return tuple(item.take_id for item in chosen if fits(item))

    return Selection(
        chosen=keys(lambda item: True),
        send=keys(lambda item: row_action(item, around) in _SENDING),
        look=keys(lambda item: item.fix is Fix.SEND_AGAIN and item.asked),
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


class ActionStep(StrEnum):
    """What the button of a notice does."""

    CLOSE = "close"
    MOVE_TO_TRASH = "move_to_trash"
    DELETE = "delete"
    DESTROY = "destroy"
    REMOVE_SOUND = "remove_sound"
    SEND_AGAIN = "send_again"
    ACCEPT_COPY = "accept_copy"


@dataclass(frozen=True, slots=True)
class Notice:
    """The outcome of an action, or a question before it; `act` is the label of its button.

    Attributes:
        other, other_step: label of a second button, empty for none, and its action.
    """

    sentence: str
    act: str = field(default_factory=lambda: _("Close"))
    step: ActionStep = ActionStep.CLOSE
    warning: bool = True
    other: str = ""
    other_step: ActionStep = ActionStep.CLOSE


@dataclass(frozen=True, slots=True)
class TimeQuestion:
    """Which time of a recording is right.

    Attributes:
        subject: how the subject is shown; empty for its id.
        sentence: why it is asked.
        present_words: its present time, from the clock or corrected.
        original_words: the time before a correction; empty if there was none.
        suggested, suggested_words: the correct time by the service's clock, if known.
        correctable: no service has the recording with its present time.
    """

    take_id: str
    group_id: str
    sentence: str
    present_words: str
    suggested: datetime | None
    suggested_words: str
    original_words: str
    correctable: bool
    subject: str = ""


@dataclass(frozen=True, slots=True)
class _Removed:
    """Recordings removed here, and those that the local service still has."""

    what: ErasureScope
    take_ids: tuple[str, ...]
    at_service: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Trashed:
    """Recordings that were moved to the trash together, and for how many days it keeps them."""

    take_ids: tuple[str, ...]
    days: int


@dataclass(frozen=True, slots=True)
class _Restored:
    """Recordings that are no longer in the trash, and why others still are."""

    gone: frozenset[str]
    refused: str


class OutboxActions(QObject):
    """Runs actions on recordings, each in a task.

    Signals:
        noticed: (Notice | None) the notice to show.
        time_asked: (TimeQuestion) the user has to decide which time of a recording is right.
        undo_changed: (str) which deletion `undo` takes back, as text; empty for none.
    """

    noticed = Signal(object)
    time_asked = Signal(object)
    undo_changed = Signal(str)

    def __init__(self, library: Library, erasures: ServiceErasures | None, tasks: TaskOwner) -> None:
        """Make it; `erasures` of the service on this computer, None for a service elsewhere."""
        super().__init__()
        self._library, self._erasures = library, erasures
        self._changes = Lane(tasks, self)  # in order, so that the last choice is the one that stays
        self._step = self._other_step = ActionStep.CLOSE
        self._asked_about: tuple[str, ...] = ()
        self._unconfirmed: dict[str, ErasureScope] = {}  # removed on this page, not confirmed by the service yet
        self._confirmed: dict[str, ErasureScope] = {}
        if erasures is not None:
            erasures.confirmed.connect(self._on_confirmed)
            erasures.failed.connect(self._on_not_confirmed)
        self._trashed: list[_Trashed] = []
        self._to_send_again = ""

    def send(self, items: Collection[RecordingItem], around: RowContext) -> None:
        """Send recordings, in the way that each needs."""
        library = self._library
        ways: dict[RowAction, Callable[[str], None]] = {
            RowAction.SEND: library.queue,
            RowAction.SEND_NOW: lambda take_id: library.send_now([take_id]),
            RowAction.RETRY: library.retry,
        }
        self._each([(item.take_id, ways[action]) for item in items if (action := row_action(item, around)) in ways])

    def cancel(self, take_ids: Iterable[str]) -> None:
        """Remove recordings from the upload queue and keep them."""
        self._each([(take_id, self._library.cancel) for take_id in take_ids])

    def take_back(self, take_ids: Collection[str]) -> None:
        """Let this computer send recordings that were exported for another."""
        library = self._library
        self._start(lambda: len(take_back(library, take_ids)), self._on_taken_back)

    def send_all_now(self) -> None:
        """Send everything that waits for the user or for another network."""
        self._do(self._library.send_now)

    def pause(self, paused: bool) -> None:
        """Pause or resume sending."""
        self._do(lambda: self._library.change_settings(paused=paused))

    def ask_to_accept_copy(self) -> None:
        """Ask whether to accept the list after an older copy was restored or the list was changed."""
        self._say(
            Notice(
                _(
                    "Go on with this list? Recordings that are missing from it stay missing. The audit log keeps "
                    "that you accepted it."
                ),
                act=_("Accept this list"),
                step=ActionStep.ACCEPT_COPY,
            )
        )

    def delete(self, choice: Selection) -> None:
        """Move recordings to the trash; ask first about those that it does not keep."""
        self._asked_about = choice.delete
        if not choice.delete and choice.take_back and choice.take_back == choice.chosen:
            self._say(Notice(_("Another computer is to send what was handed over. Take it back, then delete it.")))
        elif not choice.delete:
            self._say(Notice(_("What is being sent or analysed cannot be deleted now. Wait for its result.")))
        elif choice.delete != choice.undoable:
            question = _question(len(choice.delete)) if self._erasures is None else _question_of_all(len(choice.delete))
            self._say(Notice(question, act=_("Delete for good"), step=ActionStep.DELETE))
        elif self._erasures is not None and choice.with_result == choice.delete:
            self._say(
                Notice(
                    _(
                        "The sound only, or everything? The sound only: it is destroyed now, here and at the service "
                        "on this computer, and the result stays. Everything: it goes to the trash first."
                    ),
                    _("Everything"),
                    ActionStep.MOVE_TO_TRASH,
                    other=_("The sound only"),
                    other_step=ActionStep.REMOVE_SOUND,
                )
            )
        else:
            self._move_to_trash(choice.delete)

    def undo(self) -> None:
        """Restore what was deleted last; a second call restores what was deleted before."""
        if self._trashed:
            self.restore(self._trashed[-1].take_ids)

    def forget_undo(self) -> None:
        """Offer no undo any more; the recordings stay in the trash."""
        self._trashed.clear()
        self._tell_undo()

    def restore(self, take_ids: Collection[str]) -> None:
        """Restore recordings from the trash."""
        library = self._library
        self._start(lambda: _restore(library, take_ids), self._on_restored)

    def ask_to_destroy(self, take_ids: Collection[str]) -> None:
        """Ask before recordings in the trash are destroyed."""
        if not take_ids:
            return
        self._asked_about = tuple(take_ids)
        question = _question(len(take_ids)) if self._erasures is None else _question_of_all(len(take_ids))
        self._say(Notice(question, act=_("Destroy now"), step=ActionStep.DESTROY))

    def ask_for_time(self, item: RecordingItem) -> None:
        """Ask which time of a recording is right."""
        suggested = None if item.time_doubt is None else item.time_doubt.suggested
        self.time_asked.emit(
            TimeQuestion(
                take_id=item.take_id,
                group_id=item.group_id,
                subject=self._library.subject_notes.shown(item.group_id).words,
                sentence=translated(item.reason or _corrected_sentence(item)),
                present_words=_entered_words(item.recorded_at),
                suggested=suggested,
                suggested_words="" if suggested is None else _entered_words(suggested),
                original_words="" if item.original_time is None else _entered_words(item.original_time),
                correctable=item.bundle_id is None and not item.asked,
            )
        )

    def look(self, take_ids: Iterable[str]) -> None:
        """Search the service again for recordings that it may have."""
        self._each([(take_id, self._library.retry) for take_id in take_ids])

    def ask_to_send_again(self, item: RecordingItem) -> None:
        """Ask before sending a recording that the service may have: it may be charged twice."""
        self._to_send_again = item.take_id
        subject = self._library.subject_notes.shown(item.group_id).words
        self._say(
            Notice(
                _(
                    "{subject}: send this recording again? If the service has it already, it is analysed and charged a "
                    "second time. The recording is kept here in any case.",
                    subject=subject,
                ),
                act=_("Send again"),
                step=ActionStep.SEND_AGAIN,
            )
        )

    def decide_time(self, take_id: str, moment: datetime | None) -> None:
        """Send a recording with this time; with its present time if None."""
        library = self._library
        self._each([(take_id, lambda take_id: _decide_time(library, take_id, moment))])

    def restore_time(self, take_id: str) -> None:
        """Send a recording with its time before the correction."""
        library = self._library
        self._each([(take_id, lambda take_id: _restore_time(library, take_id))])

    def act_on_notice(self, *, other: bool = False) -> None:
        """Run the action of the notice's button; of the second one if `other`."""
        step = self._other_step if other else self._step
        self._step = self._other_step = ActionStep.CLOSE
        library, take_ids = self._library, self._asked_about
        if step in (ActionStep.DELETE, ActionStep.DESTROY):
            self._start(lambda: _discard(library, take_ids), self._on_removed)
        elif step is ActionStep.REMOVE_SOUND:
            self._start(lambda: _remove_sounds(library, take_ids), self._on_removed)
        elif step is ActionStep.SEND_AGAIN:
            self._each([(self._to_send_again, self._library.send_again)])
        elif step is ActionStep.ACCEPT_COPY:
            self._do(self._library.accept_copy)
        elif step is ActionStep.MOVE_TO_TRASH:
            self._move_to_trash(take_ids)
        self.noticed.emit(None)

    @Slot()
    def withdraw(self) -> None:
        """Withdraw a question: the selection changed."""
        if self._step in (
            ActionStep.DELETE,
            ActionStep.DESTROY,
            ActionStep.MOVE_TO_TRASH,
            ActionStep.SEND_AGAIN,
        ):
            self._step = self._other_step = ActionStep.CLOSE
            self._asked_about = ()
            self.noticed.emit(None)

    def forget(self) -> None:
        """Discard the notice when the page is left; an undo stays."""
        self._step = self._other_step = ActionStep.CLOSE
        self._asked_about = ()

    def _move_to_trash(self, take_ids: tuple[str, ...]) -> None:
        library = self._library
        self._start(lambda: _trash(library, take_ids), self._on_trashed)

    def _tell_undo(self) -> None:
        self.undo_changed.emit(self._undo_words(self._trashed[-1]) if self._trashed else "")

    def _undo_words(self, trashed: _Trashed) -> str:
        count, days = len(trashed.take_ids), trashed.days
        return ngettext(
            "{count} recording is in the trash. Days until its keys are destroyed: {days}.",
            "{count} recordings are in the trash. Days until their keys are destroyed: {days}.",
            count,
            days=days,
        )

    def _each(self, actions: list[tuple[str, Callable[[str], None]]]) -> None:
        self._start(lambda: _each_in_turn(actions), self._on_each)

    def _do(self, action: Callable[[], object]) -> None:
        self._start(action, None)

    def _start(self, action: Callable[[], object], done: Callable[[object], None] | None) -> None:
        def work(context: TaskContext) -> object:
            return action()

        self._changes.run(work, done, self._on_failed, name="outbox-act")

    def _say(self, notice: Notice) -> None:
        self._step, self._other_step = notice.step, notice.other_step
        self.noticed.emit(notice)

    @Slot(object)
    def _on_each(self, refused: object) -> None:
        if refused:
            self._say(Notice(translated(refused)))

    @Slot(object)
    def _on_taken_back(self, count: object) -> None:
        if isinstance(count, int):
            told = ngettext(
                "{count} recording is queued on this computer again. The service is asked first, so that it is "
                "not sent twice.",
                "{count} recordings are queued on this computer again. The service is asked first, so that none is "
                "sent twice.",
                count,
            )
            self._say(Notice(told, warning=False))

    @Slot(object)
    def _on_trashed(self, trashed: object) -> None:
        if isinstance(trashed, _Trashed) and trashed.take_ids:
            self._trashed.append(trashed)
            self._tell_undo()

    @Slot(object)
    def _on_restored(self, outcome: object) -> None:
        """Offer the undo of an earlier deletion, without recordings that are back already."""
        if not isinstance(outcome, _Restored):
            return
        left = [replace(each, take_ids=tuple(set(each.take_ids) - outcome.gone)) for each in self._trashed]
        self._trashed = [each for each in left if each.take_ids]
        self._tell_undo()
        if outcome.refused:
            self._say(Notice(translated(outcome.refused)))

    @Slot(object)
    def _on_removed(self, removed: object) -> None:
        """Erase at the local service too, after the keys here are destroyed."""
        if not isinstance(removed, _Removed):
            return
        if removed.at_service and self._erasures is not None:
            self._unconfirmed.update(dict.fromkeys(removed.at_service, removed.what))
            self._say(Notice(_gone_words(len(removed.take_ids), removed.what), warning=False))
            self._erasures.run()
        else:
            self._say(Notice(_destroyed_words(len(removed.take_ids), removed.what), warning=False))

    @Slot(object)
    def _on_confirmed(self, erased: PendingErasure) -> None:
        """Report the erasure after the last confirmation."""
        what = self._unconfirmed.pop(erased.take_id, None)
        if what is None:
            return
        self._confirmed[erased.take_id] = what
        if not self._unconfirmed:
            count, what = (
                len(self._confirmed),
                max(self._confirmed.values(), key=lambda each: each is ErasureScope.EVERYTHING),
            )
            self._confirmed = {}
            self._say(Notice(_destroyed_words(count, what, at_service=True), warning=False))

    @Slot(str)
    def _on_not_confirmed(self, sentence: str) -> None:
        if self._unconfirmed:
            self._say(Notice(sentence))

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._say(Notice(failure.sentence))


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


def _gone_words(count: int, what: ErasureScope) -> str:
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


def _destroyed_words(count: int, what: ErasureScope, *, at_service: bool = False) -> str:
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


def _each_in_turn(actions: list[tuple[str, Callable[[str], None]]]) -> Message:
    """Run every action; failures are reported at the end and do not stop the others."""
    refusals = []
    for take_id, action in actions:
        try:
            action(take_id)
        except (NotAllowed, UnknownTake) as refusal:
            refusals.append(joined(refusal))
    if len(actions) > 1 and refusals:
        told = plural_message(
            "{count:,} of {all:,} could not be changed.",
            "{count:,} of {all:,} could not be changed.",
            len(refusals),
            all=len(actions),
        )
        return joined(told, refusals[0])
    return refusals[0] if refusals else joined("")


def _decide_time(library: Library, take_id: str, moment: datetime | None) -> None:
    if moment is None:
        library.keep_recorded_at(take_id)
    else:
        library.set_recorded_at(take_id, moment)
    _let_go(library, take_id)


def _restore_time(library: Library, take_id: str) -> None:
    library.restore_recorded_at(take_id)
    _let_go(library, take_id)


def _let_go(library: Library, take_id: str) -> None:
    if library.get(take_id).state is _S.CHECKED:
        library.queue(take_id)
    else:
        library.retry(take_id)


def _corrected_sentence(item: RecordingItem) -> str:
    """Explanation for a recording whose time was corrected before."""
    if item.original_time is None:
        return ""
    before, now = clock_words(item.original_time, item.recorded_at)
    return joined(
        message("The time of this recording was corrected from {original} to {noted}.", original=before, noted=now),
        message("Choose the time to send it with."),
    )


def _entered_words(moment: datetime) -> str:
    """As a person would enter it."""
    return clock_words(moment)[0]


def _trash(library: Library, take_ids: tuple[str, ...]) -> _Trashed:
    for take_id in take_ids:
        library.discard(take_id)
    return _Trashed(take_ids, library.settings().trash_days)


def _restore(library: Library, take_ids: Collection[str]) -> _Restored:
    refused = _each_in_turn([(take_id, library.trash.restore) for take_id in take_ids])
    return _Restored(frozenset(take_id for take_id in take_ids if not library.trash.holds(take_id)), refused)


def _discard(library: Library, take_ids: Collection[str]) -> _Removed:
    for take_id in take_ids:
        library.discard(take_id, at_once=True)
    return _removed(library, take_ids, ErasureScope.EVERYTHING)


def _remove_sounds(library: Library, take_ids: Collection[str]) -> _Removed:
    library.remove_sounds(take_ids, part=None)
    return _removed(library, take_ids, ErasureScope.SOUND)


def _removed(library: Library, take_ids: Collection[str], what: ErasureScope) -> _Removed:
    owed = {each.take_id for each in library.erasures.due()} if library.erasures is not None else set()
    return _Removed(what, tuple(take_ids), tuple(take_id for take_id in take_ids if take_id in owed))
