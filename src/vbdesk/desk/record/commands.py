"""What the Record page changes. The one writer does it in order: a take that is being stored is not left over."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import Path

from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.capture.imported_sound import decode_file
from vbdesk.contract.timestamps import from_unix_seconds
from vbdesk.desk.charts.trim_range import TrimRange
from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.desk.record.check_text import CheckSource, Origin, Review
from vbdesk.language import Message, message, plural_message
from vbdesk.outbox.imports.take_check import TakeCheck, check_take
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.source_file import read_source
from vbdesk.outbox.library.states import OutboxState

_TOUCHED = frozenset({Changed.LIBRARY})
_PERCENT = 100


class Decision(Enum):
    """What a person decides about a recording."""

    KEEP = auto()
    SEND = auto()
    RETAKE = auto()
    DISCARD = auto()


@dataclass(frozen=True, eq=False)
class StoreTake(Command):
    """Store a recording in the library as its check left it, and do what was decided. Finds its take id."""

    decision: Decision
    source: CheckSource
    review: Review | None

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        library = context.library
        take_id = self._store(library)
        if self.decision is Decision.DISCARD:
            library.discard(take_id)
        elif self.decision is Decision.SEND and library.get(take_id).state is OutboxState.CHECKED:
            library.queue(take_id)
        elif self.decision is Decision.SEND:
            library.retry(take_id)
        return Done(touched=_TOUCHED, found=take_id)

    def _store(self, library: Library) -> str:
        source, metadata = self.source, self.source.metadata
        if self.review is not None:
            metadata = replace(self.review.source.metadata, quality=self.review.quality, trim_s=self.review.trim_s)
        if source.origin is Origin.FILE:
            return library.import_file(source.path, metadata)
        if source.origin is Origin.TAKE:
            return library.add_take(source.path, metadata)
        if source.state is OutboxState.CHECKED and metadata.trim_s != source.metadata.trim_s:
            library.set_trim(source.name, metadata.trim_s, metadata.quality)
        return source.name


@dataclass(frozen=True)
class DiscardVersions(Command):
    """Move recordings to the trash."""

    take_ids: tuple[str, ...]

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        context.library.discard(*self.take_ids)
        return Done(touched=_TOUCHED)


@dataclass(frozen=True)
class Discarded:
    """Recordings that were discarded together; `source` was under review, None for other versions."""

    source: CheckSource | None
    take_ids: tuple[str, ...]


@dataclass(frozen=True)
class RestoreDiscarded(Command):
    """Take recordings out of the trash again. Finds the one to review; None if there is none."""

    discarded: Discarded

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        library, take_ids = context.library, self.discarded.take_ids
        for take_id in take_ids:
            if library.trash.holds(take_id):  # else the Outbox has restored it
                library.trash.restore(take_id)
        return Done(touched=_TOUCHED, found=None if self.discarded.source is None else library.get(take_ids[0]))


@dataclass(frozen=True)
class ReadTake(Command):
    """Read a recording of the library for review, after all that is being stored. Finds its item."""

    take_id: str

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        return Done(found=context.library.get(self.take_id))


@dataclass(frozen=True)
class FindLeftovers(Command):
    """Find undecided takes of an earlier session, after all that is being stored."""

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        return Done(found=context.library.leftovers())


class FileDecision(Enum):
    """What a person decides about a damaged recording."""

    RECOVER = auto()
    KEEP = auto()
    DELETE = auto()


@dataclass(frozen=True)
class DecideDamaged(Command):
    """Offer the readable parts of a damaged take as new recordings, keep its file aside, or delete it."""

    path: Path
    decision: FileDecision

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        damaged = context.library.damaged
        match self.decision:
            case FileDecision.RECOVER:
                return Done(_recovered(damaged.recover(self.path)))
            case FileDecision.KEEP:
                damaged.keep(self.path)
                return Done(message("The damaged file is kept in {folder}.", folder=damaged.folder))
        damaged.delete(self.path)
        return Done(message("The damaged file is deleted."))


@dataclass(frozen=True)
class RecoverSound(Command):
    """Offer the readable parts of a library recording, which does not change."""

    take_id: str

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        return Done(_recovered(context.library.damaged.recover_sound(self.take_id)))


@dataclass(frozen=True, slots=True)
class Checked:
    """A recording that was read and checked."""

    audio: TakeAudio
    review: Review


@dataclass(frozen=True, eq=False)
class CheckTake(Command):
    """Check a part of a recording, all of it if `span` is None. Finds a `Checked`.

    Attributes:
        audio: what was read before; None for the first check.
        check: the check to make; None for the full one.
    """

    source: CheckSource
    span: TrimRange | None
    audio: TakeAudio | None
    check: Callable[[TakeAudio], TakeCheck] | None
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        library = context.library
        source, audio = open_source(library, self.source) if self.audio is None else (self.source, self.audio)
        part = audio if self.span is None else audio.part(self.span.start, self.span.end)
        check = check_take(part, lambda share: _tell(task, share)) if self.check is None else self.check(part)
        at = None if source.origin is Origin.FILE else source.metadata.recorded_at  # a file needs the consent now
        consent = library.consents.status(source.metadata.group_id, at)
        span, policy = self.span or TrimRange(0.0, audio.duration_s), library.consent_gate.rules().policy
        review = Review(source, check, audio.duration_s, span, audio.sample_rate, consent, policy)
        return Done(found=Checked(audio, review))


def open_source(library: Library, source: CheckSource) -> tuple[CheckSource, TakeAudio]:
    """A recording and its sound; a file gets its time and its digest. Blocks on the disk."""
    if source.origin is Origin.TAKE:
        return source, library.take_audio(source.path)
    if source.origin is Origin.LIBRARY:
        return source, library.whole_audio(source.name)
    written = from_unix_seconds(source.path.stat().st_mtime)
    content, sha256 = read_source(source.path, source.metadata.source_sha256)
    metadata = replace(source.metadata, recorded_at=written, source_sha256=sha256)
    return replace(source, metadata=metadata), decode_file(content)


def read_audio(library: Library, source: CheckSource) -> TakeAudio:
    """The sound of a recording. Blocks on the disk."""
    return open_source(library, source)[1]


def _tell(task: TaskContext, share: float) -> None:
    task.check()
    task.progress(round(_PERCENT * share), _PERCENT)


def _recovered(count: int) -> Message:
    return plural_message(
        "{count} readable part recovered. Review it as a recording; the damaged file is kept.",
        "{count} readable parts recovered. Review each as a recording; the damaged file is kept.",
        count,
    )
