"""Checks of this machine: settings, keys, disk, optional libraries, sandbox."""

import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

import sqlalchemy as sa

from vbdesk.language import N_, message, plural_message, system_reason
from vbdesk.service.engine.sandbox import offered
from vbdesk.service.health.findings import Finding, action_needed, note, ok
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.secret_box import SecretsDamaged, key_file_of, missing_but_needed, open_secrets
from vbdesk.service.kernel.settings import MIB, SETTINGS_FILE, Settings
from vbdesk.service.maintenance.resealing import any_sealed, count_seals

LITTLE_ROOM_BYTES = 1024**3
NO_ROOM_BYTES = 256 * 1024**2  # for temporary files; recordings are stored elsewhere

_MAKE_ROOM = N_("Make room soon.")
_EXTRAS = {"boto3": "cloud", "google.cloud.storage": "cloud", "opentelemetry.sdk": "telemetry"}


def check_settings(settings: Settings) -> Finding:
    """List the names of settings that differ from their defaults."""
    file = settings.data_dir / SETTINGS_FILE
    if file.exists() and os.name != "nt" and file.stat().st_mode & 0o077 and _has_password(settings.database_url):
        readable = message(
            "Others may read {file}, which holds the password of the database. Run chmod 600 on it.", file=file
        )
        return action_needed(N_("settings"), readable)
    given = ", ".join(sorted(settings.model_fields_set - {"data_dir"}))
    if not given:
        return ok(N_("settings"), message("All settings have their default values."))
    return ok(N_("settings"), message("The settings are valid. These are set: {names}.", names=given))


def check_secrets(settings: Settings) -> Finding:
    """Check that the key file exists, is valid and is readable by its owner only."""
    file = key_file_of(settings)
    if settings.secrets_file is None and not file.path.exists():
        return note(N_("secrets"), message("There is no key file yet. The first start of a new service creates it."))
    try:
        keys = file.read()
    except SecretsDamaged as damage:
        return action_needed(N_("secrets"), damage)
    if file.others_may_read():
        readable = message("Others may read the key file {file}. Run chmod 600 on it.", file=file.path)
        return action_needed(N_("secrets"), readable)
    names = ", ".join(key.name for key in keys)
    if len(keys) > 1:
        several = message(
            "There are {count} keys, the newest first: {names}. When everything is encrypted with the newest, run "
            "vbdesk admin secrets prune.",
            count=len(keys),
            names=names,
        )
        return note(N_("secrets"), several)
    one = message("There is one key: {name}. Every machine of the service needs the same key.", name=names)
    return ok(N_("secrets"), one)


def check_encrypted_columns(settings: Settings, database: Database) -> list[Finding]:
    """Check that the keys decrypt the encrypted columns, if there is data in them."""
    file = key_file_of(settings)
    if not file.path.exists():
        return [action_needed(N_("webhook secrets"), missing_but_needed(file.path))] if any_sealed(database) else []
    try:
        count = count_seals(database, open_secrets(settings))
    except SecretsDamaged:  # already reported
        return []
    if count.unreadable:
        return [
            action_needed(
                N_("webhook secrets"),
                plural_message(
                    "The keys of this service do not open {count} stored webhook secret, so its deliveries are not "
                    "sent. Restore the key file that belongs to it, or ask the account holder to set the webhook "
                    "again.",
                    "The keys of this service do not open {count} stored webhook secrets, so their deliveries are not "
                    "sent. Restore the key file that belongs to them, or ask the account holders to set the webhooks "
                    "again.",
                    count.unreadable,
                ),
            )
        ]
    opened = count.present + count.older
    if not opened:
        return []
    readable = plural_message(
        "The keys open the only stored webhook secret.", "The keys open all {count} stored webhook secrets.", opened
    )
    return [ok(N_("webhook secrets"), readable)]


def check_free_disk(settings: Settings) -> list[Finding]:
    """Check the free space in the data folder and in the folder for inspecting recordings."""
    reserve = settings.disk_reserve_mb * MIB
    return [
        *(_check_reserve(folder, reserve) for folder in settings.written_folders),
        _check_free_space(N_("disk of temporary files"), tempfile.gettempdir()),
    ]


def check_extras(settings: Settings) -> Finding:
    """Check that the libraries required by these settings are installed."""
    location = settings.storage_location
    needed = [] if location is None else ["boto3" if location.kind == "s3" else "google.cloud.storage"]
    if settings.otlp_endpoint:
        needed.append("opentelemetry.sdk")
    missing = sorted({_EXTRAS[module] for module in needed if not _is_there(module)})
    if missing:
        package = f"vbdesk[{','.join(missing)}]"
        return action_needed(
            N_("extras"), message("Install this package, which the settings need: {package}.", package=package)
        )
    return ok(N_("extras"), message("What the settings need is installed."))


def check_sandbox() -> Finding:
    """Check which sandbox limits apply if a recording takes over its decoder."""
    has = offered()
    return (ok if has.complete else note)(N_("sandbox"), has.sentence)


def _check_reserve(folder: Path, reserve: int) -> Finding:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        unknown = message(
            "The free space of {folder} cannot be read: {reason}.", folder=folder, reason=system_reason(error)
        )
        return action_needed(N_("disk"), unknown)
    measured = message(
        "{free:.1f} GiB are free in {folder}, and {reserve:.1f} GiB are kept in reserve.",
        free=free / 1024**3,
        folder=folder,
        reserve=reserve / 1024**3,
    )
    if free < max(reserve, 1):
        return action_needed(N_("disk"), measured, message("Make room now. Recordings are refused until then."))
    if free < reserve + LITTLE_ROOM_BYTES:
        return note(N_("disk"), measured, _MAKE_ROOM)
    return ok(N_("disk"), measured)


def _check_free_space(topic: str, folder: "str | os.PathLike[str]") -> Finding:
    free = shutil.disk_usage(folder).free
    measured = message("{free:.1f} GiB are free in {folder}.", free=free / 1024**3, folder=folder)
    if free < NO_ROOM_BYTES:
        return action_needed(topic, measured, message("Make room now. The service cannot work without it."))
    return note(topic, measured, _MAKE_ROOM) if free < LITTLE_ROOM_BYTES else ok(topic, measured)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _has_password(database_url: str) -> bool:
    return bool(database_url) and bool(sa.make_url(database_url).password)
