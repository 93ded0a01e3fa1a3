"""Groups: the recordings of one subject, and their trajectory."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from pydantic import TypeAdapter

from vbdesk.client.errors import Cancelled, UnexpectedAnswer
from vbdesk.client.pagination import read_all
from vbdesk.client.refusals import OF_GROUP, OF_MEMBER, OF_NEW_GROUP, OF_TRAJECTORY
from vbdesk.client.transport import Call, Transport
from vbdesk.client.url_paths import path
from vbdesk.clock import CancelFlag
from vbdesk.contract.groups import (
    AddJobs,
    Group,
    GroupCreate,
    GroupCreated,
    GroupDeleted,
    GroupJobItem,
    GroupJobList,
    GroupList,
    JobRemoved,
    JobsAdded,
)
from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.longitudinal import AggregateRead, Trajectory, TrajectoryRead, TrajectoryRunning
from vbdesk.contract.timestamps import format_timestamp
from vbdesk.language import message

_TRAJECTORY: TypeAdapter[TrajectoryRead | TrajectoryRunning] = TypeAdapter(Trajectory)


class Groups:
    """The account's groups."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, group_id: str) -> GroupCreated:
        """Create an empty group."""
        call = Call(
            "POST", path("groups"), json=GroupCreate(group_id=group_id).model_dump(mode="json"), refusals=OF_NEW_GROUP
        )
        return self._transport.read(call, GroupCreated.model_validate_json)

    def list(self, page: int = 0) -> GroupList:
        """One page of groups; pages count from 0."""
        call = Call("GET", path("groups"), repeatable=True, params={"page": page})
        return self._transport.read(call, GroupList.model_validate_json)

    def all(self) -> Iterator[Group]:
        """Every group once, page by page, even if new ones are created meanwhile."""
        return read_all(self.list, lambda page: page.groups, lambda group: group.group_id)

    def delete(self, group_id: str) -> GroupDeleted:
        """Delete a group; its jobs are kept."""
        call = Call("DELETE", path("groups", group_id), refusals=OF_GROUP)
        return self._transport.read(call, GroupDeleted.model_validate_json)

    def jobs(
        self,
        group_id: str,
        *,
        page: int = 0,
        from_: datetime | None = None,
        to: datetime | None = None,
        status: JobStatus | None = None,
    ) -> GroupJobList:
        """One page of a group's jobs by recording time, within inclusive bounds."""
        params: dict[str, str | int | list[str]] = {"page": page}
        if from_ is not None:
            params["from"] = format_timestamp(from_)
        if to is not None:
            params["to"] = format_timestamp(to)
        if status is not None:
            params["status"] = status.value
        call = Call("GET", path("groups", group_id, "jobs"), repeatable=True, params=params, refusals=OF_GROUP)
        return self._transport.read(call, GroupJobList.model_validate_json)

    def all_jobs(
        self,
        group_id: str,
        *,
        from_: datetime | None = None,
        to: datetime | None = None,
        status: JobStatus | None = None,
    ) -> Iterator[GroupJobItem]:
        """Every job of a group once, by recording time. Arguments as for `jobs`."""
        return read_all(
            lambda page: self.jobs(group_id, page=page, from_=from_, to=to, status=status),
            lambda page: page.jobs,
            lambda job: job.job_id,
        )

    def add_jobs(self, group_id: str, job_ids: Sequence[str]) -> JobsAdded:
        """Put 1 to 100 existing jobs into a group; jobs already in it are skipped."""
        body = AddJobs(job_ids=list(job_ids)).model_dump(mode="json")
        call = Call("POST", path("groups", group_id, "jobs"), json=body, refusals=OF_GROUP)
        return self._transport.read(call, JobsAdded.model_validate_json)

    def remove_job(self, group_id: str, job_id: str) -> JobRemoved:
        """Take a job out of a group; the job is kept."""
        call = Call("DELETE", path("groups", group_id, "jobs", job_id), refusals=OF_MEMBER)
        return self._transport.read(call, JobRemoved.model_validate_json)

    def trajectory(self, group_id: str, signs: Sequence[str] = ()) -> TrajectoryRead | TrajectoryRunning:
        """The subject's trajectory, of these signs or all; `TrajectoryRunning` says when to retry."""
        params = {"sign": [*signs]} if signs else None
        call = Call(
            "GET", path("groups", group_id, "longitudinal"), repeatable=True, params=params, refusals=OF_TRAJECTORY
        )
        read = self._transport.read(call, _TRAJECTORY.validate_json)
        if read.group_id != group_id:  # a faulty cache in between: the answer is about another subject
            raise UnexpectedAnswer
        return read

    def wait_trajectory(
        self,
        group_id: str,
        signs: Sequence[str] = (),
        *,
        timeout_s: float | None = None,
        cancel: CancelFlag | None = None,
    ) -> TrajectoryRead:
        """The subject's trajectory, once the service has computed it.

        Raises:
            TimeoutError: it was not computed within `timeout_s`.
            Cancelled: `cancel` was set.
            ClientError: it could not be read.
        """
        clock = self._transport.clock
        deadline = None if timeout_s is None else clock.monotonic() + timeout_s
        while True:
            read = self.trajectory(group_id, signs)
            if isinstance(read, TrajectoryRead):
                return read
            if deadline is not None and clock.monotonic() >= deadline:
                raise TimeoutError(
                    message("The trajectory was not computed within {seconds:.0f} seconds.", seconds=timeout_s)
                )
            clock.sleep(read.retry_after_seconds, cancel)
            if cancel is not None and cancel.is_set():
                raise Cancelled

    def aggregate(self, group_id: str) -> AggregateRead:
        """The group as a cohort."""
        call = Call("GET", path("groups", group_id, "aggregate"), repeatable=True, refusals=OF_GROUP)
        return self._transport.read(call, AggregateRead.model_validate_json)
