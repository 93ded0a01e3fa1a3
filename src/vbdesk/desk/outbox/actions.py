"""What a person does with recordings of the Outbox, one or many at once; what can be undone, what is asked first."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.models.service_erasures import ServiceErasures
from vbdesk.desk.outbox.rows import RowAction, RowContext, row_action
from vbdesk.desk.tasks import Failure, TaskContext, TaskOwner
from vbdesk.desk.ui.time_text import counted
from vbdesk.outbox.bundles.bundle_export import take_back
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library, NotAllowed, PutAway, UnknownTake
from vbdesk.outbox.library.pending_erasures import Erase, OwedErasure
from vbdesk.outbox.library.recording_time import clock_words
from vbdesk.outbox.library.states import Fix, OutboxState

_S = OutboxState

_SENDING = {RowAction.SEND, RowAction.SEND_NOW, RowAction.RETRY}


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen recordings, and which of them each deed is for.

    Attributes:
        send: rest here, or ended without a result, or wait for a hand.
        look: the service may have them, and can be asked again whether it has.
        cancel: are in the line, and the service was not asked.
        hand_over: can go into a bundle for another computer.
        take_back: are in such a bundle.
        delete: can be deleted.
        calmly: of those, the ones whose deletion can be undone.
        with_result: of those, the ones that keep a result if their sound alone is removed.
    """

    chosen: tuple[str, ...] = ()
    send: tuple[str, ...] = ()
    look: tuple[str, ...] = ()
    cancel: tuple[str, ...] = ()
    hand_over: tuple[str, ...] = ()
    take_back: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    calmly: tuple[str, ...] = ()
    with_result: tuple[str, ...] = ()


def selection_of(items: Iterable[RecordingItem], around: RowContext) -> Selection:
    """What can be done with these recordings."""
    chosen = list(items)

    def keys(fits: Callable[[RecordingItem], bool]) -> tuple[str, ...]:
        return tuple(item.take_id for item in chosen if fits(item))

    return Selection(
        chosen=keys(lambda item: True),
        send=keys(lambda item: row_action(item, around) in _SENDING),
        look=keys(lambda item: item.fix is Fix.SEND_AGAIN and item.asked),
        cancel=keys(lambda item: item.state in (_S.WAITING, _S.UPLOADING) and not item.asked),
        hand_over=keys(lambda item: item.state is _S.WAITING),
        take_back=keys(lambda item: item.state is _S.HANDED_OVER),
        delete=keys(_deletable),
        calmly=keys(lambda item: _deletable(item) and item.state in (_S.CHECKED, _S.WAITING)),
        with_result=keys(_keeps_result),
    )


def _deletable(item: RecordingItem) -> bool:
    resting = item.state not in (_S.UPLOADING, _S.SUBMITTED, _S.RUNNING, _S.HANDED_OVER)
    return resting and not item.asked


def _keeps_result(item: RecordingItem) -> bool:
    with_both = item.sealed_result is not None and item.audio_gone_at is None
    return item.state is _S.DONE and with_both and item.fault is None


class ActionStep(StrEnum):
    """What the button of a notice does."""

    CLOSE = "close"
    UNDO = "undo"
    DELETE = "delete"
    REMOVE_SOUND = "remove_sound"
    SEND_AGAIN = "send_again"
    ACCEPT_COPY = "accept_copy"


@dataclass(frozen=True, slots=True)
class Notice:
    """What became of a deed, or what is asked before it; `act` is the words of its button.

    Attributes:
        other, other_step: words of a second button, empty for none, and what it does.
    """

    sentence: str
    act: str = "Close"
    step: ActionStep = ActionStep.CLOSE
    warning: bool = True
    other: str = ""
    other_step: ActionStep = ActionStep.CLOSE


@dataclass(frozen=True, slots=True)
class TimeQuestion:
    """Which time of a recording is right.

    Attributes:
        sentence: why it is asked.
        told_words: the time that it has: the clock's, or a corrected one.
        original_words: the time before a person corrected it; empty if nobody did.
        suggested, suggested_words: the right time by the service's clock, where it can be computed.
        correctable: no service can know the recording by the time that it has.
    """

    take_id: str
    group_id: str
    sentence: str
    told_words: str
    suggested: datetime | None
    suggested_words: str
    original_words: str
    correctable: bool


