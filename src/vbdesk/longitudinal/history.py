"""History of a subject, the input of the method: the jobs of one group."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple


class SignReading(NamedTuple):
    """Score and level of one sign in one recording.

    Attributes:
        score: 0..1; None where nothing was measurable, and then the method skips the reading.
        level: the level on the wire; an `inconclusive` reading counts, with the least weight.
        flagged: whether the level is consider, moderate or elevated.
        interval: 90 % interval of the score; None where the analysis reports none.
        version: calibration that made the reading; None where unknown. The method does not use it.
    """

    score: float | None
    level: str
    flagged: bool
    interval: tuple[float, float] | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One job of a group.

    Attributes:
        job_id: breaks ties between equal `recorded_at`.
        recorded_at: capture time, aware.
        status: membership status; the method uses `done` jobs only.
        duration_s: length of the recording, None where unknown.
        voice_percentage: 0..100, None where unknown.
        audio_clarity: 0..100, None where unknown.
        issues: issue codes of the audio quality.
        recommended_action: action of the result's summary; None for a sign job.
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
