"""Rules of erasure: what is removed, what stays, and in which order."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from vbdesk.clock import Clock
from vbdesk.contract.ids import new_id
from vbdesk.language import N_
from vbdesk.service.accounts import repository as accounts
from vbdesk.service.accounts.service import NO_HASH
from vbdesk.service.credits.service import CreditsService
from vbdesk.service.erasure import repository
from vbdesk.service.groups import repository as groups
from vbdesk.service.groups.waiting_jobs import GroupHistories
from vbdesk.service.jobs import repository as jobs
from vbdesk.service.jobs.repository import UNFINISHED, AnyRow
from vbdesk.service.jobs.service import AUDIO_FOLDER
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.db.tables import DELETED, DELETING
from vbdesk.service.kernel.errors import Conflict, NotFound
from vbdesk.service.maintenance.orphans import SweptStore
from vbdesk.service.maintenance.retention import remove_erased_audio
from vbdesk.service.storage import withdrawal
from vbdesk.service.storage.quarantine import delete_everywhere
from vbdesk.service.storage.store import ObjectStore, StoreUnavailable
from vbdesk.service.storage.withdrawal import is_withdrawn, withdraw
from vbdesk.service.uploads.service import upload_key

AT_ONCE = 200
LATE = timedelta(days=1)
"""How long a request authenticated earlier may take to add something to a deleted account."""

PUT_LASTS = timedelta(hours=1)
"""How long an upload may take after its address expired: the store checks the address when the request begins."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """An audit entry.

    Attributes:
        kind: `job`, `group` or `account`.
        jobs: number of erased jobs.
    """

    erasure_id: str
    account_id: str
    kind: str
    jobs: int
    erased_at: datetime


@dataclass(frozen=True, slots=True)
class AccountContent:
    """Numbers of rows that the deletion of an account would remove."""

    recordings: int
    jobs: int
    groups: int
    uploads: int
    api_keys: int
    console_sessions: int
    webhook_deliveries: int


class Eraser:
    """Erases jobs, groups and accounts in any state, also while a service runs on the database.

    The result of a running analysis is dropped, because its job is gone. Held credits are released, captured ones stay
    captured, and the ledger keeps its amounts. Rows are deleted first, files after the commit, also those in
    quarantine. A file that cannot be removed now, because it is in use or the store is unreachable, stays listed until
    it is gone. The addresses of uploads are withdrawn, and stay listed until they expire.
    """

    def __init__(self, database: Database, storage: ObjectStore, histories: GroupHistories, clock: Clock) -> None:
        self._database = database
        self._storage = storage
        self._histories = histories
        self._credits = CreditsService(clock)
        self._clock = clock

    def erase_job(self, account_id: str, job_id: str) -> Erasure:
        """Erase a job: audio, result, place in histories, webhook deliveries. Raises NotFound."""

        def erase(connection: Connection) -> tuple[Erasure, Sequence[AnyRow]]:
            groups.lock(connection, repository.list_concerned_groups(connection, [job_id]))
            found = repository.find_job(connection, account_id, job_id)
            if not found:
                raise NotFound(N_("The account has no job with this id."))
            return self._erase(connection, account_id, "job", found), found

        return self._without_files(*self._database.write(erase))

    def erase_group(self, account_id: str, group_id: str) -> Erasure:
        """Erase a group and every job in it or read against its history. Raises NotFound."""

        def erase(connection: Connection) -> tuple[Erasure, Sequence[AnyRow]]:
            group = groups.find(connection, account_id, group_id)
            if group is not None:
                jobs = [row.job_id for row in repository.list_group_jobs(connection, group.group_key)]
                concerned = repository.list_concerned_groups(connection, jobs)
                groups.lock(connection, {*concerned, group.group_key})  # all at once, in sorted order
                group = groups.find(connection, account_id, group_id)  # still there?
            if group is None:
                raise NotFound(N_("The account has no group with this id."))
            found = repository.list_group_jobs(connection, group.group_key)
            erasure = self._erase(connection, account_id, "group", found, group.group_key)
            groups.delete(connection, group.group_key)
            return erasure, found

        return self._without_files(*self._database.write(erase))

    def erase_empty_groups(self, account_id: str) -> None:
        """Erase the account's groups without a job: a group's id may name a person."""

        def erase(connection: Connection) -> None:
            groups.lock(connection, repository.list_empty_groups(connection, account_id))
            empty = repository.list_empty_groups(connection, account_id)
            repository.forget_in_snapshot(connection, account_id, empty)
            for group_key in empty:
                groups.delete(connection, group_key)

        self._database.write(erase)
        self._database.scrub()

    def count_account(self, account_id: str) -> AccountContent:
        """Count what a deletion of the account would remove. Raises NotFound."""
        with self._database.reading() as connection:
            if accounts.read_state(connection, account_id) is None:
                raise NotFound(N_("There is no account with this id."))
            return AccountContent(**repository.count_account(connection, account_id))

    def erase_account(self, account_id: str) -> Erasure:
        """Delete an account and all its data, except the amounts in the ledger. Raises NotFound.

        The first transaction refuses further access. The rest is removed in small transactions: after a crash a second
        call continues.
        """
        self._database.write(lambda connection: self._end_account(connection, account_id))
        removed = 0
        for step in (self._erase_some_groups, self._erase_some_jobs, self._erase_some_uploads):
            while count := step(account_id):
                removed += count
        with self._database.writing() as connection:
            repository.delete_rest_of_account(connection, account_id)
            accounts.change_state(connection, account_id, (DELETING,), DELETED)
            erasure = repository.find_of_account(connection, account_id)
        if removed:
            self._database.scrub()
        assert erasure is not None  # noqa: S101  (the first transaction wrote it)
        return Erasure(**erasure._mapping)

    def finish_accounts(self) -> None:
        """Continue interrupted deletions, and remove what earlier requests added to deleted accounts."""
        with self._database.reading() as connection:
            ended = repository.list_ended_accounts(connection, self._clock.now() - LATE)
        for account_id in ended:
            self.erase_account(account_id)

    def _end_account(self, connection: Connection, account_id: str) -> None:
        if accounts.read_state(connection, account_id, alone=True) is None:
            raise NotFound(N_("There is no account with this id."))
        now = self._clock.now()
        accounts.begin_deletion(connection, account_id, NO_HASH, now)
        accounts.delete_keys(connection, account_id)
        accounts.delete_sessions(connection, account_id)
        if repository.find_of_account(connection, account_id) is None:
            repository.insert(
                connection, erasure_id=new_id(), account_id=account_id, kind="account", jobs=0, erased_at=now
            )

    def _erase_some_groups(self, account_id: str) -> int:
        def erase(connection: Connection) -> int:
            group_keys = repository.list_account_groups(connection, account_id, AT_ONCE)
            groups.lock(connection, group_keys)
            for group_key in group_keys:
                groups.delete(connection, group_key)
            return len(group_keys)

        return self._database.write(erase)

    def _erase_some_jobs(self, account_id: str) -> int:
        def erase(connection: Connection) -> tuple[int, list[str]]:
            found = repository.list_account_jobs(connection, account_id, AT_ONCE)
            groups.lock(connection, repository.list_concerned_groups(connection, [row.job_id for row in found]))
            count = self._delete_jobs(connection, found)
            repository.add_erased_jobs(connection, account_id, count)
            return len(found), _objects_of(found)

        count, objects = self._database.write(erase)
        self._remove(objects)
        return count

    def _erase_some_uploads(self, account_id: str) -> int:
        def erase(connection: Connection) -> list[str]:
            upload_refs = repository.list_account_uploads(connection, account_id, AT_ONCE)
            self._delete_uploads(connection, upload_refs)
            return [upload_key(upload_ref) for upload_ref in upload_refs]

        objects = self._database.write(erase)
        self._remove(objects)
        return len(objects)

    def erase_sounds(self, account_id: str, job_ids: Sequence[str], upload_refs: Sequence[str] = ()) -> int:
        """Erase recordings of ended jobs, and uploads; return the number of jobs, which stay.

        The call may be repeated: missing recordings are skipped.

        Raises:
            Conflict: a job has not ended and needs its recording; nothing was erased.
        """

        def erase(connection: Connection) -> tuple[int, Sequence[str]]:
            found = repository.list_jobs(connection, account_id, job_ids)
            if any(row.status in UNFINISHED for row in found):
                raise Conflict(N_("A job has not ended and needs its recording. Wait for its end, or delete the job."))
            mine = repository.list_uploads(connection, account_id, upload_refs)
            uploads = {*mine, *(row.upload_ref for row in found if row.upload_ref)}
            keys = set(_objects_of(found))
            # by name, since the rows have no audio key after the first call
            keys.update(f"{AUDIO_FOLDER}/{row.job_id}" for row in found)
            jobs.forget_audio(connection, [row.job_id for row in found])
            withdrawal.owe_removal(connection, keys - set(map(upload_key, uploads)), self._clock.now())
            self._delete_uploads(connection, sorted(uploads))
            return len(found), sorted({*keys, *map(upload_key, uploads)})

        count, keys = self._database.write(erase)
        self._database.scrub()
        self._remove(keys)
        return count

    def remove_due(self) -> None:
        """Remove what earlier erasures left in the store, unless the store is unreachable."""
        with suppress(StoreUnavailable):
            remove_erased_audio(SweptStore(self._database, self._storage, self._clock))

    def count_left(self) -> int:
        """Return how many recordings and uploads of all erasures are still stored."""
        with self._database.reading() as connection:
            due = withdrawal.list_due(connection)
        return sum(self._storage.exists(key) and not is_withdrawn(self._storage, key) for key in due)

    def _erase(
        self, connection: Connection, account_id: str, kind: str, found: Sequence[AnyRow], *group_keys: str
    ) -> Erasure:
        job_ids = [row.job_id for row in found]
        concerned = sorted({*repository.list_concerned_groups(connection, job_ids), *group_keys})
        groups.lock(connection, concerned)
        self._delete_jobs(connection, found)
        now = self._clock.now()
        for group_key in concerned:
            groups.clear_states(connection, group_key)
            groups.touch_history(connection, group_key)
            groups.touch(connection, group_key, now)
        repository.forget_in_snapshot(connection, account_id, concerned)
        self._histories.settle(connection, concerned)  # other jobs may have waited for a deleted one
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

    def _delete_jobs(self, connection: Connection, found: Sequence[AnyRow]) -> int:
        """Delete jobs and their uploads, release their credits, list their objects; return the number."""
        job_ids = [row.job_id for row in found]
        repository.hold_jobs(connection, job_ids)
        for job_id in job_ids:
            self._credits.release(connection, job_id)
        count = repository.delete_jobs(connection, job_ids)
        withdrawal.owe_removal(connection, [row.audio_key for row in found if row.audio_key], self._clock.now())
        self._delete_uploads(connection, [row.upload_ref for row in found if row.upload_ref])
        return count

    def _delete_uploads(self, connection: Connection, upload_refs: Sequence[str]) -> None:
        """Delete uploads; list their objects for removal until their addresses expire."""
        now = self._clock.now()
        ends = repository.find_address_ends(connection, upload_refs)
        repository.delete_uploads(connection, upload_refs)
        for upload_ref in upload_refs:
            ends_at = ends.get(upload_ref, now)
            due_at = ends_at + PUT_LASTS if ends_at >= now else now
            withdrawal.owe_removal(connection, [upload_key(upload_ref)], due_at)

    def _without_files(self, erasure: Erasure, found: Sequence[AnyRow]) -> Erasure:
        self._database.scrub()
        self._remove(_objects_of(found))
        return erasure

    def _remove(self, objects: Sequence[str]) -> None:
        """Remove objects as far as the store allows; the others stay listed for removal.

        An upload with a valid address is withdrawn, and stays listed until the address expires.
        """
        removed: list[str] = []
        with self._database.reading() as connection:
            signed = withdrawal.list_due_later(connection, objects, self._clock.now())
        for key in objects:
            try:
                (withdraw if key in signed else delete_everywhere)(self._storage, key)
            except OSError:  # in use
                continue
            except StoreUnavailable:  # the other requests would fail slowly too
                break
            removed.append(key)
        with self._database.writing() as connection:
            withdrawal.forget_removed(connection, removed, self._clock.now())


def _objects_of(found: Sequence[AnyRow]) -> list[str]:
    """Return the keys of the jobs' recordings and uploads."""
    keys = [row.audio_key for row in found if row.audio_key]
    return keys + [upload_key(row.upload_ref) for row in found if row.upload_ref]


def list_erasures(connection: Connection) -> list[Erasure]:
    """Return every audit entry, oldest first."""
    return [Erasure(**row._mapping) for row in repository.list_all(connection)]
