"""Which job of the service belongs to a recording whose answer was lost: a pure comparison.

A submit whose answer did not come may have been accepted and charged. Before it is repeated, the group's jobs are
searched for the recording's own; that needs a `recorded_at` which no other recording of the caller shares.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Protocol

from vbdesk.client.analyze import AnalysisTarget
from vbdesk.client.errors import CaptivePortal, ClientError, ConnectionFailed, ServiceUnavailable, UnexpectedAnswer
from vbdesk.client.retry import SAFE_STATUSES
from vbdesk.contract.groups import GroupJobItem
from vbdesk.contract.jobs import Job

SEARCH_AFTER_S = (5.0, 25.0)  # a request on its way when the line broke may still arrive, and late
SAME_LENGTH_S = 0.1  # containers round their length, and a lower rate the last sample
CLOCKS_APART = timedelta(minutes=10)  # how far our note of the asking may be before the service's of the job


class Sent(Protocol):
    """A recording that the service was asked to analyse."""

    @property
    def target(self) -> AnalysisTarget:
        """What it was to be analysed for."""
        ...

    @property
    def recorded_at(self) -> datetime:
        """Its moment, as it was told to the service."""
        ...

    @property
    def duration_s(self) -> float | None:
        """Its length; None if it is not known here."""
        ...


def may_have_been_taken(error: ClientError) -> bool:
    """Whether a submit that ended in `error` may have been accepted all the same: better search than pay twice."""
    match error:
        case ConnectionFailed():
            return error.maybe_delivered
        case ServiceUnavailable():
            return error.status not in SAFE_STATUSES
        case CaptivePortal() | UnexpectedAnswer():
            return True
        case _:
            return False


def searched_span(sent: Sent) -> tuple[datetime, datetime]:
    """The inclusive bounds on `recorded_at` between which its job must lie, however many digits the service keeps."""
    return sent.recorded_at.replace(microsecond=0), sent.recorded_at


def job_in_group(sent: Sent, jobs: Iterable[GroupJobItem], is_known: Callable[[str], bool]) -> str | None:
    """The job among those of the recording's group that is its own, None if there is none.

    A job of exactly its moment goes before one whose moment was cut to fewer digits; that one must have its length too.

    Args:
        sent: the recording.
        jobs: jobs of its group within `searched_span`.
        is_known: whether a job id is known to belong to another recording of ours.
    """
    fitting = [job for job in jobs if _fits(sent, job) and not is_known(job.job_id)]
    fitting.sort(key=lambda job: job.recorded_at != sent.recorded_at)
    return fitting[0].job_id if fitting else None


def is_job_of_bytes(sent: Sent, job: Job, size_bytes: int, asked_at: datetime) -> bool:
    """Whether a job that is in no group any more is the recording's: same target, length and, to the byte, upload."""
    return (
        _of_target(sent, job.model_name, job.sign_name)
        and job.created_at >= asked_at - CLOCKS_APART
        and job.audio_size_bytes == size_bytes
        and _same_length(sent, job.audio_duration_seconds)
    )


def _fits(sent: Sent, job: GroupJobItem) -> bool:
    if job.recorded_at is None or not _of_target(sent, job.model_name, job.sign_name):
        return False
    if job.recorded_at == sent.recorded_at:
        return True
    cut = {sent.recorded_at.replace(microsecond=sent.recorded_at.microsecond // unit * unit) for unit in (1000, 10**6)}
    return job.recorded_at in cut and _same_length(sent, job.audio_duration_seconds)


def _of_target(sent: Sent, model_name: str | None, sign_name: str | None) -> bool:
    """The items of a group need not say what was asked for."""
    if model_name is None and sign_name is None:
        return True
    return (model_name if sent.target.kind == "model" else sign_name) == sent.target.name


def _same_length(sent: Sent, duration_s: float) -> bool:
    return sent.duration_s is None or abs(duration_s - sent.duration_s) <= SAME_LENGTH_S
