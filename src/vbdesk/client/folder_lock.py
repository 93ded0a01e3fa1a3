"""A lock file that keeps other programs out of a folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from vbdesk.language import message
from vbdesk.privacy import FILE_MODE, make_private


class InUse(Exception):
    """Another program uses the same folder; `str(error)` is one sentence for a person."""


@contextmanager
def exclusive_lock(lock: Path) -> Iterator[None]:
    """Hold the lock file `lock` for the block; the system releases it when the process ends.

    Raises:
        InUse: another program holds the lock.
    """
    make_private(lock.parent)
    held = FileLock(lock, timeout=0, mode=FILE_MODE, thread_local=False, is_singleton=False)
    try:
        held.acquire()
    except Timeout as error:
        raise InUse(message("Another program is at work on {lock}. Wait for its end.", lock=lock.parent)) from error
    try:
        yield
    finally:
        held.release()
