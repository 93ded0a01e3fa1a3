"""A file of JSON objects, one a line, that survives a crash."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from vbdesk.privacy import FILE_MODE, for_owner_alone, make_private


class JsonLinesDamaged(Exception):
    """A file of lines cannot be read; `str(error)` is one sentence for a person."""


class FilesInUse(Exception):
    """Another program works on the same files; `str(error)` is one sentence for a person."""


class JsonLinesFile:
    """Appends lines, each on the disk before the next step is taken.

    A crash can only cut the last line off, whose step then counts as not taken.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Iterator[dict[str, Any]]:
        """Every object, in the order in which they were written; what a crash cut off is removed first.

        Raises:
            LinesDamaged: a line is none of ours; the file is left as it is.
            OSError: it cannot be read.
        """
        if not self._path.exists():
            return
        self._drop_torn_line()
        with self._path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    document = json.loads(line)
                except (ValueError, RecursionError):
                    document = None
                if not isinstance(document, dict):
                    raise JsonLinesDamaged(
                        f"Line {number} of {self._path} is damaged. Restore the file, or move it away."
                    )
                yield document

    def append(self, document: Mapping[str, Any]) -> None:
        """Write one object. Raises OSError."""
        line = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"
        make_private(self._path.parent)
        with open(self._path, "ab", opener=for_owner_alone) as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def _drop_torn_line(self) -> None:
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


@contextmanager
def exclusive_lock(lock: Path) -> Iterator[None]:
    """Keep other programs out for as long as the block lasts; the system lets go when this program ends.

    Raises:
        InUse: another program is in.
    """
    make_private(lock.parent)
    held = FileLock(lock, timeout=0, mode=FILE_MODE, thread_local=False, is_singleton=False)
    try:
        held.acquire()
    except Timeout as error:
        raise FilesInUse(f"Another program is at work on {lock.parent}. Wait for its end.") from error
    try:
        yield
    finally:
        held.release()
