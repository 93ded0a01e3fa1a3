"""Reading a whole subject from a service: its recordings, their results, and the course over time."""

from collections.abc import Callable
from typing import Protocol

from vbdesk.contract.groups import GroupJobItem, GroupJobList
from vbdesk.contract.jobs import Job
from vbdesk.contract.longitudinal import TrajectoryRead, TrajectoryRunning
from vbdesk.report.subject_record import Source, SubjectRecord, subject_record

TRAJECTORY_ATTEMPTS = 10


class ReadsGroups(Protocol):
    """The part of a client that reads groups; `vbdesk.client` has it."""

    def jobs(self, group_id: str, *, page: int = 0) -> GroupJobList:
        """One page of a group's jobs by recording time; pages count from 0."""

    def trajectory(self, group_id: str) -> TrajectoryRead | TrajectoryRunning:
        """The subject over time, or when to ask again."""


class ReadsJobs(Protocol):
    """The part of a client that reads jobs."""

    def get(self, job_id: str) -> Job:
        """One job as it stands."""


def gather_subject(
    group_id: str,
    source: Source,
    groups: ReadsGroups,
    jobs: ReadsJobs,
    *,
    pause: Callable[[float], None],
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    language: str = "en",
) -> SubjectRecord:
    """Read everything of one subject; blocks as the client does, and keeps to its request budget.

    Args:
        group_id: the subject.
        source: where the reads come from, for the record.
        groups: a client's groups.
        jobs: a client's jobs.
        pause: waits that many seconds, where the service still computes the trajectory.
        on_progress: called with the recordings read and their number.
        language: of the service's labels and narrative.
    """
    items = _all_items(group_id, groups)
    read: list[tuple[GroupJobItem, Job]] = []
    for item in items:
        on_progress(len(read), len(items))
        read.append((item, jobs.get(item.job_id)))
    on_progress(len(read), len(items))
    trajectory = _finished_trajectory(group_id, groups, pause)
    return subject_record(
        group_id, source, [(item.recorded_at, job) for item, job in read], trajectory, language=language
    )


def _all_items(group_id: str, groups: ReadsGroups) -> list[GroupJobItem]:
    items: dict[str, GroupJobItem] = {}  # a page may shift while a new recording comes in
    page, total = 0, 1
    while page < total:
        answer = groups.jobs(group_id, page=page)
        items |= {item.job_id: item for item in answer.jobs}
        page, total = page + 1, answer.total_pages
    return list(items.values())


def _finished_trajectory(group_id: str, groups: ReadsGroups, pause: Callable[[float], None]) -> TrajectoryRead | None:
    for _ in range(TRAJECTORY_ATTEMPTS):
        answer = groups.trajectory(group_id)
        if isinstance(answer, TrajectoryRead):
            return answer
        pause(answer.retry_after_seconds)
    return None
