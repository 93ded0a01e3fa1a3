"""How long audio is kept: as the operator chose, and not after its job was erased."""

from collections.abc import Callable
from datetime import timedelta

import sqlalchemy as sa

from vbdesk.service.jobs import repository as jobs
from vbdesk.service.kernel.db.stores import erased_objects
from vbdesk.service.maintenance.orphans import StoreContext
from vbdesk.service.ports.context import Context
from vbdesk.service.storage.quarantine import delete_everywhere
from vbdesk.service.storage.withdrawal import is_withdrawn, withdraw

AT_ONCE = 200


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
            delete_everywhere(context.storage, row.audio_key)
        with context.database.writing() as connection:
            jobs.forget_audio(connection, [row.job_id for row in old])
        removed += len(old)
        if len(old) < AT_ONCE or is_stopping():
            return removed


def remove_erased_audio(context: StoreContext) -> int:
    """Remove what erasures left in the store because it was away or in use; how many objects.

    An object that is still in use is left to the next round. An upload whose address may still hold is withdrawn, and
    remembered until it has ended.

    Raises:
        StoreUnavailable: the store is still away.
    """
    with context.database.reading() as connection:
        owed = connection.execute(sa.select(erased_objects.c.object_key, erased_objects.c.erased_at)).all()
    removed = 0
    for key, owed_until in owed:
        still_signed = owed_until > context.clock.now()
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