@dataclass(frozen=True, slots=True)
class _Removed:
    """What was removed here, and which of it the service on this computer still has."""

    what: Erase
    take_ids: tuple[str, ...]
    at_service: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Deleted:
    """What was put away, and which of it stood in the line."""

    put_away: tuple[PutAway, ...]
    in_line: frozenset[str]


class OutboxActions(QObject):
    """Changes recordings, each in a task.

    Signals:
        noticed: (Notice | None) there is something to say, or nothing more.
        time_asked: (TimeQuestion) a person is to decide which time of a recording is right.
    """

    noticed = Signal(object)
    time_asked = Signal(object)

    def __init__(self, library: Library, erasures: ServiceErasures | None, tasks: TaskOwner) -> None:
        """Make it; `erasures` of the service on this computer, None for a service elsewhere."""
        super().__init__()
        self._library, self._erasures, self._tasks = library, erasures, tasks
        self._step = self._other_step = ActionStep.CLOSE
        self._asked_about: tuple[str, ...] = ()
        self._unconfirmed: dict[str, Erase] = {}  # removed in this page; the service has not confirmed yet
        self._confirmed: dict[str, Erase] = {}
        if erasures is not None:
            erasures.confirmed.connect(self._on_confirmed)
            erasures.failed.connect(self._on_not_confirmed)
        self._deleted: _Deleted | None = None
        self._to_send_again = ""

    def send(self, items: Collection[RecordingItem], around: RowContext) -> None:
        """Let recordings go, by whichever way each needs."""
        library = self._library
        ways: dict[RowAction, Callable[[str], None]] = {
            RowAction.SEND: library.queue,
            RowAction.SEND_NOW: lambda take_id: library.send_now([take_id]),
            RowAction.RETRY: library.retry,
        }
        self._each([(item.take_id, ways[action]) for item in items if (action := row_action(item, around)) in ways])

    def cancel(self, take_ids: Iterable[str]) -> None:
        """Take recordings out of the line; they are kept."""
        self._each([(take_id, self._library.cancel) for take_id in take_ids])

    def take_back(self, take_ids: Collection[str]) -> None:
        """Let this computer send what another was to send."""
        library = self._library
        self._start(lambda: len(take_back(library, take_ids)), self._on_taken_back)

    def send_all_now(self) -> None:
        """Let everything go that waits for a hand or another network."""
        self._do(self._library.send_now)

    def pause(self, paused: bool) -> None:
        """Stop sending, or go on."""
        self._do(lambda: self._library.change_settings(paused=paused))

    def ask_to_accept_copy(self) -> None:
        """Ask whether the list is the one to go on with, after an older copy was put back or the list was changed."""
        self._say(
            Notice(
                "Go on with this list? Recordings that are missing from it stay missing. The audit log keeps that you "
                "accepted it.",
                act="Accept this list",
                step=ActionStep.ACCEPT_COPY,
            )
        )

    def delete(self, choice: Selection) -> None:
        """Delete what can be deleted; asks first where that cannot be undone."""
        if not choice.delete:
            self._say(Notice("What is being sent or analysed cannot be deleted now. Wait for its result."))
        elif choice.delete == choice.calmly:
            library, take_ids = self._library, choice.delete
            self._start(lambda: _put_away(library, take_ids), self._on_put_away)
        elif self._erasures is not None:
            self._asked_about = choice.delete
            if choice.with_result == choice.delete:
                question = _question_here(len(choice.delete))
                self._say(
                    Notice(
                        question,
                        "Everything",
                        ActionStep.DELETE,
                        other="The sound only",
                        other_step=ActionStep.REMOVE_SOUND,
                    )
                )
            else:
                self._say(Notice(_question_of_all(len(choice.delete)), act="Delete for good", step=ActionStep.DELETE))
        else:
            self._asked_about = choice.delete
            self._say(Notice(_question(len(choice.delete)), act="Delete for good", step=ActionStep.DELETE))

    def ask_for_time(self, item: RecordingItem) -> None:
        """Ask which time of a recording is right."""
        suggested = None if item.time_doubt is None else item.time_doubt.suggested
        self.time_asked.emit(
            TimeQuestion(
                take_id=item.take_id,
                group_id=item.group_id,
                sentence=item.reason or _corrected_sentence(item),
                told_words=_entered_words(item.recorded_at),
                suggested=suggested,
                suggested_words="" if suggested is None else _entered_words(suggested),
                original_words="" if item.original_time is None else _entered_words(item.original_time),
                correctable=item.bundle_id is None and not item.asked,
            )
        )

    def look(self, take_ids: Iterable[str]) -> None:
        """Have the service searched again for recordings that it may have."""
        self._each([(take_id, self._library.retry) for take_id in take_ids])

    def ask_to_send_again(self, item: RecordingItem) -> None:
        """Ask before a recording is sent that the service may have already: it may be charged twice."""
        self._to_send_again = item.take_id
        self._say(
            Notice(
                f"{item.group_id}: send this recording again? If the service has it already, it is analysed and "
                "charged a second time. The recording is kept here in any case.",
                act="Send again",
                step=ActionStep.SEND_AGAIN,
            )
        )

    def decide_time(self, take_id: str, moment: datetime | None) -> None:
        """Send a recording with this time; with the one that it has if None."""
        library = self._library
        self._each([(take_id, lambda take_id: _decide_time(library, take_id, moment))])

    def restore_time(self, take_id: str) -> None:
        """Send a recording with the time that it had before a person corrected it."""
        library = self._library
        self._each([(take_id, lambda take_id: _restore_time(library, take_id))])

    def act_on_notice(self, *, other: bool = False) -> None:
        """Do what the button of the notice says; the second one if `other`."""
        step = self._other_step if other else self._step
        self._step = self._other_step = ActionStep.CLOSE
        library, take_ids = self._library, self._asked_about
        if step is ActionStep.DELETE:
            self._start(lambda: _discard(library, take_ids), self._on_removed)
        elif step is ActionStep.REMOVE_SOUND:
            self._start(lambda: _remove_sounds(library, take_ids), self._on_removed)
        elif step is ActionStep.SEND_AGAIN:
            self._each([(self._to_send_again, self._library.send_again)])
        elif step is ActionStep.ACCEPT_COPY:
            self._do(self._library.accept_copy)
        elif step is ActionStep.UNDO and self._deleted is not None:
            deleted, self._deleted = self._deleted, None
            self._do(lambda: _bring_back(self._library, deleted))
        self.noticed.emit(None)

    @Slot()
    def withdraw(self) -> None:
        """Other recordings are chosen than were asked about."""
        if self._step in (ActionStep.DELETE, ActionStep.SEND_AGAIN):
            self._step = self._other_step = ActionStep.CLOSE
            self._asked_about = ()
            self.noticed.emit(None)

    def forget(self) -> None:
        """The page is left: what was offered is offered no longer."""
        self._step = self._other_step = ActionStep.CLOSE
        self._deleted, self._asked_about = None, ()

    def _each(self, actions: list[tuple[str, Callable[[str], None]]]) -> None:
        self._start(lambda: _each_in_turn(actions), self._on_each)

    def _do(self, action: Callable[[], object]) -> None:
        self._start(action, None)

    def _start(self, action: Callable[[], object], done: Callable[[object], None] | None) -> None:
        def work(context: TaskContext) -> object:
            return action()

        self._tasks.start(work, done, self._on_failed, name="outbox-act")

    def _say(self, notice: Notice) -> None:
        self._step, self._other_step = notice.step, notice.other_step
        self.noticed.emit(notice)

    @Slot(object)
    def _on_each(self, refused: object) -> None:
        if refused:
            self._say(Notice(str(refused)))

    @Slot(object)
    def _on_taken_back(self, count: object) -> None:
        if isinstance(count, int):
            stand = "stands" if count == 1 else "stand"
            self._say(
                Notice(
                    f"{counted(count, 'recording')} {stand} in the line here again. "
                    "The service is asked first, so that none is sent twice.",
                    warning=False,
                )
            )

    @Slot(object)
    def _on_put_away(self, deleted: object) -> None:
        if isinstance(deleted, _Deleted):
            self._deleted = deleted
            self._say(
                Notice(
                    f"{counted(len(deleted.put_away), 'recording')} deleted, with the key that opens the sound. "
                    "It can be brought back until you leave this page.",
                    act="Undo",
                    step=ActionStep.UNDO,
                    warning=False,
                )
            )

    @Slot(object)
    def _on_removed(self, removed: object) -> None:
        """The keys here are destroyed; where the service on this computer has recordings too, it comes next."""
        if not isinstance(removed, _Removed):
            return
        if removed.at_service and self._erasures is not None:
            self._unconfirmed.update(dict.fromkeys(removed.at_service, removed.what))
            gone = _gone_words(len(removed.take_ids), removed.what)
            self._say(Notice(f"{gone} here. The service on this computer erases it now.", warning=False))
            self._erasures.run()
        else:
            self._say(Notice(_destroyed_words(len(removed.take_ids), removed.what), warning=False))

    @Slot(object)
    def _on_confirmed(self, erased: OwedErasure) -> None:
        """Once nothing is open any more: only now nobody can open the sound."""
        what = self._unconfirmed.pop(erased.take_id, None)
        if what is None:
            return
        self._confirmed[erased.take_id] = what
        if not self._unconfirmed:
            count, what = len(self._confirmed), max(self._confirmed.values(), key=lambda each: each is Erase.EVERYTHING)
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
    those = "this recording" if count == 1 else counted(count, "recording")
    keys = "its key" if count == 1 else "their keys"
    return (
        f"Delete {those} for good? The sound and {keys} are destroyed, and nobody can bring them back. "
        "What the service has stays there."
    )


