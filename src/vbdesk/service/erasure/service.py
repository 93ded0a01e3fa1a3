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
from vbdesk.service.errors import Conflict, NotFound
from vbdesk.service.groups import repository as groups
from vbdesk.service.jobs import repository as jobs
from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.jobs.repository import UNFINISHED, AnyRow
from vbdesk.service.jobs.service import AUDIO_FOLDER
from vbdesk.service.storage.quarantine import delete_everywhere
from vbdesk.service.storage.store import ObjectStore, StoreUnavailable
from vbdesk.service.uploads.service import upload_key


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
    file that cannot be removed now, because it is being read or the store is away, is remembered until it is gone.
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

    def erase_sounds(self, account_id: str, job_ids: Sequence[str], upload_refs: Sequence[str] = ()) -> int:
        """Erase the recordings of jobs that have ended, and uploads; how many jobs. They and their results stay.

        It may be asked for again: what is gone is passed over.

        Raises:
            Conflict: a job has not ended, and needs its recording; nothing was erased.
        """

        def erase(connection: Connection) -> tuple[int, Sequence[str]]:
            found = repository.list_jobs(connection, account_id, job_ids)
            if any(row.status in UNFINISHED for row in found):
                raise Conflict("A job has not ended and needs its recording. Wait for its end, or delete the job.")
            mine = repository.list_uploads(connection, account_id, upload_refs)
            uploads = {*mine, *(row.upload_ref for row in found if row.upload_ref)}
            keys = {*_objects_of(found), *map(upload_key, uploads)}
            # by their names, since the rows have forgotten the recordings after the first time
            keys.update(f"{AUDIO_FOLDER}/{row.job_id}" for row in found)
            jobs.forget_audio(connection, [row.job_id for row in found])
            repository.delete_uploads(connection, uploads)
            repository.owe_removal(connection, keys, self._clock.now())
            return len(found), sorted(keys)

        count, keys = self._database.write(erase)
        self._remove(keys)
        return count

    def count_left(self) -> int:
        """How many recordings and uploads of all erasures are still stored, since the store did not let them go."""
        with self._database.reading() as connection:
            return repository.count_owed(connection)

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
        self._remove(_objects_of(found))
        return erasure

    def _remove(self, keys: Sequence[str]) -> None:
        """Remove the objects that a committed transaction owes; those that do not go now are left to the service."""
        self._database.scrub()
        removed: list[str] = []
        for key in keys:
            with suppress(OSError, StoreUnavailable):
                delete_everywhere(self._storage, key)
                removed.append(key)
        with self._database.writing() as connection:
            repository.forget_removed(connection, removed)


def _objects_of(found: Sequence[AnyRow]) -> list[str]:
    """Keys of the recordings of these jobs, and of the uploads that they came by."""
    keys = [row.audio_key for row in found if row.audio_key]
    return keys + [upload_key(row.upload_ref) for row in found if row.upload_ref]


def list_erasures(connection: Connection) -> list[Erasure]:
    """Every audit line, oldest first."""
    return [Erasure(**row._mapping) for row in repository.list_all(connection)]
