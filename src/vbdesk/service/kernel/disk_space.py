"""Disk space of this process: free bytes, the reserve, and errors of a full disk."""

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
    """Return whether the error means a full disk, on this computer or on the database server."""
    if isinstance(error, DBAPIError):
        name = getattr(error.orig, "sqlite_errorname", None) or ""
        return name.startswith(_FULL_SQLITE) or getattr(error.orig, "sqlstate", None) == _FULL_POSTGRESQL
    return isinstance(error, OSError) and error.errno in _FULL_ERRNOS


def free_bytes(folder: Path) -> int:
    """Bytes that this process may still write on the disk of `folder`. Raises OSError."""
    return shutil.disk_usage(folder).free


@dataclass(frozen=True, slots=True)
class DiskReserve:
    """Disk space that new recordings may not use, so that jobs can finish.

    Attributes:
        folders: one on each disk that this process writes to.
        reserve_bytes: space kept free on each disk; 0 turns the reserve off.
        measure: returns the free space of a folder.
    """

    folders: Sequence[Path]
    reserve_bytes: int
    measure: Callable[[Path], int] = free_bytes

    def free_bytes(self) -> int | None:
        """Free space of the disk that has least; None where it cannot be read."""
        found = []
        for folder in self.folders:
            try:
                found.append(self.measure(folder))
            except OSError:  # another check reports a missing folder
                continue
        return min(found, default=None)

    def is_reached(self, wanted_bytes: int = 0) -> bool:
        """Return whether less than the reserve is free, or would be after `wanted_bytes` more."""
        if not self.reserve_bytes:
            return False
        free = self.free_bytes()
        return free is not None and free - wanted_bytes < self.reserve_bytes

    def require(self, wanted_bytes: int = 0) -> None:
        """Raise OutOfSpace when `wanted_bytes` more would use the reserve."""
        if self.is_reached(wanted_bytes):
            raise OutOfSpace
