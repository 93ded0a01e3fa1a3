"""Which job belongs to a submit whose answer was lost: a pure decision by identity, never by similarity.

A submit whose answer was lost may have been accepted and charged. Two things prove that a job is its own:

- The reference of the submission, at a service that had announced that it reads it: the submit is repeated.
- The capture time, to the microsecond, in the subject's own group, where no other recording can have the same one.

A job that is only similar (fewer digits of the time, a time that a person entered, the same length) is never adopted.
But while such a job exists, only a person may send the recording again.
"""

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from vbdesk.client.analyze import AnalysisTarget
from vbdesk.client.errors import (
    AudioRefused,
    CaptivePortal,
    ClientError,
    Conflict,
    ConnectionFailed,
    ServiceUnavailable,
    UnexpectedAnswer,
)
from vbdesk.client.retry_policy import SAFE_STATUSES
from vbdesk.contract.groups import GroupJobItem
from vbdesk.contract.jobs import GroupJob, Job

SEARCH_AFTER_S = (5.0, 25.0)  # an interrupted request may still arrive, and late
CLOCK_TOLERANCE = timedelta(minutes=10)  # between the service's time at the request and that of the job
OTHER_LENGTH_S = 1.0  # containers and services round a length; a larger difference means another recording
_DIGITS = tuple(10**digits for digits in range(1, 7))


class SentRecording(Protocol):
    """A recording whose analysis was requested."""

    @property
    def target(self) -> AnalysisTarget:
        """What it is to be analysed for."""
        ...

    @property
    def recorded_at(self) -> datetime:
        """Its capture time, as sent to the service."""
        ...

    @property
    def time_is_unique(self) -> bool:
        """Whether no other recording anywhere can have this capture time: it was not typed or read from a file."""
        ...

    @property
    def duration_s(self) -> float | None:
        """Its length; None if unknown here."""
        ...


@dataclass(frozen=True, slots=True)
class ProvenJob:
    """The job of the recording, proved by its capture time."""

    job_id: str


@dataclass(frozen=True, slots=True)
class UnprovenJob:
    """A job that may be the recording's, or another's."""


def may_have_been_accepted(error: ClientError) -> bool:
    """Whether the service may have accepted a submit that ended in `error`.

    An internal error of the service claims that nothing was done. A search costs one request; a second analysis costs
    credits.
    """
    return isinstance(error, ServiceUnavailable) or may_still_arrive(error)


def proves_not_accepted(error: ClientError, *, asked_before: bool) -> bool:
    """Whether a refused submit proves that the service has nothing by its reference.

    After an earlier unanswered submit, only those errors prove it that a service returns after it has looked for the
    reference.
    """
    return not asked_before or isinstance(error, AudioRefused | Conflict)


def may_still_arrive(error: ClientError) -> bool:
    """Whether a submit that ended in `error` may reach the service later."""
    match error:
        case ConnectionFailed():
            return error.maybe_delivered
        case ServiceUnavailable():
            return error.status not in SAFE_STATUSES
        case CaptivePortal() | UnexpectedAnswer():
            return True
        case _:
            return False


def with_random_microseconds(moment: datetime) -> datetime:
    """`moment` with random microseconds if it has no fraction of a second.

    Then two recordings of one second differ, also on two computers. Whole milliseconds are left out: a service that
    stores milliseconds would confuse them with a truncated time.
    """
    if moment.microsecond:
        return moment
    return moment.replace(microsecond=1000 * secrets.randbelow(1000) + 1 + secrets.randbelow(999))


def is_answer_to(job: Job, group_id: str) -> bool:
    """Whether `job` can be the answer to a submit into this group; a faulty proxy may mix answers up."""
    return not isinstance(job, GroupJob) or job.group_id == group_id


def search_span(sent: SentRecording) -> tuple[datetime, datetime]:
    """The inclusive bounds of `recorded_at` for its job, however many digits the service stores."""
    first = sent.recorded_at.replace(microsecond=0)
    return first, first + timedelta(seconds=1)


def find_own_job(
    sent: SentRecording, jobs: Iterable[GroupJobItem], is_known: Callable[[str], bool], asked_at: datetime | None
) -> ProvenJob | UnprovenJob | None:
    """The recording's job among those of its subject's group; None if there is not even a similar one.

    Args:
        sent: the recording.
        jobs: jobs of its group within `search_span`.
        is_known: whether a job id belongs to another recording of ours.
        asked_at: the service's time at the request; None if unknown.
    """
    alike = [job for job in jobs if not is_known(job.job_id) and _may_be_of(sent, job, asked_at)]
    if not alike:
        return None
    own = [job for job in alike if job.recorded_at == sent.recorded_at]
    return ProvenJob(own[0].job_id) if sent.time_is_unique and len(own) == 1 else UnprovenJob()


def resembles(sent: SentRecording, job: Job, size_bytes: int, asked_at: datetime) -> bool:
    """Whether a job outside the recording's group may be its own: its group was deleted, or it was removed from it.

    That proves nothing, but a person must decide before the recording is sent again.

    Args:
        sent: the recording.
        job: a job of the account that belongs to no other known recording.
        size_bytes: size of the upload.
        asked_at: the service's time at the request.
    """
    in_time = abs(job.created_at - asked_at) <= CLOCK_TOLERANCE
    same_target = _is_of_target(sent, job.model_name, job.sign_name)
    return in_time and same_target and job.audio_size_bytes == size_bytes and not _is_of_other_length(sent, job)


def _may_be_of(sent: SentRecording, job: GroupJobItem, asked_at: datetime | None) -> bool:
    if job.recorded_at is None or not _is_of_target(sent, job.model_name, job.sign_name):
        return False
    if asked_at is not None and job.created_at < asked_at - CLOCK_TOLERANCE:
        return False
    if job.recorded_at == sent.recorded_at:
        return True
    return job.recorded_at in _with_fewer_digits(sent.recorded_at) and not _is_of_other_length(sent, job)


def _with_fewer_digits(moment: datetime) -> set[datetime]:
    """What a service may store of a time: truncated or rounded to any number of digits."""
    second, rest = moment.replace(microsecond=0), moment.microsecond
    return {second + timedelta(microseconds=(rest // unit + up) * unit) for unit in _DIGITS for up in (0, 1)} - {moment}


def _is_of_target(sent: SentRecording, model_name: str | None, sign_name: str | None) -> bool:
    """Whether the target matches; the items of a group need not name it."""
    if model_name is None and sign_name is None:
        return True
    return (model_name if sent.target.kind == "model" else sign_name) == sent.target.name


def _is_of_other_length(sent: SentRecording, job: GroupJobItem | Job) -> bool:
    return sent.duration_s is not None and abs(job.audio_duration_seconds - sent.duration_s) > OTHER_LENGTH_S
