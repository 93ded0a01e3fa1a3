"""A file of JSON objects, one per line, that survives a crash."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from vbdesk.privacy import FILE_MODE, for_owner_alone, make_private


class JsonLinesDamaged(Exception):
    """The file cannot be parsed; `str(error)` is one sentence for a person."""


class FilesInUse(Exception):
    """Another program uses the same files; `str(error)` is one sentence for a person."""


class JsonLinesFile:
    """Appends lines, each synced to the disk before the next step.

    A crash can only truncate the last line, whose step then counts as not done.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Iterator[dict[str, Any]]:
        """Every object, oldest first; a line that a crash truncated is removed.

        Raises:
            JsonLinesDamaged: a line is invalid; the file is left as it is.
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
        """Append one object. Raises OSError."""
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
    """Lock out other programs during the block; the system releases the lock when this program ends.

    Raises:
        FilesInUse: another program holds the lock.
    """
    make_private(lock.parent)
    held = FileLock(lock, timeout=0, mode=FILE_MODE, thread_local=False, is_singleton=False)
    try:
        held.acquire()
    except Timeout as error:
        raise FilesInUse(f"Another program uses {lock.parent}. Wait until it ends.") from error
    try:
        yield
    finally:
        held.release()
