"""Local folder for files on their way into or out of the store."""

import time
from contextlib import suppress
from pathlib import Path

ABANDONED_AFTER_S = 3600.0  # far longer than any request takes
ABANDONED_ALONE_AFTER_S = 60.0  # for a process that receives recordings alone; only an operator's command may copy some


def clear_abandoned(folder: Path, older_than_s: float) -> None:
    """Remove half-written files of killed processes; files in use by another process are younger."""
    before = time.time() - older_than_s
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # it was adopted meanwhile
            if path.stat().st_mtime < before:
                path.unlink()
