"""Jobs: target, status and result."""

from enum import StrEnum

from pydantic import Field

from vbdesk.contract.base import WireModel, is_none
from vbdesk.contract.results import Result
from vbdesk.contract.timestamps import Timestamp


class JobStatus(StrEnum):
    """State of a job; only the earlier v2 form and v1 use `pending`."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed-out"
    PENDING = "pending"

    @property
    def terminal(self) -> bool:
        """Whether the state is final."""
        return self in TERMINAL_STATUSES


TERMINAL_STATUSES = frozenset({JobStatus.DONE, JobStatus.FAILED, JobStatus.TIMED_OUT})

JOB_EDGES: dict[JobStatus, frozenset[JobStatus]] = {
    JobStatus.QUEUED: frozenset({JobStatus.RUNNING, *TERMINAL_STATUSES}),
    JobStatus.RUNNING: TERMINAL_STATUSES,
    JobStatus.DONE: frozenset(),
    JobStatus.FAILED: frozenset(),
    JobStatus.TIMED_OUT: frozenset(),
}
"""The legal state changes."""


class JobType(StrEnum):
    """Kind of target; the last two belong to the earlier v2 form and v1."""

    MODEL = "model"
    SIGN = "sign"
    USE_CASE = "use_case"
    CONDITION = "condition"


class Job(WireModel):
    """A job, as in every answer and webhook delivery."""

    job_id: str
    status: JobStatus
    created_at: Timestamp
    completed_at: Timestamp | None
    job_type: JobType
    api_version: str
    audio_content_type: str
    audio_size_bytes: int
    audio_duration_seconds: float
    audio_sample_rate: int | None
    model_name: str | None = None
    sign_name: str | None = None
    use_case: str | None = Field(default=None, exclude_if=is_none)
    condition: str | None = Field(default=None, exclude_if=is_none)
    result: Result | None


class GroupJob(Job):
    """Answer to a submit with a group: the job, its group and its recording time."""

    group_id: str
    recorded_at: Timestamp | None


class JobListItem(WireModel):
    """A job in a list."""

    job_id: str
    status: JobStatus
    created_at: Timestamp


class JobList(WireModel):
    """One page of jobs, newest first."""

    jobs: list[JobListItem]
    page: int
    total_pages: int
