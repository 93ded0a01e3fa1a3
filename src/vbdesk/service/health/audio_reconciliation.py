"""Comparison of jobs with stored audio; a restore may bring them back from different days."""

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
    """Differences between jobs and audio, by job id, oldest first.

    Attributes:
        jobs_with_audio: number of jobs marked as having audio.
        ended_without_audio: ended jobs whose audio is missing; their results remain valid.
        waiting_without_audio: unfinished jobs whose audio is missing; they will fail without charge.
        files_without_job: files named after a job that does not exist; one may belong to a submit in progress.
    """

    jobs_with_audio: int
    ended_without_audio: list[str]
    waiting_without_audio: list[str]
    files_without_job: list[str]


def reconcile_audio(database: Database, store: ObjectStore) -> Reconciliation:
    """Compare every job marked as having audio with every file.

    Files are listed first. The file of a job created since then is looked up individually.
    """
    listed = _names(store)
    count, ended, waiting = 0, list[str](), list[str]()
    for row in _jobs_with_audio(database):
        count += 1
        if row.job_id not in listed and not store.exists(row.audio_key):
            (ended if row.status in TERMINAL_STATUSES else waiting).append(row.job_id)
    return Reconciliation(count, ended, waiting, _without_job(database, sorted(listed)))


def forget_missing(database: Database, found: Reconciliation) -> None:
    """Mark the ended jobs as having no audio."""
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
