"""What the Outbox changes, as commands that name recordings by id."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.desk.outbox.reads import RemovedHere
from vbdesk.language import Message, joined, plural_message
from vbdesk.outbox.bundles.bundle_export import take_back
from vbdesk.outbox.library.library import Library, NotAllowed, UnknownTake
from vbdesk.outbox.library.pending_erasures import ErasureScope
from vbdesk.outbox.library.states import OutboxState

_TOUCHED = frozenset({Changed.LIBRARY})


class Step(StrEnum):
    """What can be done with one recording."""

    QUEUE = "queue"
    SEND_NOW = "send_now"
    RETRY = "retry"
    CANCEL = "cancel"
    SEND_AGAIN = "send_again"
    RESTORE_TIME = "restore_time"
    KEEP_TIME = "keep_time"
    RESTORE = "restore"


@dataclass(frozen=True)
class ChangeEach(Command):
    """Take one step with each recording; failures are reported at the end and do not stop the others."""

    steps: tuple[tuple[str, Step], ...]

    @classmethod
    def alike(cls, step: Step, take_ids: Iterable[str]) -> "ChangeEach":
        """Take the same step with each."""
        return cls(tuple((take_id, step) for take_id in take_ids))

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        refusals = []
        for take_id, step in self.steps:
            try:
                _STEPS[step](context.library, take_id)
            except (NotAllowed, UnknownTake) as refusal:
                refusals.append(joined(refusal))
        return Done(_sentence(refusals, len(self.steps)), _TOUCHED)


@dataclass(frozen=True)
class SetTime(Command):
    """Send a recording with this time."""

    take_id: str
    moment: datetime

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        try:
            context.library.set_recorded_at(self.take_id, self.moment)
            _let_go(context.library, self.take_id)
        except (NotAllowed, UnknownTake) as refusal:
            return Done(joined(refusal), _TOUCHED)
        return Done(touched=_TOUCHED)


@dataclass(frozen=True)
class TakeBack(Command):
    """Let this computer send recordings that were exported for another."""

    take_ids: tuple[str, ...]

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        return Done(touched=_TOUCHED, found=len(take_back(context.library, self.take_ids)))


@dataclass(frozen=True)
class SendAllNow(Command):
    """Send everything that waits for the user or for another network."""

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        context.library.send_now()
        return Done(touched=_TOUCHED)


@dataclass(frozen=True)
class Pause(Command):
    """Pause or resume sending."""

    paused: bool

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        context.library.change_settings(paused=self.paused)
        return Done(touched=_TOUCHED)


@dataclass(frozen=True)
class AcceptCopy(Command):
    """Accept the list after an older copy was restored or the list was changed."""

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        context.library.accept_copy()
        return Done(touched=_TOUCHED)


@dataclass(frozen=True)
class MoveToTrash(Command):
    """Move recordings to the trash; finds for how many days it keeps them."""

    take_ids: tuple[str, ...]

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        context.library.discard(*self.take_ids)
        days = context.library.settings().trash_days
        return Done(touched=_TOUCHED, found=days)


@dataclass(frozen=True)
class Remove(Command):
    """Destroy recordings, or their sound alone; finds what the service on this computer still has."""

    take_ids: tuple[str, ...]
    what: ErasureScope

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        library = context.library
        if self.what is ErasureScope.SOUND:
            library.remove_sounds(self.take_ids, part=None)
        else:
            library.discard(*self.take_ids, at_once=True)
        due = {each.take_id for each in library.erasures.due()} if library.erasures is not None else set()
        at_service = tuple(take_id for take_id in self.take_ids if take_id in due)
        return Done(touched=_TOUCHED, found=RemovedHere(self.what, self.take_ids, at_service))


def _sentence(refusals: list[Message], count: int) -> Message:
    """What could not be done of `count` steps."""
    if count > 1 and refusals:
        sentence = plural_message(
            "{count:,} of {all:,} could not be changed.",
            "{count:,} of {all:,} could not be changed.",
            len(refusals),
            all=count,
        )
        return joined(sentence, refusals[0])
    return refusals[0] if refusals else joined("")


def _restore_time(library: Library, take_id: str) -> None:
    library.restore_recorded_at(take_id)
    _let_go(library, take_id)


def _keep_time(library: Library, take_id: str) -> None:
    library.confirm_recorded_at(take_id)
    _let_go(library, take_id)


def _let_go(library: Library, take_id: str) -> None:
    if library.get(take_id).state is OutboxState.CHECKED:
        library.queue(take_id)
    else:
        library.retry(take_id)


_STEPS: dict[Step, Callable[[Library, str], None]] = {
    Step.QUEUE: Library.queue,
    Step.SEND_NOW: lambda library, take_id: library.send_now([take_id]),
    Step.RETRY: Library.retry,
    Step.CANCEL: Library.cancel,
    Step.SEND_AGAIN: Library.send_again,
    Step.RESTORE_TIME: _restore_time,
    Step.KEEP_TIME: _keep_time,
    Step.RESTORE: lambda library, take_id: library.trash.restore(take_id),
}
