"""Keeping a folder of results up to date: whatever is new at the service, and nothing twice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from vbdesk.client.client import Client
from vbdesk.client.clock import CancelFlag
from vbdesk.client.errors import Cancelled, NotFound
from vbdesk.client.result_folder import ResultFolder
from vbdesk.contract.groups import Group
from vbdesk.contract.jobs import Job

LATE_COMERS = timedelta(minutes=10)  # a job may come into the list behind one that was made after it


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a synchronisation did.

    Attributes:
        new: jobs that were fetched.
        unfinished: jobs that have not ended yet; the next synchronisation asks for them again.
        kept: jobs in the folder now.
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
    """Bring a folder up to date with the jobs of some groups, or of the whole account.

    Every job that has ended is read once and kept; a synchronisation that was broken off is simply begun again, and
    costs the requests that it had not made. Groups that did not change since are not read again. See
    `vbdesk.client.result_folder` for what stands in the folder.

    Args:
        client: speaks for the account.
        folder: made if there is none; of one account alone.
        groups: group ids; None for every job of the account, in groups or not.
        on_job: called with each new job, once it is on the disk.
        cancel: set to stop.

    Raises:
        NotFound: a group that was named does not exist.
        WrongFolder, InUse, JsonLinesDamaged, OSError: the folder cannot be used.
        ClientError: see `vbdesk.client.errors`.
    """
    with ResultFolder(folder, client.account_id) as kept:
        run = _Run(client, kept, on_job, cancel)
        if groups is None:
            run.account()
        else:
            for group_id in dict.fromkeys(groups):
                run.group(group_id, None)
        kept.write_table()
        return SyncReport(run.new, len(run.unfinished), kept.count)


class _Run:
    """One synchronisation."""

    def __init__(
        self, client: Client, kept: ResultFolder, on_job: Callable[[Job], None] | None, cancel: CancelFlag | None
    ) -> None:
        self._client = client
        self._kept = kept
        self._on_job = on_job
        self._cancel = cancel
        self.new = 0
        self.unfinished: set[str] = set()

    def account(self) -> None:
        """Every group that has changed, then the jobs that are in none."""
        found = list(self._client.groups.all())
        for group in found:
            mark = _mark(group)
            if self._kept.mark_of(group.group_id) != mark:
                self.group(group.group_id, mark)
        self._kept.keep_groups(group.group_id for group in found)
        self._jobs()

    def group(self, group_id: str, mark: str | None) -> None:
        """The jobs of one group; `mark` is remembered once all of them have ended."""
        members = {}
        ended = True
        for item in self._client.groups.all_jobs(group_id):
            members[item.job_id] = item.recorded_at
            # a service need not say in a group that a job has failed: the job itself is asked
            ended &= self._fetch(item.job_id)
        self._kept.set_group(group_id, members, mark if ended else None)

    def _jobs(self) -> None:
        """The account's list, newest first, down to where an earlier synchronisation had everything."""
        known_until, complete_until = self._kept.complete_until, None
        for item in self._client.jobs.all():
            if known_until is not None and item.created_at < known_until - LATE_COMERS:
                break
            if complete_until is None:
                complete_until = item.created_at
            if not (item.status.terminal and self._fetch(item.job_id)):
                self.unfinished.add(item.job_id)
                complete_until = item.created_at
        if complete_until is not None:
            self._kept.complete_until = complete_until

    def _fetch(self, job_id: str) -> bool:
        """Keep a job that has ended; False if it has not."""
        if self._kept.has(job_id):
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
        self._kept.add(job)
        self.new += 1
        if self._on_job is not None:
            self._on_job(job)
        return True


def _mark(group: Group) -> str:
    """Is another one whenever the group has changed."""
    return f"{group.job_count} {group.done_job_count} {_text(group.updated_at)} {_text(group.latest_recorded_at)}"


def _text(moment: datetime | None) -> str:
    return "" if moment is None else moment.isoformat()
