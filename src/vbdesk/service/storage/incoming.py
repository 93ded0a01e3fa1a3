"""Local folder for files on their way into or out of the store."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from vbdesk.clock import utc_now

ABANDONED_AFTER_S = 3600.0  # far longer than any request takes
ABANDONED_ALONE_AFTER_S = 60.0  # for a process that receives recordings alone; only an operator's command may copy some


def file_time_now(folder: Path) -> float:
    """The modification time that a file in `folder` gets now, from a clock that may be a file server's."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_mtime
    except OSError:  # no space, or no right to write
        return utc_now().timestamp()


def clear_abandoned(folder: Path, older_than_s: float) -> None:
    """Remove half-written files of killed processes; files in use by another process are younger."""
    before = file_time_now(folder) - older_than_s
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # it was adopted meanwhile
            if path.stat().st_mtime < before:
                path.unlink()
