"""`vbdesk admin database|worker|queue|audio|reconcile`: what stands where, across all machines of a service."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.admin_context import AsJson, DataDir, opened_database, opened_store, show, show_list
from vbdesk.cli.output import fail

if TYPE_CHECKING:
    from vbdesk.service.maintenance.orphans import SweptStore

database = typer.Typer(no_args_is_help=True, help="The database's schema.")
worker = typer.Typer(no_args_is_help=True, help="Processes that run jobs.")
audio = typer.Typer(no_args_is_help=True, help="Recordings, wherever they lie.")


@database.command("status")
def database_status(data_dir: DataDir, as_json: AsJson = False) -> None:
    """Tell the schema's revision, this vbdesk's, and the oldest that may start on the schema; changes nothing."""
    from vbdesk.service.kernel.db.migrate import status

    with opened_database(data_dir, migrate=False) as (_, opened), opened.reading() as connection:
        found = status(connection)
    show({**asdict(found), "state": found.state.value}, as_json)


@database.command("upgrade")
def upgrade_database(data_dir: DataDir, as_json: AsJson = False) -> None:
    """Bring the schema up to date, beside running processes; a start does the same."""
    from vbdesk.service.kernel.db.migrate import status

    with opened_database(data_dir) as (_, opened), opened.reading() as connection:
        found = status(connection)
    show({**asdict(found), "state": found.state.value}, as_json)


@database.command("backup")
def back_up_database(
    data_dir: DataDir,
    to: Annotated[Path, typer.Option(help="File of the copy; one that is there already is replaced.")],
    as_json: AsJson = False,
) -> None:
    """Copy the embedded database into a file for its owner alone. The service may run."""
    from vbdesk.service.kernel.db.backup import BackupFailed, back_up

    with opened_database(data_dir, migrate=False) as (settings, opened):
        try:
            size = back_up(opened, settings.data_dir, to)
        except BackupFailed as failure:
            fail(str(failure))
    show({"file": str(to), "size_bytes": size}, as_json)


@database.command("adopt-store")
def adopt_store(
    data_dir: DataDir,
    force: Annotated[
        bool, typer.Option("--force", help="Also if the database does not know the objects of the store.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Let the database and the object store of these settings belong together from now on.

    Both get a new id. Another database that used the store, also a copy of this one, is refused there from now on.
    """
    from vbdesk.service.encryption.progress import look_again
    from vbdesk.service.maintenance import store_identity

    with opened_store(data_dir) as (opened, store):
        adopted = store_identity.adopt_store(opened, store, force=force)
        look_again(opened)  # its recordings may not be encrypted
    show(asdict(adopted), as_json)


@worker.command("list")
def list_workers(data_dir: DataDir, as_json: AsJson = False) -> None:
    """List the processes that run jobs, with what each has in hand."""
    from vbdesk.service.health.executor_list import list_executors

    with opened_database(data_dir) as (_, opened), opened.reading() as connection:
        found = list_executors(connection)
    show_list([asdict(executor) for executor in found], as_json)


