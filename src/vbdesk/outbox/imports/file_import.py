"""Files from elsewhere: what would be imported, row by row, and what is wrong with which; then the import itself.

Files and folders, or a CSV with the columns `path,group_id,recorded_at,model`. Nothing is changed by looking, and the
originals are only ever read. Everything here reads files: call it in a task.
"""

import csv
import hashlib
import io
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from vbdesk.capture.clock import Clock, SystemClock
from vbdesk.contract.catalog import STANDALONE_SIGNS, ModelName
from vbdesk.contract.groups import group_id_fault
from vbdesk.contract.limits import MAX_DURATION_S, MIN_DURATION_S
from vbdesk.contract.timestamps import from_unix_seconds, parse_timestamp
from vbdesk.outbox.imports.imported_sound import decode_file
from vbdesk.outbox.library.items import TakeMetadata, Target
from vbdesk.outbox.library.library import Library
from vbdesk.voice.errors import AudioError

SUFFIXES = frozenset({".wav", ".flac", ".mp3", ".m4a"})
COLUMNS = ("path", "group_id", "recorded_at", "model")
DELIMITERS = ",;\t"
CLOCK_DRIFT = timedelta(minutes=5)  # between the device that recorded and this computer

Progress = Callable[[int, int], None]
Cancelled = Callable[[], bool]


class IntakeError(Exception):
    """A list cannot be read at all; `str(error)` is one sentence for a person."""


