"""Rules of erasing: what goes, what stays, and in which order."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from vbdesk.contract.ids import new_id
from vbdesk.service.clock import Clock
from vbdesk.service.credits.service import CreditsService
from vbdesk.service.db.session import Database
from vbdesk.service.erasure import repository
from vbdesk.service.errors import NotFound
from vbdesk.service.groups import repository as groups
from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.jobs.repository import AnyRow
from vbdesk.service.storage.quarantine import delete_everywhere
from vbdesk.service.storage.store import ObjectStore, StoreUnavailable
from vbdesk.service.storage.withdrawal import withdraw
from vbdesk.service.uploads.service import is_upload, upload_key


@dataclass(frozen=True, slots=True)
class Erasure:
    """An audit line.

    Attributes:
        kind: `job` or `group`.
        jobs: how many jobs are gone.
    """

    erasure_id: str
    account_id: str
    kind: str
    jobs: int
    erased_at: datetime


class Eraser:
    """Erases jobs and groups, whatever state they are in; also while a service runs on the same database.

    What an analysis that is under way finds out is thrown away: its job is gone. Held credits go back, captured ones
    stay captured: the ledger keeps its amounts. Rows go first and files after the commit, also those in quarantine. A
    file that cannot be removed now, because it is being read or the store is away, is remembered until it is gone. The
    addresses of uploads are withdrawn, and remembered until they have ended.
    """

    def __init__(self, database: Database, storage: ObjectStore, lifecycle: JobLifecycle, clock: Clock) -> None:
        self._database = database
        self._storage = storage
        self._lifecycle = lifecycle
        self._credits = CreditsService(clock)
        self._clock = clock

    def erase_job(self, account_id: str, job_id: str) -> Erasure:
        """Erase one job: audio, result, its place in histories, webhook deliveries. Raises NotFound."""

        def erase(connection: Connection) -> tuple[Erasure, Sequence[AnyRow]]:
            groups.lock(connection, repository.list_concerned_groups(connection, [job_id]))
            found = repository.find_job(connection, account_id, job_id)
            if not found:
                raise NotFound("The account has no job with this id.")
            return self._erase(connection, account_id, "job", found), found

        return self._without_files(*self._database.write(erase))

    def erase_group(self, account_id: str, group_id: str) -> Erasure:
        """Erase a group and every job that is in it or was read against its history. Raises NotFound."""

        def erase(connection: Connection) -> tuple[Erasure, Sequence[AnyRow]]:
            group = groups.find(connection, account_id, group_id)
            if group is not None:
                jobs = [row.job_id for row in repository.list_group_jobs(connection, group.group_key)]
                concerned = repository.list_concerned_groups(connection, jobs)
                groups.lock(connection, {*concerned, group.group_key})  # all at once, so in one order
                group = groups.find(connection, account_id, group_id)  # still there?
            if group is None:
                raise NotFound("The account has no group with this id.")
            found = repository.list_group_jobs(connection, group.group_key)
            erasure = self._erase(connection, account_id, "group", found, group.group_key)
            groups.delete(connection, group.group_key)
            return erasure, found

        return self._without_files(*self._database.write(erase))

    def _erase(
        self, connection: Connection, account_id: str, kind: str, found: Sequence[AnyRow], *group_keys: str
    ) -> Erasure:
        job_ids = [row.job_id for row in found]
        concerned = sorted({*repository.list_concerned_groups(connection, job_ids), *group_keys})
        groups.lock(connection, concerned)
        repository.hold_jobs(connection, job_ids)
        for job_id in job_ids:
            self._credits.release(connection, job_id)
        repository.delete_jobs(connection, job_ids)
        repository.delete_uploads(connection, [row.upload_ref for row in found if row.upload_ref])
        now = self._clock.now()
        repository.owe_removal(connection, _objects_of(found), now)
        for group_key in concerned:
            groups.clear_states(connection, group_key)
            groups.touch_history(connection, group_key)
            groups.touch(connection, group_key, now)
        repository.forget_in_snapshot(connection, account_id, concerned)
        self._lifecycle.settle(connection, concerned)  # analyses may have waited for one that is gone
        erasure = Erasure(new_id(), account_id, kind, len(job_ids), now)
        repository.insert(
            connection,
            erasure_id=erasure.erasure_id,
            account_id=account_id,
            kind=kind,
            jobs=erasure.jobs,
            erased_at=now,
        )
        return erasure

    def _without_files(self, erasure: Erasure, found: Sequence[AnyRow]) -> Erasure:
        self._database.scrub()
        removed: list[str] = []
        for key in _objects_of(found):
            with suppress(OSError, StoreUnavailable):
                if is_upload(key):
                    withdraw(self._storage, key)
                else:
                    delete_everywhere(self._storage, key)
                    removed.append(key)
        with self._database.writing() as connection:
            repository.forget_removed(connection, removed)
        return erasure


def _objects_of(found: Sequence[AnyRow]) -> list[str]:
    """Keys of the recordings of these jobs, and of the uploads that they came by."""
    keys = [row.audio_key for row in found if row.audio_key]
    return keys + [upload_key(row.upload_ref) for row in found if row.upload_ref]


def list_erasures(connection: Connection) -> list[Erasure]:
    """Every audit line, oldest first."""
    return [Erasure(**row._mapping) for row in repository.list_all(connection)]
