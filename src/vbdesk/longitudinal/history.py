"""A subject's history as this room receives it: finished and unfinished jobs of one group."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple


class SignReading(NamedTuple):
    """What one recording says about one sign.

    Attributes:
        score: 0..1, or None where nothing was measurable; such a reading is left out of the history.
        level: the level on the wire; `inconclusive` readings count, with the least weight.
        flagged: whether the level is consider, moderate or elevated.
        interval: 90 % interval of the score as the recording itself tells it, None where it does not.
    """

    score: float | None
    level: str
    flagged: bool
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One job of a group.

    Attributes:
        job_id: breaks ties between equal `recorded_at`.
        recorded_at: capture time, aware.
        status: membership status; only `done` jobs feed the computations.
        duration_s: length of the recording, None where unknown.
        voice_percentage: 0..100, None where unknown.
        audio_clarity: 0..100, None where unknown.
        issues: issue codes of the audio quality.
        recommended_action: the summary's action; None for a sign job.
        signs: readings by sign name.
    """

    job_id: str
    recorded_at: datetime
    status: str
    duration_s: float | None
    voice_percentage: float | None
    audio_clarity: float | None
    issues: tuple[str, ...]
    recommended_action: str | None
    signs: Mapping[str, SignReading]

    def __post_init__(self) -> None:
        if self.recorded_at.tzinfo is None:
            raise ValueError(f"The capture time of job {self.job_id} has no time zone; give it in UTC.")
