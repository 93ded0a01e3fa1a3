"""A local folder for files on their way in or out."""

import time
from contextlib import suppress
from pathlib import Path

ABANDONED_AFTER_S = 3600.0  # far longer than any request lives
ABANDONED_ALONE_AFTER_S = 60.0  # where no other process receives recordings, only an operator's command may copy some


def clear_abandoned(folder: Path, older_than_s: float) -> None:
    """Remove what killed processes left half-written; what another process still writes to is young."""
    before = time.time() - older_than_s
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # it was moved in meanwhile
            if path.stat().st_mtime < before:
                path.unlink()
