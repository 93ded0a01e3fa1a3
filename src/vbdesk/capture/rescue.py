"""Takes that a crash left behind: found at the next start, offered to the person who made them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vbdesk.capture.sealed import SealedError, read_take


@dataclass(frozen=True, slots=True)
class RescuedTake:
    """A take that nobody has decided about yet.

    Attributes:
        complete: it was stopped in order, and only not taken into the library.
        about: what was known when the recording began (`group_id`, `recorded_at`, ...).
    """

    path: Path
    duration_s: float
    complete: bool
    about: Mapping[str, Any]
    last_written: datetime


def unfinished_takes(folder: Path, key: bytes) -> list[RescuedTake]:
    """Every take with sound left in `folder`, oldest first; one that is being recorded is among them.

    Reads whole files: call it in a task.
    Files of another key, or damaged, are left where they are and not listed; files without a single frame are deleted.
    """
    found: list[RescuedTake] = []
    for path in sorted(folder.glob("*.take")):
        try:
            take = read_take(path, key)
        except SealedError:
            continue
        if len(take.samples) == 0:
            path.unlink()
            continue
        last_written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        found.append(RescuedTake(path, take.duration_s, take.complete, take.about, last_written))
    return sorted(found, key=lambda take: take.last_written)
