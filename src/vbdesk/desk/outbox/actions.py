"""Actions on recordings of the Outbox, with their confirmations and undo."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.models.service_erasures import ServiceErasures
from vbdesk.desk.outbox.rows import RowAction, RowContext, row_action
from vbdesk.desk.tasks import Failure, Lane, TaskContext, TaskOwner
from vbdesk.desk.ui.notice import Notice, NoticeAction, Tone, close_action
from vbdesk.language import Message, _, joined, message, ngettext, plural_message, translated
from vbdesk.outbox.bundles.bundle_export import take_back
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library, NotAllowed, UnknownTake
from vbdesk.outbox.library.pending_erasures import ErasureScope, PendingErasure
from vbdesk.outbox.library.recording_time import clock_words
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.library.trash import TrashedRecording

ABOUT_SELECTION = "selection"  # topic of questions that end when other recordings are chosen

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
        noticed: (Notice) what to show.
        time_asked: (TimeQuestion) the user has to decide which time of a recording is right.
        undo_changed: (Notice | None) the offer to undo the last deletion.
    """

    noticed = Signal(object)
    time_asked = Signal(object)
    undo_changed = Signal(object)

    def __init__(self, library: Library, erasures: ServiceErasures | None, tasks: TaskOwner) -> None:
        """Make it; `erasures` of the service on this computer, None for a service elsewhere."""
        super().__init__()
        self._library, self._erasures = library, erasures
        self._changes = Lane(tasks, self)  # in order, so that the last choice is the one that stays
        self._unconfirmed: dict[str, ErasureScope] = {}  # removed on this page, not confirmed by the service yet
        self._confirmed: dict[str, ErasureScope] = {}
        if erasures is not None:
            erasures.confirmed.connect(self._on_confirmed)
            erasures.failed.connect(self._on_not_confirmed)
        self._trashed: list[_Trashed] = []

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
        question = _(
            "Go on with this list? Recordings that are missing from it stay missing. The audit log keeps that you "
            "accepted it."
        )
        accept = NoticeAction(_("Accept this list"), partial(self._do, self._library.accept_copy))
        self.noticed.emit(Notice(Tone.WARN, question, (accept,)))

    def delete(self, choice: Selection) -> None:
        """Move recordings to the trash; ask first about those that it does not keep."""
        take_ids = choice.delete
        if not take_ids and choice.take_back and choice.take_back == choice.chosen:
            self._warn(_("Another computer is to send what was handed over. Take it back, then delete it."))
        elif not take_ids:
            self._warn(_("What is being sent or analysed cannot be deleted now. Wait for its result."))
        elif take_ids != choice.undoable:
            self._ask(self._question(len(take_ids)), (_("Delete for good"), partial(self._destroy, take_ids)))
        elif self._erasures is not None and choice.with_result == take_ids:
            self._ask(
                _(
                    "The sound only, or everything? The sound only: it is destroyed now, here and at the service "
                    "on this computer, and the result stays. Everything: it goes to the trash first."
                ),
                (_("Everything"), partial(self._move_to_trash, take_ids)),
                (_("The sound only"), partial(self._remove_sounds, take_ids)),
            )
        else:
            self._move_to_trash(take_ids)

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
        if take_ids:
            self._ask(self._question(len(take_ids)), (_("Destroy now"), partial(self._destroy, tuple(take_ids))))

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
        subject = self._library.subject_notes.shown(item.group_id).words
        question = _(
            "{subject}: send this recording again? If the service has it already, it is analysed and charged a "
            "second time. The recording is kept here in any case.",
            subject=subject,
        )
        self._ask(question, (_("Send again"), partial(self._each, [(item.take_id, self._library.send_again)])))

    def decide_time(self, take_id: str, moment: datetime | None) -> None:
        """Send a recording with this time; with its present time if None."""
        library = self._library
        self._each([(take_id, lambda take_id: _decide_time(library, take_id, moment))])

    def restore_time(self, take_id: str) -> None:
        """Send a recording with its time before the correction."""
        library = self._library
        self._each([(take_id, lambda take_id: _restore_time(library, take_id))])

    def _destroy(self, take_ids: tuple[str, ...]) -> None:
        library = self._library
        self._start(lambda: _discard(library, take_ids), self._on_removed)

    def _remove_sounds(self, take_ids: tuple[str, ...]) -> None:
        library = self._library
        self._start(lambda: _remove_sounds(library, take_ids), self._on_removed)

    def _move_to_trash(self, take_ids: tuple[str, ...]) -> None:
        library = self._library
        self._start(lambda: _trash(library, take_ids), self._on_trashed)

    def _tell_undo(self) -> None:
        if not self._trashed:
            self.undo_changed.emit(None)
            return
        last = self._trashed[-1]
        sentence = ngettext(
            "{count} recording is in the trash. Days until its keys are destroyed: {days}.",
            "{count} recordings are in the trash. Days until their keys are destroyed: {days}.",
            len(last.take_ids),
            days=last.days,
        )
        undo = NoticeAction(_("Undo"), partial(self.restore, last.take_ids), stays=True)
        self.undo_changed.emit(Notice(Tone.INFO, sentence, (undo, close_action()), closed=self.forget_undo))

    def _each(self, actions: list[tuple[str, Callable[[str], None]]]) -> None:
        self._start(lambda: _each_in_turn(actions), self._on_each)

    def _do(self, action: Callable[[], object]) -> None:
        self._start(action, None)

    def _start(self, action: Callable[[], object], done: Callable[[object], None] | None) -> None:
        def work(context: TaskContext) -> object:
            return action()

        self._changes.run(work, done, self._on_failed, name="outbox-act")

    def _question(self, count: int) -> str:
        return _question(count) if self._erasures is None else _question_of_all(count)

    def _ask(self, question: str, *answers: tuple[str, Callable[[], None]]) -> None:
        """Ask about the selection."""
        actions = tuple(NoticeAction(label, run) for label, run in answers)
        self.noticed.emit(Notice(Tone.WARN, question, actions, topic=ABOUT_SELECTION))

    def _warn(self, sentence: str) -> None:
        self.noticed.emit(Notice(Tone.WARN, sentence, (close_action(),)))

    def _report(self, sentence: str) -> None:
        self.noticed.emit(Notice(Tone.OK, sentence, (close_action(),)))

    @Slot(object)
    def _on_each(self, refused: object) -> None:
        if refused:
            self._warn(translated(refused))

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
            self._report(told)

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
            self._warn(translated(outcome.refused))

    @Slot(object)
    def _on_removed(self, removed: object) -> None:
        """Erase at the local service too, after the keys here are destroyed."""
        if not isinstance(removed, _Removed):
            return
        if removed.at_service and self._erasures is not None:
            self._unconfirmed.update(dict.fromkeys(removed.at_service, removed.what))
            self._report(_gone_words(len(removed.take_ids), removed.what))
            self._erasures.run()
        else:
            self._report(_destroyed_words(len(removed.take_ids), removed.what))

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
            self._report(_destroyed_words(count, what, at_service=True))

    @Slot(str)
    def _on_not_confirmed(self, sentence: str) -> None:
        if self._unconfirmed:
            self._warn(sentence)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._warn(failure.sentence)


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
