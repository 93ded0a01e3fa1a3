"""Read a whole subject from a service: recordings, results and trajectory."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Protocol

from vbdesk.contract.groups import GroupJobItem
from vbdesk.contract.jobs import Job
from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.report.subject_record import RecordSource, SubjectRecord, subject_record

TRAJECTORY_TIMEOUT_S = 120.0


class GroupReader(Protocol):
    """The part of a client that reads groups; `vbdesk.client` has it."""

    def all_jobs(self, group_id: str) -> Iterator[GroupJobItem]:
        """Every job of a group."""

    def wait_trajectory(self, group_id: str, *, timeout_s: float | None = None) -> TrajectoryRead:
        """The trajectory, once the service has computed it."""


class JobReader(Protocol):
    """The part of a client that reads jobs."""

    def get(self, job_id: str) -> Job:
        """One job in its present state."""


def read_subject(
    group_id: str,
    source: RecordSource,
    groups: GroupReader,
    jobs: JobReader,
    *,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    language: str = "en",
) -> SubjectRecord:
    """Read all data of one subject, within the client's request budget.

    Args:
        group_id: the subject.
        source: service and account, for the record.
        groups: reads groups.
        jobs: reads jobs.
        on_progress: called with the number of recordings read and their total.
        language: of the service's labels and narrative.

    Raises:
        TimeoutError: the service is still computing the trajectory.
    """
    items = list(groups.all_jobs(group_id))
    read: list[tuple[datetime | None, Job]] = []
    for item in items:
        on_progress(len(read), len(items))
        read.append((item.recorded_at, jobs.get(item.job_id)))
    on_progress(len(read), len(items))
    trajectory = groups.wait_trajectory(group_id, timeout_s=TRAJECTORY_TIMEOUT_S)
    return subject_record(group_id, source, read, trajectory, language)
