"""Where the analysis changed within a trajectory: readings of two calibrations are not on one scale."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from vbdesk.contract.longitudinal import DataPoint
from vbdesk.contract.spoken_language import without_widening


@dataclass(frozen=True, slots=True)
class AnalysisChange:
    """Two successive readings of one sign by different calibrations.

    Attributes:
        before: time of the last reading by `earlier`.
        after: time of the first reading by `later`.
    """

    before: datetime
    after: datetime
    earlier: str
    later: str

    @property
    def at(self) -> datetime:
        """The middle between the two readings, where charts draw a line."""
        return self.before + (self.after - self.before) / 2

    @property
    def is_language_only(self) -> bool:
        """Whether the calibration is the same, and only one side was compared cautiously because of its language."""
        return without_widening(self.earlier) == without_widening(self.later)


def analysis_changes(points: Iterable[DataPoint], sign: str) -> tuple[AnalysisChange, ...]:
    """Changes of the calibration of one sign, in time order.

    Readings without a known calibration are skipped: other services do not state it.
    """
    known = [
        (point.recorded_at, signal.sign_version)
        for point in sorted(points, key=lambda point: (point.recorded_at, point.job_id))
        for signal in point.signals
        if signal.name == sign and signal.sign_version is not None and signal.score is not None
    ]
    return tuple(
        AnalysisChange(before, after, earlier, later)
        for (before, earlier), (after, later) in itertools.pairwise(known)
        if earlier != later
    )


def one_change(changes: Sequence[AnalysisChange]) -> AnalysisChange | None:
    """The change that all signs share; None if there is none, or more than one.

    Signs that only some recordings asked for change between other readings: the times overlap.
    """
    if not changes or len({(change.earlier, change.later) for change in changes}) > 1:
        return None
    before, after = max(change.before for change in changes), min(change.after for change in changes)
    if before >= after:
        return None
    return AnalysisChange(before, after, changes[0].earlier, changes[0].later)


def calibrations_of(changes: Iterable[AnalysisChange]) -> tuple[str, ...]:
    """The calibrations on both sides, in the order of their first readings."""
    ordered = sorted(changes, key=lambda change: change.before)
    return tuple(dict.fromkeys(version for change in ordered for version in (change.earlier, change.later)))
