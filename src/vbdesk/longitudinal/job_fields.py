"""The longitudinal fields of one job, as of its own capture time [F14]."""

from collections.abc import Mapping, Sequence

from vbdesk.contract.longitudinal import LongitudinalFields
from vbdesk.longitudinal.cohort import CohortReference, population_z
from vbdesk.longitudinal.filtered_series import SignEstimate, filter_signs, last_estimate
from vbdesk.longitudinal.first_submission import NULL_JOB_FIELDS
from vbdesk.longitudinal.history import HistoryEntry
from vbdesk.longitudinal.parameters import Parameters, shipped_parameters
from vbdesk.longitudinal.rounding import rounded, rounded_difference
from vbdesk.longitudinal.window import window_of_job


def job_fields(
    history: Sequence[HistoryEntry], job_id: str, references: Mapping[str, CohortReference] | None = None
) -> dict[str, LongitudinalFields]:
    """Longitudinal fields of a job's signs, rounded for the wire.

    They depend on the recordings made before it, whenever those arrived. The job counts in any status, because it is
    just being finished. All fields are None on the first submission of a sign within 270 days.

    Args:
        history: the group's jobs in any order, including this one.
        job_id: the job.
        references: population reference by sign.

    Raises:
        ValueError: the job is not in the history.
    """
    return wire_fields(job_estimates(history, job_id), references)


def wire_fields(
    estimates: Mapping[str, SignEstimate | None], references: Mapping[str, CohortReference] | None = None
) -> dict[str, LongitudinalFields]:
    """Longitudinal fields by sign, rounded for the wire."""
    return {sign: _wire(estimate, (references or {}).get(sign)) for sign, estimate in estimates.items()}


def unconfirmed_changes(estimates: Mapping[str, SignEstimate | None]) -> frozenset[str]:
    """Slow signs whose change a second timepoint must still confirm."""
    return frozenset(sign for sign, estimate in estimates.items() if estimate is not None and estimate.unconfirmed)


def job_estimates(
    history: Sequence[HistoryEntry], job_id: str, parameters: Parameters | None = None
) -> dict[str, SignEstimate | None]:
    """Estimates of a job's signs as of its own time; None on first submission.

    Raises:
        ValueError: the job is not in the history.
    """
    parameters = parameters or shipped_parameters()
    job = next((entry for entry in history if entry.job_id == job_id), None)
    if job is None:
        raise ValueError(f"Job {job_id} is not in this history; add the job first.")
    return estimates_in_window(window_of_job(history, job), job, parameters)


def estimates_in_window(
    window: Sequence[HistoryEntry], job: HistoryEntry, parameters: Parameters
) -> dict[str, SignEstimate | None]:
    """Estimates of a job's signs after `window`; None on first submission."""
    estimates: dict[str, SignEstimate | None] = dict.fromkeys(sorted(job.signs))
    for series in filter_signs(window, sorted(job.signs), parameters):
        for column, sign in enumerate(series.signs):
            estimates[sign] = last_estimate(series, column, parameters)
    return estimates


def _wire(estimate: SignEstimate | None, reference: CohortReference | None) -> LongitudinalFields:
    if estimate is None:
        return NULL_JOB_FIELDS
    return LongitudinalFields(
        latest_score=rounded(estimate.latest_score),
        baseline_score=rounded(estimate.baseline_score),
        deviation_from_baseline=rounded_difference(estimate.latest_score, estimate.baseline_score),
        anomaly=estimate.anomaly,
        z_score=rounded(estimate.z_score),
        population_z=rounded(population_z(estimate.level, reference)),
    )
