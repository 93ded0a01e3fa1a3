"""Synchronise a folder of results: fetch what is new at the service, each job once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from vbdesk.client.client import Client
from vbdesk.client.errors import Cancelled, NotFound
from vbdesk.client.result_folder import ResultFolder
from vbdesk.clock import CancelFlag
from vbdesk.contract.groups import Group
from vbdesk.contract.jobs import Job

LATE_COMERS = timedelta(minutes=10)  # a job may be listed after one that was created later


@dataclass(frozen=True, slots=True)
class SyncReport:
    """Result of a synchronisation.

    Attributes:
        new: number of fetched jobs.
        unfinished: number of jobs that have not ended; the next synchronisation fetches them.
        kept: number of jobs in the folder now.
    """

    new: int
    unfinished: int
    kept: int


def sync(
    client: Client,
    folder: Path,
    groups: Sequence[str] | None = None,
    *,
    on_job: Callable[[Job], None] | None = None,
    cancel: CancelFlag | None = None,
) -> SyncReport:
    """Synchronise a folder with the jobs of some groups, or of the whole account.

    Every ended job is fetched once and stored. After an interruption, just run it again: only the missing requests are
    made. Groups that did not change are not read again. See `vbdesk.client.result_folder` for the files.

    Args:
        client: client of the account.
        folder: created if missing; belongs to one account.
        groups: group ids; None for every job of the account, in groups or not.
        on_job: called with each new job, once it is on the disk.
        cancel: set to stop.

    Raises:
        NotFound: a named group does not exist.
        WrongFolder, InUse, JsonLinesDamaged, OSError: the folder cannot be used.
        ClientError: see `vbdesk.client.errors`.
    """
    with ResultFolder(folder, client.account_id) as results:
        run = _Run(client, results, on_job, cancel)
        if groups is None:
            run.account()
        else:
            for group_id in dict.fromkeys(groups):
                run.group(group_id, None)
        results.write_table()
        return SyncReport(run.new, len(run.unfinished), results.count)


class _Run:
    """One synchronisation."""

    def __init__(
        self, client: Client, folder: ResultFolder, on_job: Callable[[Job], None] | None, cancel: CancelFlag | None
    ) -> None:
        self._client = client
        self._folder = folder
        self._on_job = on_job
        self._cancel = cancel
        self.new = 0
        self.unfinished: set[str] = set()

    def account(self) -> None:
        """Fetch every changed group, then the jobs without a group."""
        found = list(self._client.groups.all())
        for group in found:
            mark = _mark(group)
            if self._folder.mark_of(group.group_id) != mark:
                self.group(group.group_id, mark)
        self._folder.remove_other_groups(group.group_id for group in found)
        self._jobs()

    def group(self, group_id: str, mark: str | None) -> None:
        """Fetch the jobs of one group; store `mark` once all of them have ended."""
        members = {}
        ended = True
        for item in self._client.groups.all_jobs(group_id):
            members[item.job_id] = item.recorded_at
            # the list of a group need not show that a job has failed: read the job itself
            ended &= self._fetch(item.job_id)
        self._folder.set_group(group_id, members, mark if ended else None)

    def _jobs(self) -> None:
        """The account's jobs, newest first, down to where an earlier synchronisation was complete."""
        known_until, complete_until = self._folder.complete_until, None
        for item in self._client.jobs.all():
            if known_until is not None and item.created_at < known_until - LATE_COMERS:
                break
            if complete_until is None:
                complete_until = item.created_at
            if not (item.status.terminal and self._fetch(item.job_id)):
                self.unfinished.add(item.job_id)
                complete_until = item.created_at
        if complete_until is not None:
            self._folder.complete_until = complete_until

    def _fetch(self, job_id: str) -> bool:
        """Store a job if it has ended; False if it has not."""
        if self._folder.has(job_id):
            return True
        if self._cancel is not None and self._cancel.is_set():
            raise Cancelled
        try:
            job = self._client.jobs.get(job_id, self._cancel)
        except NotFound:  # erased meanwhile
            return True
        if not job.status.terminal:
            self.unfinished.add(job_id)
            return False
        self._folder.add(job)
        self.new += 1
        if self._on_job is not None:
            self._on_job(job)
        return True


def _mark(group: Group) -> str:
    """A value that differs whenever the group has changed."""
    return f"{group.job_count} {group.done_job_count} {_text(group.updated_at)} {_text(group.latest_recorded_at)}"


def _text(moment: datetime | None) -> str:
    return "" if moment is None else moment.isoformat()
