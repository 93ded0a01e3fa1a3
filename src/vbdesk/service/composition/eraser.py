"""Eraser for a data folder."""

from functools import partial

from vbdesk.clock import Clock
from vbdesk.longitudinal.parameters import shipped_parameters
from vbdesk.service.composition.job_subscribers import subscribe
from vbdesk.service.engine.plugin_signs import offered_signs
from vbdesk.service.erasure.service import Eraser
from vbdesk.service.kernel.address_guard import AddressGuard
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.encrypted_text import data_keys_of
from vbdesk.service.kernel.secret_box import open_secrets
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.maintenance.resealing import any_sealed
from vbdesk.service.maintenance.store_identity import require_match_at_start, require_shared_folder
from vbdesk.service.ports.job_events import JobEvents
from vbdesk.service.storage.opening import open_store


def open_eraser(settings: Settings, database: Database, clock: Clock) -> Eraser:
    """Open the eraser of jobs and groups, with or without a running service. Raises StoreMismatch."""
    storage = open_store(settings, data_keys_of(database.engine))
    if settings.storage_location is None and settings.database_url.startswith("postgresql"):
        require_shared_folder(database, storage)  # with another folder nothing would be removed
    else:
        require_match_at_start(database, storage)
    guard = AddressGuard(allow_private=settings.allow_private_addresses)
    secrets = open_secrets(settings, partial(any_sealed, database))
    parameters = shipped_parameters(settings.longitudinal_method).with_signs(
        offered_signs(settings)
    )  # for jobs that waited for an erased job
    histories = subscribe(
        JobEvents(), settings=settings, clock=clock, secrets=secrets, guard=guard, parameters=parameters
    )
    return Eraser(database, storage, histories, clock)
