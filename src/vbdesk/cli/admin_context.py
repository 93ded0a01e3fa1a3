"""Shared by the administration commands: open the data folder, report faults in one line, print answers."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vbdesk.cli.output import fail, print_json, say, table
from vbdesk.contract.timestamps import format_timestamp
from vbdesk.language import _, system_reason, translated

if TYPE_CHECKING:
    from vbdesk.service.encryption.keys import EncryptionKeys
    from vbdesk.service.kernel.db.session import Database
    from vbdesk.service.kernel.settings import Settings
    from vbdesk.service.storage.store import ObjectStore

DataDir = Annotated[Path, typer.Option(help="Folder of the service.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
AccountId = Annotated[str, typer.Option("--account", help="The account's id.")]


# typer bundles its own copy of click, whose current context is not that of a command
_given_keys: ContextVar["EncryptionKeys"] = ContextVar("given_keys", default=())


def give_keys(context: typer.Context, keys: "EncryptionKeys") -> None:
    """Let the running command use these encryption keys until it ends."""
    token = _given_keys.set(keys)
    context.call_on_close(lambda: _given_keys.reset(token))


def given_keys() -> "EncryptionKeys":
    """The keys of the running command."""
    return _given_keys.get()


@contextmanager
def opened_database(
    data_dir: Path, *, new: bool = False, migrate: bool = True
) -> Iterator[tuple["Settings", "Database"]]:
    """The migrated database, with the keys of the command or the settings; reports faults in one line.

    Args:
        data_dir: folder of the service.
        new: create the database if there is none; otherwise a missing one means a wrong folder.
        migrate: migrate its tables first.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from vbdesk.service.encryption.data_keys import Damaged
    from vbdesk.service.encryption.keys import KeyUnusable
    from vbdesk.service.encryption.state import unlock
    from vbdesk.service.kernel.db.migrate import MigrationFailed, upgrade
    from vbdesk.service.kernel.db.session import DatabaseMissing, database_fault, open_database
    from vbdesk.service.kernel.disk_space import is_disk_full
    from vbdesk.service.kernel.encrypted_text import KeyMissing
    from vbdesk.service.kernel.errors import ServiceError
    from vbdesk.service.kernel.secret_box import SecretsDamaged
    from vbdesk.service.storage.store import StoreUnavailable, StoreUnusable

    settings = opened_settings(data_dir, new=new)
    try:
        with closing(open_database(settings)) as database:
            if migrate:
                upgrade(database, settings.data_dir)
                unlock(settings, database, given_keys())
            yield settings, database
    except (
        ServiceError,
        DatabaseMissing,
        SecretsDamaged,
        MigrationFailed,
        StoreUnavailable,
        StoreUnusable,
        KeyMissing,
        KeyUnusable,
        Damaged,
    ) as error:
        fail(translated(error))
    except OSError as error:
        fail(_("The folder {data_dir} cannot be used: {reason}.", data_dir=data_dir, reason=system_reason(error)))
    except SQLAlchemyError as error:
        if is_disk_full(error):
            fail(
                _(
                    "The disk of the database of {data_dir} is full. Nothing was changed. Make room and run it again.",
                    data_dir=data_dir,
                )
            )
        fail(database_fault(settings, error))


@contextmanager
def opened_store(data_dir: Path) -> Iterator[tuple["Database", "ObjectStore"]]:
    """The database and the object store of the settings."""
    from vbdesk.service.kernel.encrypted_text import data_keys_of
    from vbdesk.service.storage.opening import open_store

    with (
        opened_database(data_dir) as (settings, opened),
        closing(open_store(settings, data_keys_of(opened.engine))) as store,
    ):
        yield opened, store


def opened_settings(data_dir: Path, *, new: bool = False) -> "Settings":
    """The settings of a service that exists or, with `new`, may be created."""
    from vbdesk.service.kernel.settings import SETTINGS_FILE, SettingsInvalid, load_settings

    try:
        settings = load_settings(data_dir)
    except SettingsInvalid as error:
        fail(translated(error))
    begun = settings.database_url or settings.database_file.exists() or (settings.data_dir / SETTINGS_FILE).exists()
    if not (new or begun):
        fail(_("There is no service in {data_dir}. Check --data-dir.", data_dir=data_dir))
    return settings


def show(item: dict[str, Any], as_json: bool) -> None:
    """Print one object: its fields line by line, or JSON."""
    plain = {name: _plain(value) for name, value in item.items()}
    if as_json:
        print_json(plain)
        return
    width = max(12, *map(len, plain))
    for name, value in plain.items():
        say(f"{name:{width}} {_worded(value)}")


def show_list(items: list[dict[str, Any]], as_json: bool) -> None:
    """Print several objects: a table, or JSON."""
    plain = [{name: _plain(value) for name, value in item.items()} for item in items]
    if as_json:
        print_json(plain)
        return
    say(*table(list(plain[0]) if plain else [], [list(item.values()) for item in plain]))


def _plain(value: Any) -> Any:
    return format_timestamp(value) if isinstance(value, datetime) else value


def _worded(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return "-" if value is None else str(value)
