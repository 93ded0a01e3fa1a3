"""Import recordings from files: a preview with the faults of each row, then the import.

Sources are files and folders, or a CSV with the columns `path,group_id,recorded_at,model`. A preview changes nothing,
and the originals are never changed. Everything here reads files: call it in a task.
"""

import csv
import hashlib
import io
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from vbdesk.capture.imported_sound import decode_file
from vbdesk.clock import Clock, SystemClock
from vbdesk.contract.catalog import STANDALONE_SIGNS, ModelName
from vbdesk.contract.groups import subject_fault
from vbdesk.contract.limits import MAX_DURATION_S, MIN_DURATION_S
from vbdesk.contract.rounding import whole
from vbdesk.contract.timestamps import from_unix_seconds, parse_timestamp
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library, NotAllowed
from vbdesk.voice.errors import AudioError

SUFFIXES = frozenset({".wav", ".flac", ".mp3", ".m4a"})
COLUMNS = ("path", "group_id", "recorded_at", "model")
DELIMITERS = ",;\t"
CLOCK_DRIFT = timedelta(minutes=5)  # between the device that recorded and this computer

Progress = Callable[[int, int], None]
Cancelled = Callable[[], bool]


class ImportFailed(Exception):
    """A list cannot be read; `str(error)` is one sentence for a person."""


@dataclass(frozen=True, slots=True)
class ImportRow:
    """One recording of a preview.

    Attributes:
        number: its line in the CSV, or its place among the files, from 1.
        duration_s, sha256: of the file; None if it cannot be read.
        error: why it cannot be imported, and what to do; None if it can.
        notes: assumptions that were made.
    """

    number: int
    path: Path
    group_id: str
    recorded_at: datetime | None
    target: RecordingTarget
    duration_s: float | None = None
    sha256: str | None = None
    error: str | None = None
    notes: tuple[str, ...] = ()


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
    """Result of a row: a take id, or the reason why there is none."""

    row: ImportRow
    take_id: str | None
    error: str | None


def find_recordings(paths: Iterable[Path]) -> list[Path]:
    """Every recording among `paths` and in the folders among them, by name; without hidden files."""
    found: dict[Path, None] = {}
    for path in paths:
        for candidate in sorted(path.rglob("*")) if path.is_dir() else [path]:
            hidden = path.is_dir() and any(part.startswith(".") for part in candidate.relative_to(path).parts)
            if candidate.suffix.lower() in SUFFIXES and candidate.is_file() and not hidden:
                found.setdefault(candidate.resolve())
    return list(found)


def preview_files(
    paths: Iterable[Path],
    group_id: str,
    target: RecordingTarget,
    known_sources: frozenset[str] = frozenset(),
    clock: Clock | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled = lambda: False,
) -> ImportPreview:
    """Preview the import of `paths`, files and folders, for one subject; `recorded_at` is the file's modification time.

    Args:
        paths: files and folders.
        group_id: the subject.
        target: what the service is asked for.
        known_sources: digests of files that are in the library already.
        clock: the system's if None.
        progress: called with the number of rows done, and of all.
        cancelled: called before each row; True ends the preview with the rows read so far.
    """
    rows = [
        ImportRow(
            number, path, group_id, _written_at(path), target, notes=("Recorded when the file was last written.",)
        )
        for number, path in enumerate(find_recordings(paths), start=1)
    ]
    return _checked(rows, known_sources, clock or SystemClock(), progress, cancelled)


def preview_csv(
    path: Path,
    target: RecordingTarget,
    known_sources: frozenset[str] = frozenset(),
    clock: Clock | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled = lambda: False,
    signs: Collection[str] = STANDALONE_SIGNS,
) -> ImportPreview:
    """Preview the import of the recordings in a CSV; arguments as for `preview_files`.

    `signs` are those that the service offers.

    Columns are `path` and `group_id`, and optionally `recorded_at` (ISO 8601; the file's own time if empty) and `model`
    (a model, or `sign:` and a sign; `target` if empty). Paths are relative to the CSV. Separators are commas,
    semicolons or tabs; the encoding is UTF-8, or that of Excel on Windows.

    Raises:
        ImportFailed: it is no such list.
        OSError: it cannot be read.
    """
    rows = [_csv_row(number, cells, path.parent, target, signs) for number, cells in _csv_cells(path)]
    if not rows:
        raise ImportFailed(f"There is no recording in {path.name}: it has no line below its head.")
    return _checked(rows, known_sources, clock or SystemClock(), progress, cancelled)


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
        rows: those with an error are skipped.
        common: tags, note, consent and protocol of all of them.
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
    metadata = replace(common, group_id=row.group_id, recorded_at=recorded_at, target=row.target)
    try:
        take_id = library.import_file(row.path, metadata)
        if queue:
            library.queue(take_id)
    except (NotAllowed, OSError, ValueError, AudioError) as error:
        return ImportOutcome(row, None, _words(error))
    return ImportOutcome(row, take_id, None)


