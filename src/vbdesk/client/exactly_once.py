"""Send a recording exactly once: the steps that `submit_files` and the outbox share, each over its own store."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from itertools import islice
from typing import Protocol

from vbdesk.client.client import Client
from vbdesk.client.errors import ClientError, NotFound, UnexpectedAnswer
from vbdesk.client.pagination import read_all
from vbdesk.client.submission_recovery import (
    CLOCK_TOLERANCE,
    ProvenJob,
    SentRecording,
    UnprovenJob,
    find_own_job,
    is_answer_to,
    may_have_been_accepted,
    may_still_arrive,
    proves_not_accepted,
    resembles,
    search_span,
)
from vbdesk.clock import CancelFlag
from vbdesk.contract.groups import GroupJobItem, GroupJobList
from vbdesk.contract.jobs import GroupJob, Job, JobList, JobListItem
from vbdesk.contract.limits import Bucket

Requesting = Callable[[Bucket], AbstractContextManager[Client]]
"""Gives the client for one request that counts against a bucket."""


class SubmissionRecord(Protocol):
    """What a store records about the submit of one recording; each change is durable when the method returns."""

    @property
    def asked_before(self) -> bool:
        """Whether an earlier request has no recorded answer."""
        ...

    def mark_asked(self) -> bool:
        """Record that the analysis is about to be requested; False if it is no longer wanted."""
        ...

    def mark_not_accepted(self) -> None:
        """Record that the service has certainly not accepted it."""
        ...

    def mark_lost(self, *, may_still_arrive: bool) -> None:
        """Record that no answer came; the request may reach the service later."""
        ...

    def mark_accepted(self, job: Job | GroupJob) -> None:
        """Record its job."""
        ...


class ExactlyOnce:
    """Requests analyses, and searches for the job of a recording whose answer was lost."""

    def __init__(
        self,
        requesting: Requesting,
        is_known_job: Callable[[str], bool],
        *,
        jobs_searched: int | None = None,
        cancel: CancelFlag | None = None,
    ) -> None:
        """Make the steps for one account.

        Args:
            requesting: gives the client for each request.
            is_known_job: whether a job id belongs to another recording of the store.
            jobs_searched: how many of the account's newest jobs are searched for one that has left its group.
            cancel: set to stop a wait between reads.
        """
        self._requesting = requesting
        self._is_known_job = is_known_job
        self._jobs_searched = jobs_searched
        self._cancel = cancel
        self._jobs_of_others: dict[str, Job] = {}  # without results; an interrupted search does not read them again

    def request(self, record: SubmissionRecord, group_id: str, ask: Callable[[Client], Job | GroupJob]) -> bool:
        """Request an analysis by `ask` and record what is known afterwards; False if it is no longer wanted.

        Raises:
            UnexpectedAnswer: the answer is about another recording.
            ClientError: as `ask` does.
        """
        asked_before = record.asked_before
        if not record.mark_asked():
            return False
        has_left = False
        try:
            with self._requesting(Bucket.ANALYZE) as client:
                has_left = True
                job = ask(client)
        except ClientError as error:
            if may_have_been_accepted(error):
                record.mark_lost(may_still_arrive=may_still_arrive(error))
            elif proves_not_accepted(error, asked_before=asked_before):
                record.mark_not_accepted()
            raise
        except Exception:
            if not has_left and not asked_before:  # the budget is used up, or the credentials cannot be read
                record.mark_not_accepted()
            raise
        if self._is_known_job(job.job_id) or not is_answer_to(job, group_id):
            record.mark_lost(may_still_arrive=False)
            raise UnexpectedAnswer
        record.mark_accepted(job)
        return True

    def find_in_group(
        self, sent: SentRecording, group_id: str, asked_at: datetime | None
    ) -> ProvenJob | UnprovenJob | None:
        """The job of a recording among those of its subject's group; `asked_at` as for `find_own_job`."""
        try:
            return find_own_job(sent, list(self._group_jobs(sent, group_id)), self._is_known_job, asked_at)
        except NotFound:
            return None

    def may_have_left_group(self, sent: SentRecording, size_bytes: int, asked_at: datetime) -> bool:
        """Whether a similar job is outside the group, which may have been deleted; arguments as for `resembles`."""
        for listed in islice(self._account_jobs(), self._jobs_searched):
            if listed.created_at < asked_at - CLOCK_TOLERANCE:
                return False
            if self._is_known_job(listed.job_id):
                continue
            if resembles(sent, self._job_of_another(listed.job_id), size_bytes, asked_at):
                return True
        return False

    def _group_jobs(self, sent: SentRecording, group_id: str) -> Iterator[GroupJobItem]:
        first, last = search_span(sent)

        def read(page: int) -> GroupJobList:
            with self._requesting(Bucket.GENERAL) as client:
                return client.groups.jobs(group_id, page=page, from_=first, to=last)

        return read_all(read, lambda page: page.jobs, lambda job: job.job_id)

    def _account_jobs(self) -> Iterator[JobListItem]:
        def read(page: int) -> JobList:
            with self._requesting(Bucket.GENERAL) as client:
                return client.jobs.list(page)

        return read_all(read, lambda page: page.jobs, lambda job: job.job_id)

    def _job_of_another(self, job_id: str) -> Job:
        if job_id not in self._jobs_of_others:
            with self._requesting(Bucket.POLLING) as client:
                self._jobs_of_others[job_id] = _without_result(client.jobs.get(job_id, self._cancel))
        return self._jobs_of_others[job_id]


def _without_result(job: Job) -> Job:
    return job.model_copy(update={"result": None})
