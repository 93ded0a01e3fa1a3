"""A first submission has null results: there is no history to compare with."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from vbdesk.contract.longitudinal import LongitudinalFields, SignTrajectory
from vbdesk.contract.timestamps import format_timestamp
from vbdesk.longitudinal.parameters import SignClass
from vbdesk.longitudinal.rounding import rounded_age_days

MIN_RECORDINGS = 2
NULL_JOB_FIELDS = LongitudinalFields()


def has_history(recordings: int) -> bool:
    """Whether so many recordings of a sign can be compared with each other; else its results are null."""
    return recordings >= MIN_RECORDINGS


def null_trajectory(
    name: str, label: str, sign_class: SignClass, recorded_at: Sequence[datetime], as_of: datetime
) -> dict[str, Any]:
    """`SignTrajectory` without estimates; `recorded_at` has at most one recording."""
    last = recorded_at[-1] if recorded_at else None
    known = {
        "name": name,
        "label": label,
        "time_scale": sign_class.time_scale,
        "n_recordings": len(recorded_at),
        "n_timepoints": len(recorded_at),
        "last_recorded_at": format_timestamp(last) if last else None,
        "age_days": rounded_age_days(as_of, last) if last else None,
        "trend": {
            "direction": "insufficient_data",
            "slope_per_30d": None,
            "interval": None,
            "horizon_days": round(sign_class.trend_days),
        },
        "anomalies": [],
        "series": [],
    }
    return dict.fromkeys(SignTrajectory.model_fields) | known
