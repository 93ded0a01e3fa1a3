"""The whole examination of a service from one of its machines."""

from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from vbdesk.service.clock import SystemClock
from vbdesk.service.composition import open_database, open_storage
from vbdesk.service.db.migrate import SchemaState, status
from vbdesk.service.db.session import Database
from vbdesk.service.health.audio import reconcile_audio
from vbdesk.service.health.books import look_at_audio, look_at_ledger
from vbdesk.service.health.database import look_at_database
from vbdesk.service.health.findings import Finding, mend
from vbdesk.service.health.own_place import look_at_disk, look_at_extras, look_at_secrets, look_at_settings
from vbdesk.service.health.public import look_at_address
from vbdesk.service.health.storage import look_at_signed_addresses, look_at_store
from vbdesk.service.health.work import look_at_work
from vbdesk.service.secret_box import SecretsDamaged, key_file_of, open_secrets
from vbdesk.service.settings import Settings, SettingsInvalid, load_settings
from vbdesk.service.storage.store import ObjectStore, StoreUnavailable, StoreUnusable

_USABLE = (SchemaState.CURRENT, SchemaState.AHEAD)


def examine(data_dir: Path, address: str | None = None) -> list[Finding]:
    """Everything that can be looked at from here; what cannot be looked at is a finding too."""
    try:
        settings = load_settings(data_dir)
    except SettingsInvalid as error:
        return [mend("settings", str(error))]
    if not settings.data_dir.is_dir():
        return [mend("settings", f"There is no service in {data_dir}: check --data-dir.")]
    findings = [
        look_at_settings(settings),
        look_at_secrets(settings),
        look_at_extras(settings),
        *look_at_disk(settings),
        *_look_inside(settings),
    ]
    return findings if address is None else [*findings, *look_at_address(address, settings)]


def _look_inside(settings: Settings) -> Iterable[Finding]:
    """Store and database, as far as they answer."""
    store: ObjectStore | None = None
    try:
        store = open_storage(settings)
    except (StoreUnusable, OSError) as error:
        yield mend("object store", str(error))
    if store is not None:
        yield look_at_store(store)
        if key_file_of(settings).path.exists():  # else they are not made by the way
            with suppress(SecretsDamaged):  # found already
                yield look_at_signed_addresses(settings, open_secrets(settings), store)
    with closing(open_database(settings)) as database:
        yield from _guarded(lambda: [*look_at_database(database), *_look_at_content(database, settings, store)])


def _look_at_content(database: Database, settings: Settings, store: ObjectStore | None) -> list[Finding]:
    with database.reading() as connection:
        if status(connection).state not in _USABLE:
            return []
        findings = look_at_work(connection, settings, SystemClock().now()) + look_at_ledger(connection)
    return findings if store is None else [*findings, look_at_audio(reconcile_audio(database, store))]


def _guarded(look: Callable[[], list[Finding]]) -> list[Finding]:
    try:
        return look()
    except SQLAlchemyError as error:  # its text may show the address and the password in it
        kind = type(error).__name__
        return [
            mend("database", f"The database does not answer ({kind}): see that it runs and that its address is right.")
        ]
    except StoreUnavailable as error:
        return [mend("object store", str(error))]
