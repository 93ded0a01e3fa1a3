"""The service put together from its settings."""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from sqlalchemy import make_url

from vbdesk.contract.longitudinal import TimeScale
from vbdesk.privacy import FILE_MODE, make_private
from vbdesk.service.accounts.key_uses import KeyUses
from vbdesk.service.accounts.session_uses import SessionUses
from vbdesk.service.encryption.keys import EncryptionKeys
from vbdesk.service.kernel.address_guard import AddressGuard
from vbdesk.service.kernel.clock import Clock, SystemClock
from vbdesk.service.kernel.db.engine import create_engine
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.disk_space import DiskReserve
from vbdesk.service.kernel.secret_box import open_secrets
from vbdesk.service.kernel.settings import MIB, Settings
from vbdesk.service.limits.memory import MemoryRateWindows
from vbdesk.service.limits.windows import RateWindows, SharedRateWindows
from vbdesk.service.maintenance.resealing import any_sealed
from vbdesk.service.observability.measured_store import MeasuredStore
from vbdesk.service.observability.metrics import Metrics
from vbdesk.service.observability.tracing import open_tracing
from vbdesk.service.ports.audio_inspector import AudioInspector
from vbdesk.service.ports.context import Context, JobQueue
from vbdesk.service.storage.opening import open_addresses, open_store


def open_database(settings: Settings) -> Database:
    """The database of `settings`; its folder is made, its tables are the migrations' affair."""
    make_private(settings.data_dir)
    url = make_url(settings.resolved_database_url)
    if url.get_backend_name() == "sqlite" and url.database and url.database != ":memory:":
        with suppress(FileNotFoundError):  # there is no such folder, as SQLite will say
            Path(url.database).touch(mode=FILE_MODE)  # SQLite's log files follow it
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
    *,
    is_api: bool = True,
) -> Context:
    """Everything the app and the engine lean on; with `keys`, or keys that the settings name, data is encrypted.

    `is_api` where callers bring recordings to this process.

    Raises:
        KeyUnusable: the data is encrypted and no key fits, or the key cannot be had.
        SecretsDamaged: the service's own keys cannot be read.
        StoreMismatch: the object store belongs to another database.
        StoreUnusable: a library or the credentials for the store are missing.
    """
    # here: who opens the database alone wants neither numpy nor FastAPI
    from vbdesk.longitudinal.parameters import shipped_parameters
    from vbdesk.service.encryption.state import open_encryption
    from vbdesk.service.jobs.admission import QueueAdmission
    from vbdesk.service.maintenance.store_identity import require_match_at_start, require_shared_folder

    metrics = Metrics()
    database.listener = metrics.note
    encryption = open_encryption(settings, database, keys, clock.now)
    storage = MeasuredStore(open_store(settings, encryption.keys), metrics)
    try:
        if is_api or settings.storage_location is not None:
            require_match_at_start(database, storage)
        else:
            require_shared_folder(database, storage)
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
        admission=QueueAdmission(settings.queue_limit),
        guard=AddressGuard(allow_private=settings.allow_private_addresses),
        key_uses=KeyUses(database, clock),
        disk=DiskReserve(settings.written_folders, settings.disk_reserve_mb * MIB),
        session_uses=SessionUses(database, clock),
        metrics=metrics,
        tracing=open_tracing(settings),
    )


def close_context(context: Context) -> None:
    """Close what `open_context` and `open_database` opened."""
    context.key_uses.close()
    context.session_uses.close()
    context.tracing.close()
    context.rates.close()
    context.storage.close()
    context.database.close()
