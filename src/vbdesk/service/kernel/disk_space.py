"""Disk space of this process: how much is free, how much is held back, and which errors say that none is left."""

import errno
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from vbdesk.service.kernel.errors import OutOfSpace

_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})
_FULL_SQLITE = ("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_TRUNCATE", "SQLITE_IOERR_SHM")
_FULL_POSTGRESQL = "53100"


def is_disk_full(error: BaseException) -> bool:
    """Whether the error says that a disk, here or under the database, takes no more."""
    if isinstance(error, DBAPIError):
        name = getattr(error.orig, "sqlite_errorname", None) or ""
        return name.startswith(_FULL_SQLITE) or getattr(error.orig, "sqlstate", None) == _FULL_POSTGRESQL
    return isinstance(error, OSError) and error.errno in _FULL_ERRNOS


def free_bytes(folder: Path) -> int:
    """Bytes that this process may still write on the disk of `folder`. Raises OSError."""
    return shutil.disk_usage(folder).free


@dataclass(frozen=True, slots=True)
class DiskReserve:
    """Space that new recordings may not use, so that jobs can end and the database goes on.

    Attributes:
        folders: one on each disk that this process writes to.
        reserve_bytes: how much of each is held back; 0 holds back nothing.
        measure: gives the free space of a folder.
    """

    folders: Sequence[Path]
    reserve_bytes: int
    measure: Callable[[Path], int] = free_bytes

    def free_bytes(self) -> int | None:
        """The free space of the disk that has least; None where it cannot be read."""
        found = []
        for folder in self.folders:
            try:
                found.append(self.measure(folder))
            except OSError:  # a folder that is gone is the finding of another check
                continue
        return min(found, default=None)

    def is_reached(self, wanted_bytes: int = 0) -> bool:
        """Whether less than the reserve is free, or would be with so many bytes more."""
        if not self.reserve_bytes:
            return False
        free = self.free_bytes()
        return free is not None and free - wanted_bytes < self.reserve_bytes

    def require(self, wanted_bytes: int = 0) -> None:
        """Let a recording in. Raises OutOfSpace when the reserve is reached."""
        if self.is_reached(wanted_bytes):
            raise OutOfSpace
