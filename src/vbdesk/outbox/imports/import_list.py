"""Read a list of recordings: a CSV with the columns `path,group_id,recorded_at,model,protocol,tags`."""

import csv
import io
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from vbdesk.contract.catalog import STANDALONE_SIGNS, ModelName
from vbdesk.contract.spoken_language import SpokenLanguage, language_tag
from vbdesk.contract.timestamps import from_unix_seconds
from vbdesk.language import message, message_of
from vbdesk.outbox.imports.import_row import ImportRow
from vbdesk.outbox.library.items import RecordingTarget

COLUMNS = ("path", "group_id", "recorded_at", "model", "protocol", "tags")
DELIMITERS = ",;\t"
_YES_OR_NO = {"": None, "yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


class ImportFailed(Exception):
    """A list cannot be read; `str(error)` is one sentence for a person."""


def read_list(path: Path, target: RecordingTarget, signs: Collection[str] = STANDALONE_SIGNS) -> list[ImportRow]:
    """The recordings of a list, not yet checked.

    Columns are `path` and `group_id`, and optionally `recorded_at` (as in `written_times`; the file's own time if
    empty), `model` (a model, or `sign:` and a sign; `target` if empty), `protocol`, `tags` (separated by
    semicolons or commas), `language` (BCP 47), `second_language` (yes or no) and `consent` (for `vbdesk submit`).
    Paths are relative to the list. Separators are commas, semicolons or tabs; the encoding is UTF-8, or that of Excel
    on Windows.

    Raises:
        ImportFailed: it is no such list.
        OSError: it cannot be read.
    """
    rows = [_csv_row(number, cells, path.parent, target, signs) for number, cells in _csv_cells(path)]
    if not rows:
        raise ImportFailed(message("There is no recording in {file}: it has no line below its head.", file=path.name))
    return rows


def split_tags(text: str) -> tuple[str, ...]:
    """Tags that are separated by semicolons or commas."""
    tags = (tag.strip() for tag in text.replace(";", ",").split(","))
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def written_at(path: Path) -> datetime:
    """Modification time of a file, to the second: an approximation of the recording time."""
    return from_unix_seconds(path.stat().st_mtime).replace(microsecond=0)


def _csv_cells(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The number and the cells by column name of each line that is not empty."""
    reader = csv.reader(io.StringIO(_csv_text(path), newline=""), delimiter=_delimiter(_csv_text(path)))
    try:
        head = [name.strip().lower() for name in next(reader, [])]
        for needed in ("path", "group_id"):
            if needed not in head:
                raise ImportFailed(
                    message(
                        "{file} has no column {column}. Its first line must name its columns: {columns}.",
                        file=path.name,
                        column=needed,
                        columns=",".join(COLUMNS),
                    )
                )
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, dict(zip(head, (cell.strip() for cell in cells), strict=False))
    except csv.Error as error:
        raise ImportFailed(
            message("{file} is not a CSV file ({reason}). Save it as CSV and try again.", file=path.name, reason=error)
        ) from error


def _csv_text(path: Path) -> str:
    content = path.read_bytes()
    if b"\0" in content:
        raise ImportFailed(message("{file} is not a CSV file. Save it as CSV (UTF-8) and try again.", file=path.name))
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
    row = ImportRow(number, path, cells.get("group_id", ""), None, default, time_text=cells.get("recorded_at") or None)
    faults: list[str] = []
    if not cells.get("path"):
        faults.append(message("There is no path in this row."))
    elif not _is_file(path):
        faults.append(message("There is no file {file}.", file=cells["path"]))
    elif row.time_text is None:
        row = replace(row, recorded_at=written_at(path))
    try:
        row = replace(row, target=_target(cells.get("model", ""), default, signs))
    except ValueError as error:
        faults.append(message_of(error))
    try:
        row = replace(row, spoken=_spoken(cells))
    except ValueError as error:
        faults.append(message_of(error))
    tags = split_tags(cells["tags"]) if cells.get("tags") else None
    protocol, consent = cells.get("protocol") or None, cells.get("consent") or None
    return replace(row, protocol=protocol, tags=tags, consent=consent, list_faults=tuple(faults))


def _spoken(cells: dict[str, str]) -> SpokenLanguage:
    language, second = cells.get("language", ""), cells.get("second_language", "").casefold()
    if second not in _YES_OR_NO:
        raise ValueError(message("The column second_language has yes, no, or nothing if it is not known."))
    return SpokenLanguage(language_tag(language) if language else None, _YES_OR_NO[second])


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the name is too long
        return False


def _target(text: str, default: RecordingTarget, signs: Collection[str]) -> RecordingTarget:
    if not text:
        return default
    target = RecordingTarget.parse(text if ":" in text else f"model:{text}")
    known: Iterable[str] = ModelName if target.kind == "model" else signs
    if target.name not in set(known):
        listed = ", ".join(sorted(known))
        if target.kind == "model":
            raise ValueError(message("There is no model {name}. There are: {known}.", name=target.name, known=listed))
        raise ValueError(message("There is no sign {name}. There are: {known}.", name=target.name, known=listed))
    return target
