"""Import recordings from files: a preview with the faults of each row, then the import.

Sources are files and folders, or a list (`import_list.py`). A preview changes nothing, and the originals are never
changed. Everything here reads files: call it in a task.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path

from vbdesk.capture.imported_sound import measure_file
from vbdesk.clock import Clock, SystemClock
from vbdesk.contract.audio_formats import AUDIO_SUFFIXES
from vbdesk.contract.catalog import STANDALONE_SIGNS
from vbdesk.language import Message, message, message_of, system_reason
from vbdesk.outbox.imports.import_list import read_list, written_at
from vbdesk.outbox.imports.import_row import FileFacts, ImportRow, KnownRecordings, check_rows
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library, NotAllowed
from vbdesk.outbox.library.subject_notes import AliasTaken
from vbdesk.voice.errors import AudioError

Progress = Callable[[int, int], None]
Cancelled = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """The rows of an import, before it is done."""

    rows: tuple[ImportRow, ...]

    @property
    def ready(self) -> tuple[ImportRow, ...]:
        """Rows that can be imported."""
        return tuple(row for row in self.rows if row.error is None)

    @property
    def faulty(self) -> tuple[ImportRow, ...]:
        """Rows that cannot be imported."""
        return tuple(row for row in self.rows if row.error is not None)


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """Result of a row: a take id, or the reason why there is none.

    Attributes:
        not_queued: why an imported recording was not put into the upload queue; None if it was, or should not be.
    """

    row: ImportRow
    take_id: str | None
    error: str | None
    not_queued: str | None = None


def find_recordings(paths: Iterable[Path]) -> list[Path]:
    """Every recording among `paths` and in the folders among them, by name; without hidden files."""
    found: dict[Path, None] = {}
    for path in paths:
        for candidate in sorted(path.rglob("*")) if path.is_dir() else [path]:
            hidden = path.is_dir() and any(part.startswith(".") for part in candidate.relative_to(path).parts)
            if candidate.suffix.lower() in AUDIO_SUFFIXES and candidate.is_file() and not hidden:
                found.setdefault(candidate.resolve())
    return list(found)


def file_rows(paths: Iterable[Path], group_id: str, target: RecordingTarget) -> list[ImportRow]:
    """Unchecked rows for `paths`, files and folders, of one subject; the time is the file's modification time."""
    return [
        ImportRow(number, path, group_id, written_at(path), target)
        for number, path in enumerate(find_recordings(paths), start=1)
    ]


def read_facts(path: Path) -> FileFacts:
    """Read a whole file: its length and digest, or why it cannot be imported."""
    try:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            return FileFacts(measure_file(file).duration_s, sha256)
    except (OSError, AudioError) as error:
        return FileFacts(fault=_text(error))


def preview_files(
    paths: Iterable[Path],
    group_id: str,
    target: RecordingTarget,
    known: KnownRecordings | None = None,
    clock: Clock | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled = lambda: False,
) -> ImportPreview:
    """Preview the import of `paths`, files and folders, for one subject; `recorded_at` is the file's modification time.

    Args:
        paths: files and folders.
        group_id: the subject.
        target: what the service is asked for.
        known: recordings that are in the library already.
        clock: the system's if None.
        progress: called with the number of rows done, and of all.
        cancelled: called before each row; True ends the preview with the rows read so far.
    """
    return _preview(file_rows(paths, group_id, target), known, clock, progress, cancelled)


def preview_csv(
    path: Path,
    target: RecordingTarget,
    known: KnownRecordings | None = None,
    clock: Clock | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled = lambda: False,
    signs: Collection[str] = STANDALONE_SIGNS,
) -> ImportPreview:
    """Preview the import of the recordings in a list, see `read_list`; arguments as for `preview_files`.

    `signs` are those that the service offers. Times without an offset are in UTC.

    Raises:
        ImportFailed: it is no such list.
        OSError: it cannot be read.
    """
    return _preview(read_list(path, target, signs), known, clock, progress, cancelled)


def import_rows(
    library: Library,
    rows: Iterable[ImportRow],
    common: TakeMetadata,
    queue: bool = False,
    progress: Progress | None = None,
    cancelled: Cancelled = lambda: False,
) -> list[ImportOutcome]:
    """Import rows of a preview, one after the other; a failed row does not stop the others.

    Args:
        library: the destination.
        rows: those with an error are skipped; a new alias is stored with the first recording of its subject.
        common: note and consent of all of them; protocol and tags of rows without own ones.
        queue: whether to put each into the upload queue.
        progress: called with the number of rows done, and of all.
        cancelled: called before each row; True ends the import; what was imported so far stays.
    """
    wanted = [row for row in rows if row.error is None]
    done: list[ImportOutcome] = []
    for row in wanted:
        if cancelled():
            break
        done.append(_import(library, row, common, queue))
        if progress is not None:
            progress(len(done), len(wanted))
    return done


def _import(library: Library, row: ImportRow, common: TakeMetadata, queue: bool) -> ImportOutcome:
    recorded_at = row.recorded_at or common.recorded_at
    metadata = replace(
        common,
        group_id=row.group_id,
        recorded_at=recorded_at,
        target=row.target,
        protocol=common.protocol if row.protocol is None else row.protocol,
        tags=common.tags if row.tags is None else row.tags,
        spoken=row.spoken,
        consented_at=common.consented_at if row.group_id == common.group_id else None,
        source_sha256="" if row.facts is None else row.facts.sha256 or "",
    )
    try:
        if row.alias:
            library.subject_notes.store_alias(row.group_id, row.alias)
        take_id = library.import_file(row.path, metadata)
    except (AliasTaken, NotAllowed, OSError, ValueError, AudioError) as error:
        return ImportOutcome(row, None, _text(error))
    try:
        if queue:
            library.queue(take_id)
    except (NotAllowed, OSError) as error:
        return ImportOutcome(row, take_id, None, _text(error))
    return ImportOutcome(row, take_id, None)


def _preview(
    rows: list[ImportRow],
    known: KnownRecordings | None,
    clock: Clock | None,
    progress: Progress | None,
    cancelled: Cancelled,
) -> ImportPreview:
    read: list[ImportRow] = []
    for row in rows:
        if cancelled():
            break
        read.append(row if row.list_faults else replace(row, facts=read_facts(row.path)))
        if progress is not None:
            progress(len(read), len(rows))
    return ImportPreview(tuple(check_rows(read, known or KnownRecordings(), UTC, (clock or SystemClock()).now())))


def _text(error: Exception) -> Message:
    if isinstance(error, OSError):
        return message(
            "The file cannot be read ({reason}). Check that it is there and yours.",
            reason=system_reason(error),
        )
    return message_of(error)
