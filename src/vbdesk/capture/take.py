"""A take that has ended, and why it did."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from vbdesk.contract.rounding import whole


class EndReason(StrEnum):
    """Why a recording ended."""

    STOPPED = "stopped"
    CANCELLED = "cancelled"
    LIMIT = "limit"
    UNPLUGGED = "unplugged"
    REPLACED = "replaced"
    STALLED = "stalled"
    DISK_FULL = "disk_full"


_SENTENCES = {
    EndReason.LIMIT: "The recording has reached 20 minutes, the most that can be analysed. All of it is kept.",
    EndReason.UNPLUGGED: "The microphone was unplugged. {kept}",
    EndReason.REPLACED: "The microphone was unplugged and another one took over. {kept}",
    EndReason.STALLED: "The microphone gives no sound any more. {kept}",
    EndReason.DISK_FULL: "The disk is full or gone. {kept} Make room before you record again.",
}


@dataclass(frozen=True, slots=True)
class Take:
    """A take that has ended, encrypted on disk.

    Attributes:
        sentence: why it ended unexpectedly and what was kept; None after a normal stop.
        overflows: how often the sound system reported lost frames.
        missing_s: sound missing compared with the elapsed time; 0 below half a second.
        all_zero: whether all samples are silent: the microphone is muted or not permitted.
    """

    path: Path
    sample_rate: int
    duration_s: float
    recorded_at: datetime
    end: EndReason
    sentence: str | None
    overflows: int
    missing_s: float
    all_zero: bool = False


def end_sentence(reason: EndReason, duration_s: float) -> str | None:
    """Why a recording ended unexpectedly, and what of it is kept; None after a normal stop."""
    text = _SENTENCES.get(reason)
    if text is None:
        return None
    seconds = whole(duration_s)
    if duration_s == 0.0:
        return text.format(kept="Nothing had been recorded.")
    kept, verb = ("The one second", "is") if seconds == 1 else (f"The {seconds} seconds", "are")
    return text.format(kept=f"{kept} before that {verb} kept.")