@audio.command("save")
def save(
    data_dir: DataDir,
    to: Annotated[Path, typer.Option(help="Folder of the copies; what is there already is not copied again.")],
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove copies of what was erased or kept long enough.")
    ] = False,
    quarantined: Annotated[
        bool, typer.Option("--quarantined", help="Copy the quarantine instead: recordings that no job knows.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Copy every recording into a folder. The service may run."""
    from vbdesk.service.encryption.data_keys import is_encrypted
    from vbdesk.service.encryption.state import require_key
    from vbdesk.service.maintenance.audio_copies import save_audio, save_quarantine

    if quarantined and prune:
        fail("--prune does not go with --quarantined: the quarantine is not all that the folder may hold.")
    with _matching_store(data_dir) as access:
        encrypted = is_encrypted(access.database)
        if access.storage.checks_addresses_itself:
            require_key(access.database)  # what comes from a bucket is encrypted here
        if quarantined:
            count = save_quarantine(access.storage, to, encrypted=encrypted)
        else:
            count = save_audio(access.storage, to, prune=prune, encrypted=encrypted)
    show(asdict(count), as_json)


@audio.command("restore")
def restore(
    data_dir: DataDir,
    source: Annotated[Path, typer.Option("--from", help="Folder of the copies.")],
    as_json: AsJson = False,
) -> None:
    """Put the recordings of a folder into the store, those that it lacks."""
    from vbdesk.service.encryption.state import require_key
    from vbdesk.service.maintenance.audio_copies import restore_audio
    from vbdesk.service.maintenance.store_identity import require_no_other

    if not source.is_dir():
        fail(f"There is no folder {source}.")
    with opened_store(data_dir) as (opened, store):
        require_no_other(opened, store)
        require_key(opened)
        count = restore_audio(store, source)
    show(asdict(count), as_json)


@audio.command("orphans")
def orphans(
    data_dir: DataDir,
    quarantine: Annotated[bool, typer.Option("--quarantine", help="Quarantine them, however many there are.")] = False,
    as_json: AsJson = False,
) -> None:
    """Count the recordings and uploads in the store that belong to no job and no upload of the database.

    The service quarantines them once a day, unless there are too many: more than 20 and more than 5 % of the store, or
    more than 1,000. It then leaves them alone, for the database may be the wrong one.
    """
    from vbdesk.service.maintenance import orphans as sweeping

    with _matching_store(data_dir) as access:
        found = sweeping.search_orphans(access) or sweeping.OrphanSearch(0, ())
        moved = sweeping.quarantine(access, found.orphans) if quarantine else 0
    told = {"objects": found.objects, "orphans": len(found.orphans), "too_many": found.too_many, "quarantined": moved}
    show(told, as_json)


@audio.command("quarantined")
def quarantined(data_dir: DataDir, as_json: AsJson = False) -> None:
    """List what is in quarantine. The service removes an object after 14 days there, if it still belongs to nothing."""
    from vbdesk.service.maintenance.orphans import list_quarantine

    with _matching_store(data_dir) as access:
        found = list_quarantine(access)
    show_list([asdict(one) for one in found], as_json)


@audio.command("put-back")
def put_back(
    data_dir: DataDir,
    everything: Annotated[
        bool, typer.Option("--all", help="Also what the database does not know. The next sweep may move it again.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Put back from quarantine what jobs and uploads of the database have. The service does so once a day itself."""
    from vbdesk.service.maintenance import orphans as sweeping

    with _matching_store(data_dir) as access:
        count = sweeping.put_back_known(access)
        if everything:
            count += sweeping.put_back(access, [found.key for found in sweeping.list_quarantine(access)])
    show({"put_back": count}, as_json)


def queue(data_dir: DataDir, as_json: AsJson = False) -> None:
    """Tell how many jobs wait, for how long, and how many are in hand."""
    from vbdesk.service.engine.queue_state import read_queue_state
    from vbdesk.service.kernel.clock import SystemClock

    with opened_database(data_dir) as (_, opened), opened.reading() as connection:
        state = read_queue_state(connection, SystemClock().now())
    show(asdict(state), as_json)


def reconcile(
    data_dir: DataDir,
    apply: Annotated[
        bool, typer.Option("--apply", help="Forget audio that is gone, so that nothing promises it any more.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare jobs and audio after a restore: jobs whose audio is gone, files that belong to no job.

    A waiting job without its audio fails by itself and costs nothing. The service quarantines files without a job.
    """
    from vbdesk.service.health.audio_reconciliation import forget_missing, reconcile_audio
    from vbdesk.service.maintenance.store_identity import require_match

    with opened_store(data_dir) as (opened, store):
        if apply:
            require_match(opened, store)
        found = reconcile_audio(opened, store)
        if apply:
            forget_missing(opened, found)
    show(asdict(found), as_json)


@contextmanager
def _matching_store(data_dir: Path) -> Iterator["SweptStore"]:
    """The object store and its database, once it is certain that they belong together."""
    from vbdesk.service.kernel.clock import SystemClock
    from vbdesk.service.maintenance.orphans import SweptStore
    from vbdesk.service.maintenance.store_identity import require_match

    with opened_store(data_dir) as (opened, store):
        require_match(opened, store)
        yield SweptStore(opened, store, SystemClock())
