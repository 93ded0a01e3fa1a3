"""Jobs and their audio compared: they lie in two places, and a restore may bring back two different days."""

from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy as sa

from vbdesk.contract.jobs import TERMINAL_STATUSES
from vbdesk.service.jobs import repository
from vbdesk.service.jobs.service import AUDIO_FOLDER
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.storage.store import ObjectStore

AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What does not fit together, by the ids of jobs, oldest first.

    Attributes:
        jobs_with_audio: How many jobs say that their audio is kept.
        ended_without_audio: Jobs that have ended and whose audio is gone; their results stand.
        waiting_without_audio: Jobs still to be run whose audio is gone; they will fail and cost nothing.
        files_without_job: Files named after a job that there is not; one may be of a submit that is just coming in.
    """

    jobs_with_audio: int
    ended_without_audio: list[str]
    waiting_without_audio: list[str]
    files_without_job: list[str]


def reconcile_audio(database: Database, store: ObjectStore) -> Reconciliation:
    """Look at every job that says it has audio, and at every file.

    Files are listed first; the file of a job that came meanwhile is asked for by itself.
    """
    listed = _names(store)
    count, ended, waiting = 0, list[str](), list[str]()
    for row in _jobs_with_audio(database):
        count += 1
        if row.job_id not in listed and not store.exists(row.audio_key):
            (ended if row.status in TERMINAL_STATUSES else waiting).append(row.job_id)
    return Reconciliation(count, ended, waiting, _without_job(database, sorted(listed)))


def forget_missing(database: Database, found: Reconciliation) -> None:
    """Let the jobs that have ended no longer say that their audio is kept."""
    for start in range(0, len(found.ended_without_audio), AT_ONCE):
        with database.writing() as connection:
            repository.forget_audio(connection, found.ended_without_audio[start : start + AT_ONCE])


def _names(store: ObjectStore) -> set[str]:
    return {key.removeprefix(f"{AUDIO_FOLDER}/") for key in store.keys(AUDIO_FOLDER)}


def _jobs_with_audio(database: Database) -> Iterator[sa.Row[str, str, str]]:
    last = ""
    while True:
        query = sa.select(jobs.c.job_id, jobs.c.status, jobs.c.audio_key)
        query = query.where(jobs.c.job_id > last, jobs.c.audio_key.is_not(None)).order_by(jobs.c.job_id).limit(AT_ONCE)
        with database.reading() as connection:
            rows = connection.execute(query).all()
        if not rows:
            return
        yield from rows
        last = rows[-1].job_id


def _without_job(database: Database, names: list[str]) -> list[str]:
    found: list[str] = []
    for start in range(0, len(names), AT_ONCE):
        some = names[start : start + AT_ONCE]
        with database.reading() as connection:
            existing = repository.existing(connection, some)
        found += [name for name in some if name not in existing]
    return found