def _checked(
    rows: list[ImportRow],
    known_sources: frozenset[str],
    clock: Clock,
    progress: Progress | None,
    cancelled: Cancelled,
) -> ImportPreview:
    checked: list[ImportRow] = []
    seen: dict[str, int] = {}
    for row in rows:
        if cancelled():
            break
        if row.error is None:
            row = _with_sound(row)  # noqa: PLW2901 - the same row with its sound
        if row.error is None:
            row = replace(row, error=_fault(row, seen, known_sources, clock.now()))  # noqa: PLW2901
        if row.sha256 is not None:
            seen.setdefault(row.sha256, row.number)
        checked.append(row)
        if progress is not None:
            progress(len(checked), len(rows))
    return ImportPreview(tuple(checked))


def _with_sound(row: ImportRow) -> ImportRow:
    try:
        content = row.path.read_bytes()
        duration_s = decode_file(content).duration_s
    except (OSError, AudioError) as error:
        return replace(row, error=_words(error))
    return replace(row, duration_s=duration_s, sha256=hashlib.sha256(content).hexdigest())


def _fault(row: ImportRow, seen: dict[str, int], known_sources: frozenset[str], now: datetime) -> str | None:
    fault = subject_fault(row.group_id)
    if fault is not None:
        return fault
    if row.recorded_at is not None and row.recorded_at > now + CLOCK_DRIFT:
        return "The time of the recording is in the future. Correct it, or the clock of this computer."
    if row.duration_s is not None and row.duration_s < MIN_DURATION_S:
        return f"The recording is {whole(row.duration_s)} s long; the service takes {MIN_DURATION_S:.0f} s and more."
    if row.duration_s is not None and row.duration_s > MAX_DURATION_S:
        return "The recording is longer than 20 minutes. Import it alone and trim it, or cut it before."
    if row.sha256 in known_sources:
        return "This recording is in the library already."
    if row.sha256 in seen:
        return f"This is the same recording as in row {seen[row.sha256]}."
    return None


def _csv_cells(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The number and the cells by column name of each line that is not empty."""
    reader = csv.reader(io.StringIO(_csv_text(path), newline=""), delimiter=_delimiter(_csv_text(path)))
    try:
        head = [name.strip().lower() for name in next(reader, [])]
        for needed in ("path", "group_id"):
            if needed not in head:
                raise ImportFailed(
                    f"{path.name} has no column {needed}. Its first line must name its columns: {','.join(COLUMNS)}."
                )
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, dict(zip(head, (cell.strip() for cell in cells), strict=False))
    except csv.Error as error:
        raise ImportFailed(f"{path.name} is not a CSV file ({error}). Save it as CSV and try again.") from error


def _csv_text(path: Path) -> str:
    content = path.read_bytes()
    if b"\0" in content:
        raise ImportFailed(f"{path.name} is not a CSV file. Save it as CSV (UTF-8) and try again.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def _delimiter(text: str) -> str:
    head = text.split("\n", 1)[0]
    return max(DELIMITERS, key=head.count)


def _csv_row(
    number: int, cells: dict[str, str], folder: Path, default: RecordingTarget, signs: Collection[str]
) -> ImportRow:
    path = folder / cells.get("path", "")
    row = ImportRow(number, path, cells.get("group_id", ""), None, default)
    if not cells.get("path"):
        return replace(row, error="There is no path in this row.")
    if not path.is_file():
        return replace(row, error=f"There is no file {cells['path']}.")
    try:
        row = replace(row, target=_target(cells.get("model", ""), default, signs))
        recorded_at, notes = _recorded_at(cells.get("recorded_at", ""), path)
    except ValueError as error:
        return replace(row, error=str(error))
    return replace(row, recorded_at=recorded_at, notes=notes)


def _recorded_at(text: str, path: Path) -> tuple[datetime, tuple[str, ...]]:
    if not text:
        return _written_at(path), ("Recorded when the file was last written.",)
    moment = parse_timestamp(text)
    has_zone = text[-1] in "Zz" or text[-6] in "+-"
    return moment, () if has_zone else ("The time has no zone and is taken as UTC.",)


def _target(text: str, default: RecordingTarget, signs: Collection[str]) -> RecordingTarget:
    if not text:
        return default
    target = RecordingTarget.parse(text if ":" in text else f"model:{text}")
    known: Iterable[str] = ModelName if target.kind == "model" else signs
    if target.name not in set(known):
        raise ValueError(f"There is no {target.kind} {target.name}. There are: {', '.join(sorted(known))}.")
    return target


def _written_at(path: Path) -> datetime:
    """Modification time of a file, to the second: an approximation of the recording time."""
    return from_unix_seconds(path.stat().st_mtime).replace(microsecond=0)


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"The file cannot be read ({error.strerror or type(error).__name__}). Check that it is there and yours."
    return str(error)
