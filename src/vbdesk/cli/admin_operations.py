"""`vbdesk admin database|worker|queue|audio|reconcile`: what stands where, across all machines of a service."""

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from vbdesk.cli.administration import AsJson, DataDir, opened_database, show, show_list
from vbdesk.cli.output import fail

database = typer.Typer(no_args_is_help=True, help="The database's schema.")
worker = typer.Typer(no_args_is_help=True, help="Processes that run jobs.")
audio = typer.Typer(no_args_is_help=True, help="Recordings, wherever they lie.")


@database.command("status")
def database_status(data_dir: DataDir, as_json: AsJson = False) -> None:
    """Tell the schema's revision, this vbdesk's, and the oldest that may start on the schema; changes nothing."""
    from vbdesk.service.db.migrate import status

    with opened_database(data_dir, migrate=False) as (_, opened), opened.reading() as connection:
        found = status(connection)
    show({**asdict(found), "state": found.state.value}, as_json)


@database.command("upgrade")
def upgrade_database(data_dir: DataDir, as_json: AsJson = False) -> None:
    """Bring the schema up to date, beside running processes; a start does the same."""
    from vbdesk.service.db.migrate import status

    with opened_database(data_dir) as (_, opened), opened.reading() as connection:
        found = status(connection)
    show({**asdict(found), "state": found.state.value}, as_json)


@worker.command("list")
def list_workers(data_dir: DataDir, as_json: AsJson = False) -> None:
    """List the processes that run jobs, with what each has in hand."""
    from vbdesk.service.health.queue import list_executors

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
    as_json: AsJson = False,
) -> None:
    """Copy every recording into a folder. The service may run."""
    from vbdesk.service.audio_copies import save_audio
    from vbdesk.service.storage.opening import open_store

    with opened_database(data_dir) as (settings, _), closing(open_store(settings)) as store:
        count = save_audio(store, to, prune=prune)
    show(asdict(count), as_json)


@audio.command("restore")
def restore(
    data_dir: DataDir,
    source: Annotated[Path, typer.Option("--from", help="Folder of the copies.")],
    as_json: AsJson = False,
) -> None:
    """Put the recordings of a folder into the store, those that it lacks."""
    from vbdesk.service.audio_copies import restore_audio
    from vbdesk.service.storage.opening import open_store

    if not source.is_dir():
        fail(f"There is no folder {source}.")
    with opened_database(data_dir) as (settings, _), closing(open_store(settings)) as store:
        count = restore_audio(store, source)
    show(asdict(count), as_json)


def queue(data_dir: DataDir, as_json: AsJson = False) -> None:
    """Tell how many jobs wait, for how long, and how many are in hand."""
    from vbdesk.service.clock import SystemClock
    from vbdesk.service.work.queue_state import read_queue_state

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

    A waiting job without its audio fails by itself and costs nothing. Files without a job are swept away by themselves.
    """
    from vbdesk.service.health.audio import forget_missing, reconcile_audio
    from vbdesk.service.storage.opening import open_store

    with opened_database(data_dir) as (settings, opened), closing(open_store(settings)) as store:
        found = reconcile_audio(opened, store)
        if apply:
            forget_missing(opened, found)
    show(asdict(found), as_json)
