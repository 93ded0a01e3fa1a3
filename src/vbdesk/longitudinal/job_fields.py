"""The longitudinal fields of one job, as of its own capture time [F14]."""

from collections.abc import Mapping, Sequence

from vbdesk.contract.longitudinal import LongitudinalFields
from vbdesk.longitudinal.cohort import CohortReference, population_z
from vbdesk.longitudinal.course import Standing, follow, standing_of
from vbdesk.longitudinal.history import HistoryEntry
from vbdesk.longitudinal.parameters import Parameters, shipped_parameters
from vbdesk.longitudinal.rounding import rounded, rounded_difference
from vbdesk.longitudinal.window import window_of_job


def job_fields(
    history: Sequence[HistoryEntry], job_id: str, references: Mapping[str, CohortReference] | None = None
) -> dict[str, LongitudinalFields]:
    """Longitudinal fields of a job's signs, rounded for the wire.

    The job sees what was recorded before it, whenever that arrived; its own status is not asked, for it is just being
    finished. All fields are None on the first submission of a sign within 270 days.

    Args:
        history: the group's jobs in any order, this one among them.
        job_id: the job.
        references: population reference by sign.

    Raises:
        ValueError: the job is not in the history.
    """
    return wire_fields(job_standings(history, job_id), references)


def wire_fields(
    standings: Mapping[str, Standing | None], references: Mapping[str, CohortReference] | None = None
) -> dict[str, LongitudinalFields]:
    """Longitudinal fields by sign, rounded for the wire; all None where a sign has no standing yet."""
    return {sign: _wire(standing, (references or {}).get(sign)) for sign, standing in standings.items()}


def unconfirmed_changes(standings: Mapping[str, Standing | None]) -> frozenset[str]:
    """Slow signs that have changed at this timepoint, and become an anomaly only if another confirms it."""
    return frozenset(sign for sign, standing in standings.items() if standing is not None and standing.unconfirmed)


def job_standings(
    history: Sequence[HistoryEntry], job_id: str, parameters: Parameters | None = None
) -> dict[str, Standing | None]:
    """Where each sign of the job stands after it, unrounded; None on a sign's first submission.

    Raises:
        ValueError: the job is not in the history.
    """
    parameters = parameters or shipped_parameters()
    job = next((entry for entry in history if entry.job_id == job_id), None)
    if job is None:
        raise ValueError(f"Job {job_id} is not in this history; add it before asking for its fields.")
    return standings_in(window_of_job(history, job), job, parameters)


def standings_in(
    window: Sequence[HistoryEntry], job: HistoryEntry, parameters: Parameters
) -> dict[str, Standing | None]:
    """Where each sign of the job stands at the end of its window, in order; None on a sign's first submission."""
    standings: dict[str, Standing | None] = dict.fromkeys(sorted(job.signs))
    for course in follow(window, sorted(job.signs), parameters):
        for column, sign in enumerate(course.signs):
            standings[sign] = standing_of(course, column, parameters)
    return standings


def _wire(standing: Standing | None, reference: CohortReference | None) -> LongitudinalFields:
    if standing is None:
        return LongitudinalFields()
    return LongitudinalFields(
        latest_score=rounded(standing.latest_score),
        baseline_score=rounded(standing.baseline_score),
        deviation_from_baseline=rounded_difference(standing.latest_score, standing.baseline_score),
        anomaly=standing.anomaly,
        z_score=rounded(standing.z_score),
        population_z=rounded(population_z(standing.level, reference)),
    )
