"""A take that has ended, and why it did."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from vbdesk.contract.rounding import whole
from vbdesk.language import Message, joined, message, plural_message


class EndReason(StrEnum):
    """Why a recording ended."""

    STOPPED = "stopped"
    CANCELLED = "cancelled"
    LIMIT = "limit"
    UNPLUGGED = "unplugged"
    REPLACED = "replaced"
    STALLED = "stalled"
    DISK_FULL = "disk_full"


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


def end_sentence(reason: EndReason, duration_s: float) -> Message | None:
    """Why a recording ended unexpectedly, and what of it is kept; None after a normal stop."""
    kept_text = (
        plural_message(
            "The {count} second before that is kept.", "The {count} seconds before that are kept.", whole(duration_s)
        )
        if duration_s > 0.0
        else message("Nothing had been recorded.")
    )
    match reason:
        case EndReason.LIMIT:
            return message("The recording has reached 20 minutes, the most that can be analysed. All of it is kept.")
        case EndReason.UNPLUGGED:
            return joined(message("The microphone was unplugged."), kept_text)
        case EndReason.REPLACED:
            return joined(message("The microphone was unplugged and another one took over."), kept_text)
        case EndReason.STALLED:
            return joined(message("The microphone gives no sound any more."), kept_text)
        case EndReason.DISK_FULL:
            room = message("Make room before you record again.")
            return joined(message("The disk is full or gone."), kept_text, room)
    return None
