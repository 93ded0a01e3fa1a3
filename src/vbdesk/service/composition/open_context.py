"""Construction of the service context from settings."""

from collections.abc import Mapping
from functools import partial

from vbdesk.clock import Clock, SystemClock
from vbdesk.contract.longitudinal import TimeScale
from vbdesk.longitudinal.parameters import shipped_parameters
from vbdesk.service.accounts.service import AccountService, KeyUses
from vbdesk.service.accounts.sessions import SessionUses
from vbdesk.service.composition.job_subscribers import subscribe
from vbdesk.service.encryption.keys import EncryptionKeys
from vbdesk.service.encryption.state import open_encryption
from vbdesk.service.jobs.admission import QueueAdmission
from vbdesk.service.kernel.address_guard import AddressGuard
from vbdesk.service.kernel.db.engine import create_engine
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.disk_space import DiskReserve
from vbdesk.service.kernel.secret_box import open_secrets
from vbdesk.service.kernel.settings import MIB, Settings
from vbdesk.service.limits.rate_windows import MemoryRateWindows, RateWindows, SharedRateWindows
from vbdesk.service.maintenance.resealing import any_sealed
from vbdesk.service.maintenance.store_identity import require_match_at_start, require_shared_folder
from vbdesk.service.observability.measured_store import MeasuredStore
from vbdesk.service.observability.metrics import Metrics
from vbdesk.service.observability.tracing import open_tracing
from vbdesk.service.ports.audio_inspector import AudioInspector
from vbdesk.service.ports.context import Context, JobQueue
from vbdesk.service.ports.job_events import JobEvents
from vbdesk.service.storage.opening import open_addresses, open_store


def open_rates(settings: Settings, clock: Clock) -> RateWindows:
    """Open the rate counters: in memory with SQLite (one process), in the database with a server.

    On a server the server's clock counts, unless `clock` is a test clock.
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
    """Open the dependencies of the app and the engine; with `keys`, or keys from the settings, data is encrypted.

    `is_api`: callers submit recordings to this process.

    Raises:
        KeyUnusable: the data is encrypted and no key fits, or the key is not available.
        SecretsDamaged: the service's own keys cannot be read.
        StoreMismatch: the object store belongs to another database.
        StoreUnusable: a library or the credentials for the store are missing.
    """
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
    guard = AddressGuard(allow_private=settings.allow_private_addresses)
    parameters = shipped_parameters(settings.longitudinal_method).with_signs(plugin_signs or {})
    job_events = JobEvents()
    subscribe(job_events, settings=settings, clock=clock, secrets=secrets, guard=guard, parameters=parameters)
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
        accounts=AccountService(clock),
        job_events=job_events,
        plugin_signs=plugin_signs or {},
        parameters=parameters,
        admission=QueueAdmission(settings.queue_limit),
        guard=guard,
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
