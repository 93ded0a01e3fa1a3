"""Jobs: reading them and waiting for them."""

from collections.abc import Callable

from vbdesk.client.errors import Cancelled
from vbdesk.client.paths import path
from vbdesk.client.timekeeper import CancelFlag
from vbdesk.client.transport import Call, Transport
from vbdesk.contract.jobs import Job, JobList, JobStatus
from vbdesk.contract.limits import POLL_INTERVAL_S, Bucket

POLL_GROWTH = 1.25  # most jobs finish within seconds, long recordings need not be asked so often


class Jobs:
    """The account's jobs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, page: int = 0) -> JobList:
        """One page of jobs, newest first; pages count from 0."""
        call = Call("GET", path("jobs"), repeatable=True, params={"page": page})
        return self._transport.read(call, JobList.model_validate_json)

    def get(self, job_id: str, cancel: CancelFlag | None = None) -> Job:
        """One job as it stands."""
        call = Call("GET", path("jobs", job_id), bucket=Bucket.POLLING, repeatable=True)
        return self._transport.read(call, Job.model_validate_json, cancel)

    def wait(
        self,
        job_id: str,
        *,
        cancel: CancelFlag | None = None,
        timeout_s: float | None = None,
        on_change: Callable[[Job], None] | None = None,
    ) -> Job:
        """Ask every 2 to 5 seconds until the job has ended, and return it: done, failed or timed out.

        Args:
            job_id: the job.
            cancel: set to stop waiting; the job itself goes on.
            timeout_s: give up after this time.
            on_change: called with the job whenever its status has changed.

        Raises:
            TimeoutError: it has not ended within `timeout_s`.
            Cancelled: `cancel` was set.
            ClientError: it could not be read.
        """
        clock = self._transport.timekeeper
        shortest, longest = POLL_INTERVAL_S
        deadline = None if timeout_s is None else clock.monotonic() + timeout_s
        interval, status = shortest, JobStatus.QUEUED
        while True:
            clock.sleep(interval, cancel)
            if cancel is not None and cancel.is_set():
                raise Cancelled
            job = self.get(job_id, cancel)
            if job.status is not status:
                status = job.status
                if on_change is not None:
                    on_change(job)
            if status.terminal:
                return job
            if deadline is not None and clock.monotonic() >= deadline:
                raise TimeoutError(f"The analysis has not ended within {timeout_s:.0f} seconds.")
            interval = min(interval * POLL_GROWTH, longest)
