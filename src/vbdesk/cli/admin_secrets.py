"""`vbdesk admin secrets`: create, list, rotate and delete the service's own keys."""

from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.admin_context import AsJson, DataDir, given_keys, opened_database, opened_settings, show, show_list
from vbdesk.cli.output import fail
from vbdesk.clock import utc_now
from vbdesk.language import _, ngettext, system_reason, translated
from vbdesk.privacy import make_private

if TYPE_CHECKING:
    from vbdesk.service.kernel.db.session import Database
    from vbdesk.service.kernel.secret_box import KeyFile, RootKeys
    from vbdesk.service.kernel.settings import Settings

app = typer.Typer(no_args_is_help=True, help="The service's own keys. They are named, never shown.")


@app.command("create")
def create(
    data_dir: DataDir,
    forget_webhooks: Annotated[
        bool, typer.Option("--forget-webhooks", help="End all webhooks, whose secrets a lost key file encrypted.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Create the key file of a new service, to be copied to each of its machines.

    Refused while the database holds secrets that a missing key file encrypted.
    """
    settings = opened_settings(data_dir, new=True)
    file = _file_of(settings)
    if file.path.exists():
        fail(
            _(
                "There is a key file already: {path}. To change the key, use vbdesk admin secrets rotate.",
                path=file.path,
            )
        )
    if settings.database_url or settings.database_file.exists():
        _check_encrypted_secrets(data_dir, file, forget=forget_webhooks)
    try:
        make_private(file.path.parent)
        file.create()
    except OSError as error:
        fail(_("{file} cannot be written: {reason}.", file=file.path, reason=system_reason(error)))
    show({"key": _keys_in(file)[0].name, "file": str(file.path)}, as_json)


@app.command("list")
def list_keys(data_dir: DataDir, as_json: AsJson = False) -> None:
    """List the keys in the file, newest first; compare it on all machines to check that the copies are equal."""
    from vbdesk.service.kernel.secret_box import sealing_first

    keys = _keys_in(_file_of(opened_settings(data_dir)))
    sealing = sealing_first(keys, utc_now())[0]
    show_list([{"key": key.name, "seals_from": key.seals_from, "seals": key is sealing} for key in keys], as_json)


@app.command("rotate")
def rotate(
    data_dir: DataDir,
    in_minutes: Annotated[
        int, typer.Option(min=0, help="Minutes until the new key is used: time to copy the file to every machine.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Add a key. What older keys encrypted and signed stays valid; running processes load the new key automatically.

    The key of encrypted data changes too, at once: a new one becomes the first in key_file; or the data keys are
    encrypted with the first of the given keys. Older backups of the database need the older key.
    """
    settings = opened_settings(data_dir)
    file = _file_of(settings)
    _keys_in(file)
    try:
        with file.changing():
            encryption_key = _rotate_encryption_key(data_dir, settings)
            added = file.rotate(utc_now() + timedelta(minutes=in_minutes))
    except OSError as error:
        fail(
            _(
                "{path} cannot be written: {reason}. Rotate where the file is kept, then copy it.",
                path=file.path,
                reason=system_reason(error),
            )
        )
    shown = {"key": added.name, "seals_from": added.seals_from, "file": str(file.path)}
    show(shown if encryption_key is None else {**shown, "encryption_key": encryption_key}, as_json)


@app.command("reseal")
def reseal(data_dir: DataDir, as_json: AsJson = False) -> None:
    """Encrypt webhook secrets again that older keys encrypted. The service may run, and it may be repeated."""
    from vbdesk.service.kernel.secret_box import open_secrets
    from vbdesk.service.maintenance.resealing import any_sealed
    from vbdesk.service.maintenance.resealing import reseal as reseal_all

    with opened_database(data_dir) as (settings, database):
        count = reseal_all(database, open_secrets(settings, partial(any_sealed, database)))
    show({"resealed": count.older, "present": count.present, "unreadable": count.unreadable}, as_json)


@app.command("prune")
def prune(
    data_dir: DataDir,
    now: Annotated[bool, typer.Option("--now", help="Even if open upload addresses become invalid.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete the keys before the current one, once nothing needs them."""
    from vbdesk.service.kernel.secret_box import sealing_first

    file = _file_of(opened_settings(data_dir))
    _keys_in(file)
    try:
        with file.changing():
            with opened_database(data_dir) as (settings, database):
                keys, moment = _keys_in(file), utc_now()
                sealing = sealing_first(keys, moment)[0]
                if not now and (moment - sealing.seals_from).total_seconds() < settings.upload_valid_s:
                    fail(
                        _(
                            "The key that seals now has done so for less than {minutes:g} minutes, so upload addresses"
                            " of the key before are still open. Wait, or say --now.",
                            minutes=settings.upload_valid_s / 60,
                        )
                    )
                _require_resealed(settings, database)
                pruned = _prune_key_file(settings, database)
            remaining, removed = _parted(keys, sealing.seals_from)
            file.replace(remaining)
    except OSError as error:
        fail(_("{file} cannot be written: {reason}.", file=file.path, reason=system_reason(error)))
    shown = {"removed": [key.name for key in removed], "kept": [key.name for key in remaining]}
    show({**shown, "encryption_keys_removed": pruned} if pruned else shown, as_json)


def _rotate_encryption_key(data_dir: Path, settings: "Settings") -> str | None:
    """Name of the key with which all data keys are now encrypted; None if nothing is encrypted."""
    from vbdesk.service.encryption.data_keys import is_encrypted, rewrap
    from vbdesk.service.encryption.keys import find_keys, new_key, replace_key_file
    from vbdesk.service.encryption.state import require_key

    if not (settings.database_url or settings.database_file.exists()):
        return None
    with opened_database(data_dir) as (_settings, database):
        if not is_encrypted(database):
            return None
        require_key(database)
        keys = find_keys(settings, given_keys())
        if settings.key_file is not None:
            keys = (new_key(), *keys)
            replace_key_file(settings.key_file, keys)  # first: encrypted data must never exist without its key
        rewrap(database, keys, utc_now())
    return keys[0].name


def _require_resealed(settings: "Settings", database: "Database") -> None:
    """Refuse while a secret needs an older key."""
    from vbdesk.service.kernel.secret_box import open_secrets
    from vbdesk.service.maintenance.resealing import count_seals

    older = count_seals(database, open_secrets(settings)).older
    if older:
        fail(
            ngettext(
                "{count} secret is sealed by an older key: reseal first with vbdesk admin secrets reseal.",
                "{count} secrets are sealed by an older key: reseal first with vbdesk admin secrets reseal.",
                older,
            )
        )


def _prune_key_file(settings: "Settings", database: "Database") -> list[str]:
    """Delete the keys that no data key needs from the key file; returns their names."""
    from vbdesk.service.encryption.data_keys import wrapped_by
    from vbdesk.service.encryption.keys import find_keys, replace_key_file

    if settings.key_file is None:
        return []
    keys, needed = find_keys(settings), wrapped_by(database)
    remaining = tuple(key for key in keys if key.name in needed)
    if remaining and remaining != keys:
        replace_key_file(settings.key_file, remaining)
    return [key.name for key in keys if remaining and key not in remaining]


def _check_encrypted_secrets(data_dir: Path, file: "KeyFile", *, forget: bool) -> None:
    """Refuse to replace a needed key file, or forget what needs it."""
    from vbdesk.service.kernel.secret_box import missing_but_needed
    from vbdesk.service.maintenance.resealing import any_sealed, forget_sealed

    with opened_database(data_dir, migrate=False) as (_settings, database):
        if not any_sealed(database):
            return
        if not forget:
            fail(missing_but_needed(file.path))
        forget_sealed(database, utc_now())


def _parted(keys: "RootKeys", seals_from: datetime) -> tuple["RootKeys", "RootKeys"]:
    """The current and future keys, and the older ones."""
    remaining = tuple(key for key in keys if key.seals_from >= seals_from)
    return remaining, tuple(key for key in keys if key not in remaining)


def _file_of(settings: "Settings") -> "KeyFile":
    from vbdesk.service.kernel.secret_box import key_file_of

    return key_file_of(settings)


def _keys_in(file: "KeyFile") -> "RootKeys":
    from vbdesk.service.kernel.secret_box import SecretsDamaged

    try:
        return file.read()
    except SecretsDamaged as error:
        fail(translated(error))