@dataclass(frozen=True, slots=True)
class IntakeRow:
    """One recording that could be imported.

    Attributes:
        number: its line in the CSV; its place among files that were dropped, from 1.
        duration_s, sha256: of the file; None when it cannot be read.
        error: why it cannot be imported, and what to do; None when it can.
        notes: what was assumed.
    """

    number: int
    path: Path
    group_id: str
    recorded_at: datetime | None
    target: Target
    duration_s: float | None = None
    sha256: str | None = None
    error: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """What an import would do."""

    rows: tuple[IntakeRow, ...]

    @property
    def ready(self) -> tuple[IntakeRow, ...]:
        """What can be imported."""
        return tuple(row for row in self.rows if row.error is None)

    @property
    def faulty(self) -> tuple[IntakeRow, ...]:
        """What cannot."""
        return tuple(row for row in self.rows if row.error is not None)


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a row: a take id, or the reason why there is none."""

    row: IntakeRow
    take_id: str | None
    error: str | None


def find_recordings(paths: Iterable[Path]) -> list[Path]:
    """Every recording among `paths` and in the folders among them, by name; hidden files are left out."""
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
    target: Target,
    known_sources: frozenset[str] = frozenset(),
    clock: Clock | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled = lambda: False,
) -> Preview:
    """What importing `paths`, files and folders, for one subject would do; each was recorded when it was last written.

    Args:
        paths: files and folders.
        group_id: the subject.
        target: what is asked of the service.
        known_sources: digests of files that are in the library already.
        clock: the system's if None.
        progress: called with the number of rows done, and of all.
        cancelled: asked before each row; what was read so far is given.
    """
    rows = [
        IntakeRow(
            number, path, group_id, _written_at(path), target, notes=("Recorded when the file was last written.",)
        )
        for number, path in enumerate(find_recordings(paths), start=1)
    ]
    return _checked(rows, known_sources, clock or SystemClock(), progress, cancelled)


def preview_csv(
    path: Path,
    target: Target,
    known_sources: frozenset[str] = frozenset(),
    clock: Clock | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled = lambda: False,
    signs: Collection[str] = STANDALONE_SIGNS,
) -> Preview:
    """What importing the recordings in a CSV would do; arguments as `preview_files`.

    `signs` are those that the service takes.

    Columns are `path` and `group_id`, and where wanted `recorded_at` (ISO 8601; the file's own time if empty) and
    `model` (a model, or `sign:` and a sign; `target` if empty). Paths are taken from where the CSV is. Commas,
    semicolons and tabs part columns; text is UTF-8, or what Excel writes on Windows.

    Raises:
        IntakeError: it is no such list.
        OSError: it cannot be read.
    """
    rows = [_csv_row(number, cells, path.parent, target, signs) for number, cells in _csv_cells(path)]
    if not rows:
        raise IntakeError(f"There is no recording in {path.name}: it has no line below its head.")
    return _checked(rows, known_sources, clock or SystemClock(), progress, cancelled)


def import_rows(
    library: Library,
    rows: Iterable[IntakeRow],
    common: TakeMetadata,
    queue: bool = False,
    progress: Progress | None = None,
    cancelled: Cancelled = lambda: False,
) -> list[Imported]:
    """Import rows of a preview, one after the other; one that fails does not keep the others back.

    Args:
        library: where to.
        rows: those with an error are left out.
        common: tags, note, consent and protocol of all of them.
        queue: put each in the line to be sent.
        progress: called with the number of rows done, and of all.
        cancelled: asked before each row; what was imported so far stays.
    """
    wanted = [row for row in rows if row.error is None]
    done: list[Imported] = []
    for row in wanted:
        if cancelled():
            break
        done.append(_import(library, row, common, queue))
        if progress is not None:
            progress(len(done), len(wanted))
    return done


def _import(library: Library, row: IntakeRow, common: TakeMetadata, queue: bool) -> Imported:
    recorded_at = row.recorded_at or common.recorded_at
    metadata = replace(common, group_id=row.group_id, recorded_at=recorded_at, target=row.target)
    try:
        take_id = library.import_file(row.path, metadata)
        if queue:
            library.queue(take_id)
    except (OSError, ValueError, AudioError) as error:
        return Imported(row, None, _words(error))
    return Imported(row, take_id, None)


def _checked(
    rows: list[IntakeRow],
    known_sources: frozenset[str],
    clock: Clock,
    progress: Progress | None,
    cancelled: Cancelled,
) -> Preview:
    checked: list[IntakeRow] = []
    seen: dict[str, int] = {}
    for row in rows:
        if cancelled():
            break
        if row.error is None:
            row = _with_sound(row)  # noqa: PLW2901 - the same row, better known
        if row.error is None:
            row = replace(row, error=_fault(row, seen, known_sources, clock.now()))  # noqa: PLW2901
        if row.sha256 is not None:
            seen.setdefault(row.sha256, row.number)
        checked.append(row)
        if progress is not None:
            progress(len(checked), len(rows))
    return Preview(tuple(checked))


def _with_sound(row: IntakeRow) -> IntakeRow:
    try:
        content = row.path.read_bytes()
        duration_s = decode_file(content).duration_s
    except (OSError, AudioError) as error:
        return replace(row, error=_words(error))
    return replace(row, duration_s=duration_s, sha256=hashlib.sha256(content).hexdigest())


def _fault(row: IntakeRow, seen: dict[str, int], known_sources: frozenset[str], now: datetime) -> str | None:
    fault = group_id_fault(row.group_id)
    if fault is not None:
        return fault
    if row.recorded_at is not None and row.recorded_at > now + CLOCK_DRIFT:
        return "The time of the recording lies in the future. Correct it, or the clock of this computer."
    if row.duration_s is not None and row.duration_s < MIN_DURATION_S:
        return f"The recording is {row.duration_s:.1f} s long; the service takes {MIN_DURATION_S:.0f} s and more."
    if row.duration_s is not None and row.duration_s > MAX_DURATION_S:
        return "The recording is longer than 20 minutes. Import it alone and trim it, or cut it before."
    if row.sha256 in known_sources:
        return "This recording is in the library already."
    if row.sha256 in seen:
        return f"This is the same recording as in row {seen[row.sha256]}."
    return None


def _csv_cells(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Each line that is not empty, with its number, by the name of its column."""
    reader = csv.reader(io.StringIO(_csv_text(path), newline=""), delimiter=_delimiter(_csv_text(path)))
    try:
        head = [name.strip().lower() for name in next(reader, [])]
        for needed in ("path", "group_id"):
            if needed not in head:
                raise IntakeError(
                    f"{path.name} has no column {needed}. Its first line must name its columns: {','.join(COLUMNS)}."
                )
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, dict(zip(head, (cell.strip() for cell in cells), strict=False))
    except csv.Error as error:
        raise IntakeError(f"{path.name} is not a CSV file ({error}). Save it as CSV and try again.") from error


def _csv_text(path: Path) -> str:
    content = path.read_bytes()
    if b"\0" in content:
        raise IntakeError(f"{path.name} is not a CSV file. Save it as CSV (UTF-8) and try again.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def _delimiter(text: str) -> str:
    head = text.split("\n", 1)[0]
    return max(DELIMITERS, key=head.count)


def _csv_row(number: int, cells: dict[str, str], folder: Path, default: Target, signs: Collection[str]) -> IntakeRow:
    path = folder / cells.get("path", "")
    row = IntakeRow(number, path, cells.get("group_id", ""), None, default)
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


def _target(text: str, default: Target, signs: Collection[str]) -> Target:
    if not text:
        return default
    target = Target.parse(text if ":" in text else f"model:{text}")
    known: Iterable[str] = ModelName if target.kind == "model" else signs
    if target.name not in set(known):
        raise ValueError(f"There is no {target.kind} {target.name}. There are: {', '.join(sorted(known))}.")
    return target


def _written_at(path: Path) -> datetime:
    """When a file was last written, to the second: near the recording, and no more exact than that."""
    return from_unix_seconds(path.stat().st_mtime).replace(microsecond=0)


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"The file cannot be read ({error.strerror or type(error).__name__}). Check that it is there and yours."
    return str(error)
