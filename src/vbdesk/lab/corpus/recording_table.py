"""CSV tables of recordings, one line per recording."""

import csv
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vbdesk.language import message, system_reason


class TableError(Exception):
    """The table cannot be used; the message names the file, the line and the remedy."""


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """One line: `fields` by column, stripped; a missing or empty column has no field."""

    line: int
    path: Path
    fields: Mapping[str, str]


def read_table(path: Path, folder: Path, required: Sequence[str], optional: Collection[str]) -> list[CorpusRow]:
    """Read the table at `path`, whose column `path` is relative to `folder`.

    The rows are sorted by recording, so that the result does not depend on the order of lines.

    Raises:
        TableError: the file cannot be read, a column or field is missing, or a recording is named twice.
    """
    columns = ["path", *required]
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            names = [name.strip() for name in reader.fieldnames or ()]
            absent = [column for column in columns if column not in names]
            if absent:
                known = ", ".join([*columns, *(f"{column} (optional)" for column in optional)])
                raise TableError(
                    message(
                        "{file} has no column '{absent}'. Its first line must name: {known}.",
                        file=path.name,
                        absent=absent[0],
                        known=known,
                    )
                )
            reader.fieldnames = names
            rows = [_row(path, reader.line_num, line, folder, columns) for line in reader]
    except OSError as error:
        raise TableError(message("{path} cannot be read: {reason}.", path=path, reason=system_reason(error))) from error
    except UnicodeDecodeError as error:
        raise TableError(message("{file} is not text in UTF-8. Save it as CSV UTF-8.", file=path.name)) from error
    except csv.Error as error:
        raise TableError(message("{file} is not CSV: {error}.", file=path.name, error=error)) from error
    if not rows:
        raise TableError(message("{file} names no recording.", file=path.name))
    seen: dict[Path, int] = {}
    for row in rows:
        if row.path in seen:
            raise TableError(
                message(
                    "{file}, line {line}: {path} is already in line {seen}.",
                    file=path.name,
                    line=row.line,
                    path=row.path,
                    seen=seen[row.path],
                )
            )
        seen[row.path] = row.line
    return sorted(rows, key=lambda row: row.path.relative_to(folder).parts if row.path.is_relative_to(folder) else ())


def _row(
    table: Path, line: int, fields: Mapping[str | None, str | None], folder: Path, columns: Sequence[str]
) -> CorpusRow:
    if None in fields:
        raise TableError(
            message(
                "{file}, line {line}: there are more fields than columns. Quote fields with commas.",
                file=table.name,
                line=line,
            )
        )
    given = {str(name): (value or "").strip() for name, value in fields.items()}
    for column in columns:
        if not given[column]:
            raise TableError(
                message("{file}, line {line}: {column} is empty.", file=table.name, line=line, column=column)
            )
    path = folder / given.pop("path")
    return CorpusRow(line, path, {name: value for name, value in given.items() if value})