def _question_here(count: int) -> str:
    """What is asked where the service on this computer has the recordings too."""
    those = "this recording" if count == 1 else counted(count, "recording")
    results = "its result stays" if count == 1 else "their results stay"
    jobs = "the job and its result go too" if count == 1 else "the jobs and their results go too"
    return (
        f"Remove {those} from this computer and its service? The sound only: {results}. Everything: {jobs}. "
        "Nobody can bring back what is removed."
    )


def _question_of_all(count: int) -> str:
    those, keys = ("this recording", "its key") if count == 1 else (counted(count, "recording"), "their keys")
    return (
        f"Delete {those} for good, here and at the service on this computer? The sound and {keys} are destroyed, "
        "jobs and results go too, and nobody can bring them back."
    )


def _gone_words(count: int, what: Erase) -> str:
    if what is Erase.EVERYTHING:
        return f"{counted(count, 'recording')} deleted"
    return f"Sound of {counted(count, 'recording')} removed"


def _destroyed_words(count: int, what: Erase, *, at_service: bool = False) -> str:
    them = "Its key is destroyed" if count == 1 else "Their keys are destroyed"
    if at_service:
        where = ", here and at the service on this computer"
        return f"{_gone_words(count, what)}{where}. {them}: nobody can open the sound again."
    return f"{_gone_words(count, what)}. {them}: nobody can open the sound on this computer again."


