"""Retention of audio: the configured number of days, and removal after erasures."""

from collections.abc import Callable
from datetime import timedelta

import sqlalchemy as sa

from vbdesk.service.jobs import repository as jobs
from vbdesk.service.kernel.db.tables import erased_objects
from vbdesk.service.maintenance.orphans import StoreContext
from vbdesk.service.ports.context import Context
from vbdesk.service.storage.quarantine import delete_everywhere
from vbdesk.service.storage.withdrawal import is_withdrawn, withdraw

AT_ONCE = 200


def _never() -> bool:
    return False


def remove_old_audio(context: Context, is_stopping: Callable[[], bool] = _never) -> int:
    """Remove audio past its retention, unless the process stops; return how many recordings.

    Results stay.
    """
    before = context.clock.now() - timedelta(days=context.settings.audio_retention_days)
    removed = 0
    while True:
        with context.database.reading() as connection:
            old = jobs.list_old_audio(connection, before, AT_ONCE)
        for row in old:
            delete_everywhere(context.storage, row.audio_key)
        with context.database.writing() as connection:
            jobs.forget_audio(connection, [row.job_id for row in old])
        removed += len(old)
        if len(old) < AT_ONCE or is_stopping():
            return removed


def remove_erased_audio(context: StoreContext) -> int:
    """Remove objects that erasures could not remove; return how many.

    An object in use is left for the next call. An upload with a valid address is withdrawn, and stays listed until the
    address expires.

    Raises:
        StoreUnavailable: the store is still unreachable.
    """
    with context.database.reading() as connection:
        due = connection.execute(sa.select(erased_objects.c.object_key, erased_objects.c.erased_at)).all()
    removed = 0
    for key, due_at in due:
        still_signed = due_at > context.clock.now()
        if still_signed and is_withdrawn(context.storage, key):
            continue
        try:
            (withdraw if still_signed else delete_everywhere)(context.storage, key)
        except OSError:
            continue
        removed += 1
        over = (erased_objects.c.object_key == key) & (erased_objects.c.erased_at <= context.clock.now())
        with context.database.writing() as connection:
            connection.execute(sa.delete(erased_objects).where(over))
    return removed
