"""The service put together from its settings."""

from collections.abc import Mapping
from functools import partial

from vbdesk.contract.longitudinal import TimeScale
from vbdesk.privacy import FILE_MODE, make_private
from vbdesk.service.accounts.key_uses import KeyUses
from vbdesk.service.clock import Clock, SystemClock
from vbdesk.service.context import Context, JobQueue
from vbdesk.service.db.engine import create_engine
from vbdesk.service.db.session import Database
from vbdesk.service.encryption.keys import EncryptionKeys
from vbdesk.service.jobs.audio import AudioInspector
from vbdesk.service.limits.memory import MemoryRateWindows
from vbdesk.service.limits.windows import RateWindows, SharedRateWindows
from vbdesk.service.observe.measured_store import MeasuredStore
from vbdesk.service.observe.metrics import Metrics
from vbdesk.service.observe.tracing import open_tracing
from vbdesk.service.resealing import any_sealed
from vbdesk.service.secret_box import open_secrets
from vbdesk.service.settings import Settings
from vbdesk.service.storage.opening import open_addresses, open_store


def open_database(settings: Settings) -> Database:
    """The database of `settings`; its folder is made, its tables are the migrations' affair."""
    make_private(settings.data_dir)
    if not settings.database_url:
        settings.database_file.touch(mode=FILE_MODE)  # SQLite's log files follow it
    return Database(create_engine(settings.resolved_database_url))


def open_rates(settings: Settings, clock: Clock) -> RateWindows:
    """The rate counters: in memory beside SQLite, which one process serves; in the same database on a server.

    There the server's clock counts, unless `clock` is one that is set by hand.
    """
    if settings.resolved_database_url.startswith("sqlite"):
        return MemoryRateWindows()
    database = Database(create_engine(settings.database_url))
    rates = SharedRateWindows(database, servers_clock=isinstance(clock, SystemClock))
    rates.create_tables()
    return rates


def open_context(
    settings: Settings,
    database: Database,
    queue: JobQueue,
    inspector: AudioInspector,
    clock: Clock,
    storage_origin: str,
    plugin_signs: Mapping[str, TimeScale] | None = None,
    keys: EncryptionKeys = (),
) -> Context:
    """Everything the app and the engine lean on; with `keys`, or keys that the settings name, data is encrypted.

    Raises:
        KeyUnusable: the data is encrypted and no key fits, or the key cannot be had.
        SecretsDamaged: the service's own keys cannot be read.
        StoreMismatch: the object store belongs to another database.
        StoreUnusable: a library or the credentials for the store are missing.
    """
    # here: who opens the database alone wants neither numpy nor FastAPI
    from vbdesk.longitudinal.parameters import shipped_parameters
    from vbdesk.service.encryption.state import open_encryption
    from vbdesk.service.store_identity import require_match_at_start
    from vbdesk.service.work.pressure import Backpressure

    metrics = Metrics()
    database.listener = metrics.note
    encryption = open_encryption(settings, database, keys, clock.now)
    storage = MeasuredStore(open_store(settings, encryption.keys), metrics)
    try:
        require_match_at_start(database, storage)
        secrets = open_secrets(settings, partial(any_sealed, database))
    except Exception:
        storage.close()
        raise
    return Context(
        settings=settings,
        database=database,
        rates=open_rates(settings, clock),
        storage=storage,
        encryption=encryption,
        addresses=open_addresses(settings, lambda: secrets.keys_for("upload addresses"), storage_origin),
        clock=clock,
        secrets=secrets,
        queue=queue,
        inspector=inspector,
        plugin_signs=plugin_signs or {},
        parameters=shipped_parameters().with_signs(plugin_signs or {}),
        pressure=Backpressure(settings.queue_limit),
        key_uses=KeyUses(database, clock),
        metrics=metrics,
        tracing=open_tracing(settings),
    )


def close_context(context: Context) -> None:
    """Close what `open_context` and `open_database` opened."""
    context.key_uses.close()
    context.tracing.close()
    context.rates.close()
    context.storage.close()
    context.database.close()
