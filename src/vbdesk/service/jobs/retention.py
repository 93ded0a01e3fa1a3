"""How long audio is kept: as the operator chose, and never without a job or an upload that it belongs to."""

from collections.abc import Callable, Collection, Iterator
from datetime import datetime, timedelta
from itertools import islice, takewhile

from sqlalchemy import Connection

from vbdesk.contract.ids import made_at
from vbdesk.service.context import Context
from vbdesk.service.jobs import repository as jobs
from vbdesk.service.jobs.service import AUDIO_FOLDER
from vbdesk.service.uploads import repository as uploads
from vbdesk.service.uploads.service import UPLOADS_FOLDER

AT_ONCE = 200
SAFE_AGE = timedelta(hours=1)
"""A file younger than this may belong to a submit that has not committed yet."""

_EXISTING: dict[str, Callable[[Connection, Collection[str]], set[str]]] = {
    AUDIO_FOLDER: jobs.existing,
    UPLOADS_FOLDER: uploads.existing,
}
"""Each folder's files are named by the id of what they belong to."""


def _never() -> bool:
    return False


def remove_old_audio(context: Context, is_stopping: Callable[[], bool] = _never) -> int:
    """Remove audio that was kept long enough, unless the process stops first; how many recordings. Results stay."""
    before = context.clock.now() - timedelta(days=context.settings.audio_retention_days)
    removed = 0
    while True:
        with context.database.reading() as connection:
            old = jobs.list_old_audio(connection, before, AT_ONCE)
        for row in old:
            context.storage.delete(row.audio_key)
        with context.database.writing() as connection:
            jobs.forget_audio(connection, [row.job_id for row in old])
        removed += len(old)
        if len(old) < AT_ONCE or is_stopping():
            return removed


def remove_orphans(context: Context, is_stopping: Callable[[], bool] = _never) -> int:
    """Remove files that belong to nothing: what a kill between storing and committing, or an erasure, left behind.

    To look at a large store takes minutes; a process that stops leaves the rest to the next search.
    """
    before = context.clock.now() - SAFE_AGE
    orphans = [key for folder in _EXISTING for key in _orphans(context, folder, before, is_stopping)]
    for key in orphans:
        context.storage.delete(key)
    return len(orphans)


def _orphans(context: Context, folder: str, before: datetime, is_stopping: Callable[[], bool]) -> Iterator[str]:
    keys = takewhile(lambda _: not is_stopping(), context.storage.keys(folder))
    names = (key.removeprefix(f"{folder}/") for key in keys)
    old = (name for name in names if _is_older(name, before))
    while some := list(islice(old, AT_ONCE)):
        with context.database.reading() as connection:
            existing = _EXISTING[folder](connection, some)
        yield from (f"{folder}/{name}" for name in some if name not in existing)


def _is_older(name: str, before: datetime) -> bool:
    """Files that are not named as ours are left alone."""
    try:
        return made_at(name) < before
    except ValueError:
        return False
