"""Which job of the service belongs to a submit whose answer was lost: a pure decision by identity, never by likeness.

A submit whose answer did not come may have been accepted and charged. Two things prove that a job is its own:

- The idempotency key, at a service that promised to keep keys before it was asked: the submit is repeated.
- The capture time, to the microsecond, in the subject's own group, where no other recording can have the same one.

A job that is only alike (fewer digits of the time, a time that a person supplied, the same length) is never adopted.
Likeness serves the other way round: while such a job exists, the recording is not sent again without a person.
"""

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from vbdesk.client.analyze import AnalysisTarget
from vbdesk.client.errors import CaptivePortal, ClientError, ConnectionFailed, ServiceUnavailable, UnexpectedAnswer
from vbdesk.client.retry_policy import SAFE_STATUSES
from vbdesk.contract.groups import GroupJobItem
from vbdesk.contract.jobs import GroupJob, Job

SEARCH_AFTER_S = (5.0, 25.0)  # a request on its way when the line broke may still arrive, and late
CLOCK_TOLERANCE = timedelta(minutes=10)  # between the service's time when it was asked and that of the job
KEY_MARGIN = timedelta(hours=1)  # a key is repeated only that long before the service may forget it
OTHER_LENGTH_S = 1.0  # containers and services round a length; from here on it is another recording
_DIGITS = tuple(10**digits for digits in range(1, 7))


class Sent(Protocol):
    """A recording that the service was asked to analyse."""

    @property
    def target(self) -> AnalysisTarget:
        """What it was to be analysed for."""
        ...

    @property
    def recorded_at(self) -> datetime:
        """Its capture time, as it was told to the service."""
        ...

    @property
    def time_is_unique(self) -> bool:
        """Whether no other recording, here or elsewhere, can have this capture time: it was not typed or read."""
        ...

    @property
    def duration_s(self) -> float | None:
        """Its length; None if it is not known here."""
        ...


@dataclass(frozen=True, slots=True)
class OwnJob:
    """The job of the recording, proved by its capture time."""

    job_id: str


@dataclass(frozen=True, slots=True)
class Unproven:
    """A job that may be the recording's, and may as well be another's."""


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


def with_own_digits(moment: datetime) -> datetime:
    """`moment` with random microseconds where it has no fraction of a second.

    Two recordings of one second differ then, also on two computers. Whole milliseconds are left out: a service that
    cuts a longer time to them would name the same one.
    """
    if moment.microsecond:
        return moment
    return moment.replace(microsecond=1000 * secrets.randbelow(1000) + 1 + secrets.randbelow(999))


def is_answer_to(job: Job, group_id: str) -> bool:
    """Whether a submit into this group can have been answered with `job`: something between may mix answers up."""
    return not isinstance(job, GroupJob) or job.group_id == group_id


def key_is_kept(asked_at: datetime | None, kept_s: int | None, service_time: datetime | None) -> bool:
    """Whether the service surely still knows the key of a submit.

    Args:
        asked_at: the service's time when it was asked; None if it is not known.
        kept_s: for how many seconds it had promised before to keep keys; None if it had not.
        service_time: the service's time now; None if it is not known.
    """
    if asked_at is None or kept_s is None or service_time is None:
        return False
    return -CLOCK_TOLERANCE < service_time - asked_at < timedelta(seconds=kept_s) - KEY_MARGIN


def search_span(sent: Sent) -> tuple[datetime, datetime]:
    """The inclusive bounds on `recorded_at` between which its job must lie, however many digits the service keeps."""
    first = sent.recorded_at.replace(microsecond=0)
    return first, first + timedelta(seconds=1)


def find_own_job(
    sent: Sent, jobs: Iterable[GroupJobItem], is_known: Callable[[str], bool], asked_at: datetime | None
) -> OwnJob | Unproven | None:
    """The recording's job among those of its subject's group; None if there is not even one that is like it.

    Args:
        sent: the recording.
        jobs: jobs of its group within `search_span`.
        is_known: whether a job id is known to belong to another recording of ours.
        asked_at: the service's time when it was asked; None if it is not known.
    """
    alike = [job for job in jobs if not is_known(job.job_id) and _may_be_of(sent, job, asked_at)]
    if not alike:
        return None
    own = [job for job in alike if job.recorded_at == sent.recorded_at]
    return OwnJob(own[0].job_id) if sent.time_is_unique and len(own) == 1 else Unproven()


def resembles(sent: Sent, job: Job, size_bytes: int, asked_at: datetime) -> bool:
    """Whether a job outside the recording's group may be its own: its group was deleted, or it was taken out of it.

    That proves nothing: it is a reason to ask a person before the recording is sent again.

    Args:
        sent: the recording.
        job: a job of the account that is not known to be another recording's.
        size_bytes: of what was uploaded.
        asked_at: the service's time when it was asked.
    """
    in_time = abs(job.created_at - asked_at) <= CLOCK_TOLERANCE
    same_target = _is_of_target(sent, job.model_name, job.sign_name)
    return in_time and same_target and job.audio_size_bytes == size_bytes and not _is_of_other_length(sent, job)


def _may_be_of(sent: Sent, job: GroupJobItem, asked_at: datetime | None) -> bool:
    if job.recorded_at is None or not _is_of_target(sent, job.model_name, job.sign_name):
        return False
    if asked_at is not None and job.created_at < asked_at - CLOCK_TOLERANCE:
        return False
    if job.recorded_at == sent.recorded_at:
        return True
    return job.recorded_at in _with_fewer_digits(sent.recorded_at) and not _is_of_other_length(sent, job)


def _with_fewer_digits(moment: datetime) -> set[datetime]:
    """What a service may make of a time: cut or rounded to any number of digits."""
    second, rest = moment.replace(microsecond=0), moment.microsecond
    return {second + timedelta(microseconds=(rest // unit + up) * unit) for unit in _DIGITS for up in (0, 1)} - {moment}


def _is_of_target(sent: Sent, model_name: str | None, sign_name: str | None) -> bool:
    """The items of a group need not say what was asked for."""
    if model_name is None and sign_name is None:
        return True
    return (model_name if sent.target.kind == "model" else sign_name) == sent.target.name


def _is_of_other_length(sent: Sent, job: GroupJobItem | Job) -> bool:
    return sent.duration_s is not None and abs(job.audio_duration_seconds - sent.duration_s) > OTHER_LENGTH_S
