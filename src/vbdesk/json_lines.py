"""JSON-lines files: the one reader, and a writer whose lines survive a crash."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from vbdesk.language import message
from vbdesk.privacy import make_private, owner_only_opener


class JsonLinesDamaged(Exception):
    """A JSON-lines file cannot be read; `str(error)` is one sentence for a person."""


def parse_json_lines(lines: Iterable[bytes | str]) -> Iterator[Any]:
    """Parse each of `lines`.

    Raises:
        ValueError: a line is not JSON.
    """
    for line in lines:
        try:
            yield json.loads(line)
        except RecursionError as error:
            raise ValueError("the line is nested too deeply") from error


def read_valid_json_lines(path: Path) -> Iterator[Any]:
    """Read the values of the file at `path`, without lines that are not JSON; nothing if there is no file."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            try:
                yield from parse_json_lines([line])
            except ValueError:
                continue


class JsonLinesFile:
    """A file of JSON objects; each is on the disk when `append` returns.

    A crash can only cut the last line off; that line then counts as never written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Iterator[dict[str, Any]]:
        """Read the objects in the order of writing, after removing a last line that a crash cut off.

        Raises:
            JsonLinesDamaged: a line is not a JSON object; the file is left unchanged.
            OSError: the file cannot be read.
        """
        if not self._path.exists():
            return
        self._remove_incomplete_line()
        with self._path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    document = next(parse_json_lines([line]))
                except ValueError:
                    document = None
                if not isinstance(document, dict):
                    raise JsonLinesDamaged(
                        message(
                            "Line {number} of {path} is damaged. Restore the file, or move it away.",
                            number=number,
                            path=self._path,
                        )
                    )
                yield document

    def append(self, document: Mapping[str, Any]) -> None:
        """Write one object. Raises OSError."""
        line = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"
        make_private(self._path.parent)
        with open(self._path, "ab", opener=owner_only_opener) as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def _remove_incomplete_line(self) -> None:
        with self._path.open("rb+") as file:
            end = file.seek(0, os.SEEK_END)
            while end > 0:
                start = max(end - 4096, 0)
                file.seek(start)
                newline = file.read(end - start).rfind(b"\n")
                if newline >= 0:
                    file.truncate(start + newline + 1)
                    return
                end = start
            file.truncate(0)
