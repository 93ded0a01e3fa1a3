"""Readings of groups that an earlier calibration made, whose recordings are kept, and the attempts to replace them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from vbdesk.contract.catalog import ModelName, SignName
from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.spoken_language import without_widening
from vbdesk.service.jobs.history_record import reading_versions, versions_of
from vbdesk.service.jobs.target import JobTarget
from vbdesk.service.kernel.db.jobs import jobs, recomputations
from vbdesk.service.kernel.db.session import Database, insert_into
from vbdesk.service.kernel.db.tables import ACTIVE, accounts, memberships

MOST_TRIES = 3
"""Attempts to replace one reading with one calibration; afterwards it keeps its mark in trajectories."""

MOST_AT_ONCE = 10_000
"""Readings that one search lists; the next search lists the rest."""

RUNNING, DONE, FAILED = "running", "done", "failed"

_PAGE = 500
_TARGET = (jobs.c.job_type, jobs.c.model_name, jobs.c.sign_name, jobs.c.use_case, jobs.c.condition)


@dataclass(frozen=True, slots=True)
class OutdatedReadings:
    """Result of a search.

    Attributes:
        due: jobs whose reading can be made again, the oldest first: their recordings are removed first.
        given_up: readings that failed too often.
    """

    due: Sequence[str]
    given_up: int


def search(database: Database, version: str, is_stopping: Callable[[], bool] = lambda: False) -> OutdatedReadings:
    """Search the finished jobs of active accounts' groups whose recording is kept; stop early when asked."""
    due: list[str] = []
    given_up, after = 0, None
    while len(due) < MOST_AT_ONCE and not is_stopping():
        with database.reading() as connection:
            page = connection.execute(_page_after(after)).all()
            outdated = [row.job_id for row in page if is_outdated(connection, row, version)]
            failed = _given_up(connection, outdated, version)
        due += [job_id for job_id in outdated if job_id not in failed]
        given_up += len(failed)
        if len(page) < _PAGE:
            break
        after = page[-1]
    return OutdatedReadings(due, given_up)


def find_usable(connection: Connection, job_id: str) -> Row[Any] | None:
    """Find the job, if it still is in a group of an active account and its recording is kept."""
    return connection.execute(sa.select(jobs).where(jobs.c.job_id == job_id, *_usable())).one_or_none()


def is_outdated(connection: Connection, row: Row[Any], version: str) -> bool:
    """Whether a calibration of an earlier release, or with other norms, made the reading of this row.

    A reading of a newer release is not outdated: during an upgrade processes of both releases run. Signs of a site's
    own have versions of their own.
    """
    try:
        analysed = JobTarget.of_row(row).analysed
    except (KeyError, ValueError):  # the target of an older release
        return False
    if not isinstance(analysed, ModelName) and analysed not in set(SignName):
        return False
    versions: Mapping[str, str | None] = reading_versions(row.reading)
    if not versions:
        result = connection.execute(sa.select(jobs.c.result).where(jobs.c.job_id == row.job_id)).scalar_one_or_none()
        versions = {} if result is None else versions_of(result)
    return any(_is_before(made_by, version) for made_by in versions.values())


def claim(connection: Connection, job_id: str, version: str, now: datetime, abandoned_before: datetime) -> bool:
    """Note the next attempt; False if there were enough, or another process is making one.

    An attempt that began before `abandoned_before` and has no outcome counts as one whose process died.
    """
    begun = {"tried_at": now, "outcome": RUNNING}
    statement = insert_into(connection, recomputations).values(job_id=job_id, version=version, tries=1, **begun)
    free = sa.or_(recomputations.c.outcome != RUNNING, recomputations.c.tried_at < abandoned_before)
    statement = statement.on_conflict_do_update(
        index_elements=[recomputations.c.job_id, recomputations.c.version],
        set_={"tries": recomputations.c.tries + 1, **begun},
        where=free & (recomputations.c.tries < MOST_TRIES),
    )
    return connection.execute(statement.returning(recomputations.c.job_id)).one_or_none() is not None


def conclude(connection: Connection, job_id: str, version: str, outcome: str) -> None:
    """Note how the attempt ended."""
    own = (recomputations.c.job_id == job_id) & (recomputations.c.version == version)
    connection.execute(sa.update(recomputations).where(own).values(outcome=outcome))


def hand_back(connection: Connection, job_id: str, version: str) -> None:
    """Forget an attempt that the recording did not end, such as one at which the process stopped."""
    own = (recomputations.c.job_id == job_id) & (recomputations.c.version == version)
    values = {"outcome": FAILED, "tries": recomputations.c.tries - 1}
    connection.execute(sa.update(recomputations).where(own).values(**values))


def _page_after(after: Row[Any] | None) -> sa.Select[Any]:
    query = sa.select(jobs.c.job_id, jobs.c.created_at, jobs.c.reading, *_TARGET).where(*_usable())
    if after is not None:
        later = sa.or_(jobs.c.created_at > after.created_at, jobs.c.job_id > after.job_id)
        query = query.where(jobs.c.created_at >= after.created_at, later)  # the first condition uses the index
    return query.order_by(jobs.c.created_at, jobs.c.job_id).limit(_PAGE)


def _usable() -> tuple[sa.ColumnElement[bool], ...]:
    active = sa.select(accounts.c.account_id).where(accounts.c.state == ACTIVE)
    member = sa.exists().where(memberships.c.job_id == jobs.c.job_id)
    finished = jobs.c.status == JobStatus.DONE.value
    return (jobs.c.audio_key.is_not(None), finished, member, jobs.c.account_id.in_(active))


def _given_up(connection: Connection, job_ids: Sequence[str], version: str) -> set[str]:
    spent = (recomputations.c.version == version) & (recomputations.c.tries >= MOST_TRIES)
    mine = recomputations.c.job_id.in_(job_ids)
    return set(connection.execute(sa.select(recomputations.c.job_id).where(mine, spent)).scalars())


def _is_before(made_by: str | None, version: str) -> bool:
    if made_by is None:
        return True
    made_by = without_widening(made_by)
    return made_by != version and _release(made_by) <= _release(version)


def _release(version: str) -> tuple[int, ...]:
    """The numbers of the release; what follows a plus names norms."""
    parts = version.partition("+")[0].split(".")
    return tuple(int(part) if part.isdecimal() else 0 for part in parts)
