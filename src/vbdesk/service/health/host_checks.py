"""Checks of this machine: settings, keys, disk, optional libraries, sandbox."""

import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

import sqlalchemy as sa

from vbdesk.service.engine.sandbox import offered
from vbdesk.service.health.findings import Finding, action_needed, note, ok
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.secret_box import SecretsDamaged, key_file_of, missing_but_needed, open_secrets
from vbdesk.service.kernel.settings import MIB, SETTINGS_FILE, Settings
from vbdesk.service.maintenance.resealing import any_sealed, count_seals

LITTLE_ROOM_BYTES = 1024**3
NO_ROOM_BYTES = 256 * 1024**2  # for temporary files; recordings are stored elsewhere

_EXTRAS = {"boto3": "cloud", "google.cloud.storage": "cloud", "opentelemetry.sdk": "telemetry"}


def look_at_settings(settings: Settings) -> Finding:
    """List the names of settings that differ from their defaults."""
    given = ", ".join(sorted(settings.model_fields_set - {"data_dir"})) or "nothing"
    file = settings.data_dir / SETTINGS_FILE
    if file.exists() and os.name != "nt" and file.stat().st_mode & 0o077 and _has_password(settings.database_url):
        return action_needed("settings", f"Others may read {file}, which holds the database's password: chmod 600 it.")
    return ok("settings", f"They fit. Set is: {given}.")


def look_at_secrets(settings: Settings) -> Finding:
    """Check that the key file exists, is valid and is readable by its owner only."""
    file = key_file_of(settings)
    if settings.secrets_file is None and not file.path.exists():
        return note("secrets", "There is no key file; the first start of a new service makes it.")
    try:
        keys = file.read()
    except SecretsDamaged as damage:
        return action_needed("secrets", str(damage))
    if file.others_may_read():
        return action_needed("secrets", f"Others than its owner may read the key file {file.path}: chmod 600 it.")
    names = ", ".join(key.name for key in keys)
    if len(keys) > 1:
        return note("secrets", f"{len(keys)} keys, youngest first: {names}. When all is resealed, prune them.")
    return ok("secrets", f"One key: {names}. On every machine of the service it must be the same.")


def look_at_sealed(settings: Settings, database: Database) -> list[Finding]:
    """Check that the keys decrypt the encrypted columns, if there is data in them."""
    file = key_file_of(settings)
    if not file.path.exists():
        return [action_needed("sealed secrets", missing_but_needed(file.path))] if any_sealed(database) else []
    try:
        count = count_seals(database, open_secrets(settings))
    except SecretsDamaged:  # already reported
        return []
    if count.unreadable:
        return [
            action_needed(
                "sealed secrets",
                f"The keys of this service do not open {count.unreadable} stored webhook secrets, so their deliveries "
                "are not sent. Restore the key file that sealed them, or have the account holders set webhooks again.",
            )
        ]
    opened = count.present + count.older
    return [ok("sealed secrets", f"The keys open all {opened} stored webhook secrets.")] if opened else []


def look_at_disk(settings: Settings) -> list[Finding]:
    """Check the free space in the data folder and in the folder for inspecting recordings."""
    reserve = settings.disk_reserve_mb * MIB
    return [
        *(_look_at_reserve(folder, reserve) for folder in settings.written_folders),
        _look_at_room("disk of temporary files", tempfile.gettempdir()),
    ]


def look_at_extras(settings: Settings) -> Finding:
    """Check that the libraries required by these settings are installed."""
    location = settings.storage_location
    needed = [] if location is None else ["boto3" if location.kind == "s3" else "google.cloud.storage"]
    if settings.otlp_endpoint:
        needed.append("opentelemetry.sdk")
    missing = sorted({_EXTRAS[module] for module in needed if not _is_there(module)})
    if missing:
        return action_needed("extras", f"The settings need vbdesk[{','.join(missing)}]: install it.")
    return ok("extras", "What the settings need is installed.")


def look_at_sandbox() -> Finding:
    """Check which sandbox limits apply if a recording takes over its decoder."""
    has = offered()
    return ok("sandbox", has.sentence) if has.complete else note("sandbox", has.sentence)


def _look_at_reserve(folder: Path, reserve: int) -> Finding:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return action_needed("disk", f"The free space at {folder} cannot be read: {error.strerror}.")
    words = f"{free / 1024**3:.1f} GiB are free at {folder}, and {reserve / 1024**3:.1f} GiB are held back"
    if free < max(reserve, 1):
        return action_needed("disk", f"{words}: make room now, recordings are refused until then.")
    if free < reserve + LITTLE_ROOM_BYTES:
        return note("disk", f"{words}: make room soon.")
    return ok("disk", f"{words}.")


def _look_at_room(topic: str, folder: "str | os.PathLike[str]") -> Finding:
    free = shutil.disk_usage(folder).free
    words = f"{free / 1024**3:.1f} GiB are free at {folder}"
    if free < NO_ROOM_BYTES:
        return action_needed(topic, f"{words}: make room now, the service cannot work without.")
    return note(topic, f"{words}: make room soon.") if free < LITTLE_ROOM_BYTES else ok(topic, f"{words}.")


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _has_password(database_url: str) -> bool:
    return bool(database_url) and bool(sa.make_url(database_url).password)
