"""Full check of a service from one of its machines."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from vbdesk.clock import SystemClock
from vbdesk.language import N_, message, system_reason
from vbdesk.service.encryption.keys import EncryptionKeys
from vbdesk.service.health.audio_reconciliation import reconcile_audio
from vbdesk.service.health.database_checks import check_database, check_missing_database
from vbdesk.service.health.encryption_checks import check_encryption
from vbdesk.service.health.endpoint_checks import check_host_address
from vbdesk.service.health.findings import Finding, Health, action_needed
from vbdesk.service.health.host_checks import (
    check_encrypted_columns,
    check_extras,
    check_free_disk,
    check_sandbox,
    check_secrets,
    check_settings,
)
from vbdesk.service.health.ledger_checks import check_audio, check_ledger
from vbdesk.service.health.queue_checks import check_work
from vbdesk.service.health.reading_checks import check_readings
from vbdesk.service.health.storage_checks import (
    check_orphans,
    check_pairing,
    check_signed_addresses,
    check_store,
)
from vbdesk.service.kernel.db.migrate import SchemaState, status
from vbdesk.service.kernel.db.session import Database, database_fault, open_database
from vbdesk.service.kernel.secret_box import SecretsDamaged, key_file_of, open_secrets
from vbdesk.service.kernel.settings import Settings, SettingsInvalid, load_settings
from vbdesk.service.maintenance.orphans import SweptStore
from vbdesk.service.storage.opening import open_store
from vbdesk.service.storage.store import ObjectStore, StoreUnavailable, StoreUnusable

_USABLE = (SchemaState.CURRENT, SchemaState.AHEAD)


def run_checks(
    data_dir: Path, address: str | None = None, *, whole: bool = True, keys: EncryptionKeys = ()
) -> list[Finding]:
    """Run every check that is possible here; an impossible check is a finding too.

    Args:
        data_dir: folder of a process of the service.
        address: public address to check as well.
        whole: also read every job, ledger entry and file.
        keys: encryption keys given with the command.
    """
    try:
        settings = load_settings(data_dir)
    except SettingsInvalid as error:
        return [action_needed(N_("settings"), error)]
    if not settings.data_dir.is_dir():
        there_is_none = message("There is no service in {data_dir}. Check --data-dir.", data_dir=data_dir)
        return [action_needed(N_("settings"), there_is_none)]
    findings = [
        check_settings(settings),
        check_secrets(settings),
        check_extras(settings),
        *check_free_disk(settings),
        check_sandbox(),
        *_check_inside(settings, keys, whole=whole),
    ]
    return findings if address is None else [*findings, *check_host_address(address, settings)]


def _check_inside(settings: Settings, keys: EncryptionKeys, *, whole: bool) -> Iterable[Finding]:
    """Check the store and the database, as far as they answer."""
    with ExitStack() as stack:
        store: ObjectStore | None = None
        try:
            store = stack.enter_context(closing(open_store(settings)))
        except StoreUnusable as error:
            yield action_needed(N_("object store"), error)
        except OSError as error:
            cannot = message("The object store cannot be used: {reason}.", reason=system_reason(error))
            yield action_needed(N_("object store"), cannot)
        if store is not None:
            yield check_store(store)
            if key_file_of(settings).path.exists():  # opening secrets would create missing keys
                with suppress(SecretsDamaged):  # already reported
                    yield check_signed_addresses(settings, open_secrets(settings), store)
        missing = check_missing_database(settings, store)
        if missing is not None:
            yield missing
            return
        database = stack.enter_context(closing(open_database(settings)))
        yield from _guarded(settings, lambda: _check_content(settings, database, store, keys, whole=whole))


def _check_content(
    settings: Settings, database: Database, store: ObjectStore | None, keys: EncryptionKeys, *, whole: bool
) -> list[Finding]:
    """Check the database, and its content if this code knows the schema."""
    findings = check_database(database)
    with database.reading() as connection:
        if status(connection).state not in _USABLE:
            return findings
    findings.append(check_encryption(settings, database, store if whole else None, keys))
    with database.reading() as connection:
        findings += check_work(connection, settings, SystemClock().now())
        if whole:
            findings += check_ledger(connection)
    if whole:
        findings += check_encrypted_columns(settings, database)
        findings += check_readings(database, settings)
    if store is None:
        return findings
    pairing = check_pairing(database, store)
    findings.append(pairing)
    if whole:
        try:
            about_files = [
                *check_orphans(SweptStore(database, store, SystemClock())),
                check_audio(reconcile_audio(database, store)),
            ]
            # nothing is quarantined while store and database do not belong together
            findings += [found for found in about_files if found.health is Health.REPAIR or pairing.health is Health.OK]
        except StoreUnavailable as error:
            cannot = message("The recordings cannot be compared with the jobs.")
            findings.append(action_needed(N_("audio"), cannot, error))
    return findings


def _guarded(settings: Settings, check: Callable[[], list[Finding]]) -> list[Finding]:
    try:
        return check()
    except SQLAlchemyError as error:
        return [action_needed(N_("database"), database_fault(settings, error))]