def _each_in_turn(actions: list[tuple[str, Callable[[str], None]]]) -> str:
    """Do each; what is not possible any more is told at the end and stops none of the others."""
    refusals = []
    for take_id, action in actions:
        try:
            action(take_id)
        except (NotAllowed, UnknownTake) as refusal:
            refusals.append(str(refusal))
    if len(actions) > 1 and refusals:
        return f"{len(refusals)} of {len(actions)} could not be changed. {refusals[0]}"
    return refusals[0] if refusals else ""


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
    """What to say of a recording that a person asks about again: nothing speaks against the time that it has."""
    if item.original_time is None:
        return ""
    before, now = clock_words(item.original_time, item.recorded_at)
    return f"The time of this recording was corrected from {before} to {now}. Choose the time to send it with."


def _entered_words(moment: datetime) -> str:
    """As a person would enter it."""
    return clock_words(moment)[0]


def _put_away(library: Library, take_ids: Iterable[str]) -> _Deleted:
    put_away, in_line = [], set()
    for take_id in take_ids:
        if library.get(take_id).state is _S.WAITING:
            library.cancel(take_id)
            in_line.add(take_id)
        put_away.append(library.put_away(take_id))
    return _Deleted(tuple(put_away), frozenset(in_line))


def _bring_back(library: Library, deleted: _Deleted) -> None:
    for each in deleted.put_away:
        library.bring_back(each)
        if each.take_id in deleted.in_line:
            library.queue(each.take_id)


def _discard(library: Library, take_ids: Collection[str]) -> _Removed:
    for take_id in take_ids:
        library.discard(take_id)
    return _removed(library, take_ids, Erase.EVERYTHING)


def _remove_sounds(library: Library, take_ids: Collection[str]) -> _Removed:
    library.remove_sounds(take_ids, part=None)
    return _removed(library, take_ids, Erase.SOUND)


def _removed(library: Library, take_ids: Collection[str], what: Erase) -> _Removed:
    owed = {each.take_id for each in library.erasures.due()} if library.erasures is not None else set()
    return _Removed(what, tuple(take_ids), tuple(take_id for take_id in take_ids if take_id in owed))
