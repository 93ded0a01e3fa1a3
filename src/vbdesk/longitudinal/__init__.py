"""One subject over time: trait-shift-state filter, job fields, trajectory."""

from vbdesk.longitudinal.aggregate import aggregate
from vbdesk.longitudinal.cohort import CohortReference, cohort_reference, cohort_values, snapshot
from vbdesk.longitudinal.history import HistoryEntry, SignReading
from vbdesk.longitudinal.job_fields import job_estimates, job_fields, unconfirmed_changes, wire_fields
from vbdesk.longitudinal.trajectory import select_signs, trajectory, trajectory_json

__all__ = [
    "CohortReference",
    "HistoryEntry",
    "SignReading",
    "aggregate",
    "cohort_reference",
    "cohort_values",
    "job_estimates",
    "job_fields",
    "select_signs",
    "snapshot",
    "trajectory",
    "trajectory_json",
    "unconfirmed_changes",
    "wire_fields",
]
