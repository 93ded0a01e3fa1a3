"""What a page is asked to show: the arguments of `Navigator.open` that are more than a text."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class RecordingRoute:
    """A recording whose result is to be shown: one of this computer, a job of the service, or both.

    Attributes:
        recorded_at: when it was made, where the caller knows; a job does not tell.
    """

    take_id: str | None = None
    job_id: str | None = None
    group_id: str | None = None
    recorded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ComparisonRoute:
    """Two recordings of one subject, to be shown side by side."""

    left: RecordingRoute
    right: RecordingRoute


@dataclass(frozen=True, slots=True)
class ReviewRoute:
    """A recording of this computer whose check is to be shown again."""

    take_id: str
