"""Jobs: read them and wait for them."""

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from vbdesk.client.errors import Cancelled, UnexpectedAnswer
from vbdesk.client.pagination import read_all
from vbdesk.client.refusals import OF_JOB
from vbdesk.client.transport import Call, Transport
from vbdesk.client.url_paths import path
from vbdesk.clock import CancelFlag
from vbdesk.contract.jobs import Job, JobList, JobListItem, JobStatus
from vbdesk.contract.limits import POLL_INTERVAL_S, Bucket
from vbdesk.language import message, plural_message

POLL_GROWTH = 1.25  # most jobs finish within seconds; long ones need fewer polls
WATCHED_AT_ONCE = 4  # jobs are analysed in order: polling later ones only spends requests


class Jobs:
    """The account's jobs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, page: int = 0) -> JobList:
        """One page of jobs, newest first; pages count from 0."""
        call = Call("GET", path("jobs"), repeatable=True, params={"page": page})
        return self._transport.read(call, JobList.model_validate_json)

    def all(self) -> Iterator[JobListItem]:
        """Every job once, newest first, page by page, even if new ones arrive meanwhile."""
        return read_all(self.list, lambda page: page.jobs, lambda job: job.job_id)

    def get(self, job_id: str, cancel: CancelFlag | None = None) -> Job:
        """The present state of a job."""
        call = Call("GET", path("jobs", job_id), bucket=Bucket.POLLING, repeatable=True, refusals=OF_JOB)
        job = self._transport.read(call, Job.model_validate_json, cancel)
        if job.job_id != job_id:  # a faulty cache in between: the answer may be about another person
            raise UnexpectedAnswer
        return job

    def wait(
        self,
        job_id: str,
        *,
        cancel: CancelFlag | None = None,
        timeout_s: float | None = None,
        on_change: Callable[[Job], None] | None = None,
    ) -> Job:
        """Poll every 2 to 5 seconds until the job has ended, and return it: done, failed or timed out.

            Args:
                job_id: the job.
        cancel: set to stop waiting; the job itself continues.
                timeout_s: give up after this time.
                on_change: called with the job whenever its status has changed.

            Raises:
                TimeoutError: it has not ended within `timeout_s`.
                Cancelled: `cancel` was set.
                ClientError: it could not be read.
        """
        return next(self.wait_each([job_id], cancel=cancel, timeout_s=timeout_s, on_change=on_change))

    def wait_each(
        self,
        job_ids: Iterable[str],
        *,
        cancel: CancelFlag | None = None,
        timeout_s: float | None = None,
        on_change: Callable[[Job], None] | None = None,
    ) -> Iterator[Job]:
        """Wait for many jobs and yield each when it has ended; arguments and errors as for `wait`.

        Only a few jobs are polled at a time, in the given order, so that hundreds need hardly more requests than there
        are jobs.
        """
        clock = self._transport.clock
        started = clock.monotonic()
        shortest, longest = POLL_INTERVAL_S
        waiting = [_Watch(started, number, job_id, shortest) for number, job_id in enumerate(dict.fromkeys(job_ids))]
        total, waiting = len(waiting), waiting[::-1]
        watched: list[_Watch] = []
        while watched or waiting:
            while waiting and len(watched) < WATCHED_AT_ONCE:
                watch = waiting.pop()
                watch.due = max(started + shortest, clock.monotonic())
                heapq.heappush(watched, watch)
            watch = heapq.heappop(watched)
            pause_s = watch.due - clock.monotonic()
            if pause_s > 0:
                clock.sleep(pause_s, cancel)
            if cancel is not None and cancel.is_set():
                raise Cancelled
            job = self.get(watch.job_id, cancel)
            if job.status is not watch.status:
                watch.status = job.status
                if on_change is not None:
                    on_change(job)
            if job.status.terminal:
                yield job
                continue
            now = clock.monotonic()
            if timeout_s is not None and now >= started + timeout_s:
                raise TimeoutError(_too_late(1 + len(watched) + len(waiting), total, timeout_s))
            watch.interval_s = min(watch.interval_s * POLL_GROWTH, longest)
            watch.due = now + watch.interval_s
            heapq.heappush(watched, watch)


@dataclass(order=True, slots=True)
class _Watch:
    """A job that is waited for; sorts by its next poll."""

    due: float
    number: int
    job_id: str = field(compare=False)
    interval_s: float = field(compare=False)
    status: JobStatus = field(default=JobStatus.QUEUED, compare=False)


def _too_late(unfinished: int, total: int, timeout_s: float) -> str:
    if total == 1:
        return message("The analysis has not ended within {seconds:.0f} seconds.", seconds=timeout_s)
    return plural_message(
        "{count} of {total} analyses has not ended within {seconds:.0f} seconds.",
        "{count} of {total} analyses have not ended within {seconds:.0f} seconds.",
        unfinished,
        total=total,
        seconds=timeout_s,
    )
