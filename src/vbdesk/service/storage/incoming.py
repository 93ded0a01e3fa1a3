"""A local folder for files on their way in or out."""

import time
from contextlib import suppress
from pathlib import Path

_ABANDONED_AFTER_S = 3600.0  # far longer than any request lives


def clear_abandoned(folder: Path) -> None:
    """Remove what killed processes left half-written; what another process still writes to is young."""
    before = time.time() - _ABANDONED_AFTER_S
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # it was moved in meanwhile
            if path.stat().st_mtime < before:
                path.unlink()
