"""`vbdesk admin database|worker|queue|audio|reconcile`: state of a service on all its machines."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.admin_context import AsJson, DataDir, opened_database, opened_settings, opened_store, show, show_list
from vbdesk.cli.output import fail
from vbdesk.language import _, ngettext, translated

if TYPE_CHECKING:
    from vbdesk.service.engine.recomputed_readings import RecomputedCount
    from vbdesk.service.maintenance.orphans import SweptStore

_REPORT_EVERY = 50

database = typer.Typer(no_args_is_help=True, help="The database's schema.")
worker = typer.Typer(no_args_is_help=True, help="Processes that run jobs.")
audio = typer.Typer(no_args_is_help=True, help="Stored recordings.")


@database.command("status")
def database_status(data_dir: DataDir, as_json: AsJson = False) -> None:
    """Show the schema's revision, this vbdesk's, and the oldest that works with the schema; changes nothing."""
    from vbdesk.service.kernel.db.migrate import status

    with opened_database(data_dir, migrate=False) as (_settings, opened), opened.reading() as connection:
        found = status(connection)
    show({**asdict(found), "state": found.state.value}, as_json)


@database.command("upgrade")
def upgrade_database(data_dir: DataDir, as_json: AsJson = False) -> None:
    """Migrate the schema while processes run; a start does the same."""
    from vbdesk.service.kernel.db.migrate import status

    with opened_database(data_dir) as (_settings, opened), opened.reading() as connection:
        found = status(connection)
    show({**asdict(found), "state": found.state.value}, as_json)


@database.command("backup")
def back_up_database(
    data_dir: DataDir,
    to: Annotated[Path, typer.Option(help="File of the copy; an existing one is replaced.")],
    as_json: AsJson = False,
) -> None:
    """Copy the embedded database into a file readable only for its owner. The service may run."""
    from vbdesk.service.kernel.db.backup import BackupFailed, back_up

    with opened_database(data_dir, migrate=False) as (settings, opened):
        try:
            size = back_up(opened, settings.data_dir, to)
        except BackupFailed as failure:
            fail(translated(failure))
    show({"file": str(to), "size_bytes": size}, as_json)


@database.command("adopt-store")
def adopt_store(
    data_dir: DataDir,
    force: Annotated[
        bool, typer.Option("--force", help="Also if the database does not know the objects of the store.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Pair the database and the object store of these settings from now on.

    Both get a new id. The store then refuses any other database that used it, including a copy of this one.
    """
    from vbdesk.service.encryption.progress import require_encryption_pass
    from vbdesk.service.maintenance import store_identity

    with opened_store(data_dir) as (opened, store):
        adopted = store_identity.adopt_store(opened, store, force=force)
        require_encryption_pass(opened)  # the store's recordings may not be encrypted
    show(asdict(adopted), as_json)


@worker.command("list")
def list_workers(data_dir: DataDir, as_json: AsJson = False) -> None:
    """List the processes that run jobs, with the jobs that each runs."""
    from vbdesk.service.health.executor_list import list_executors

    with opened_database(data_dir) as (_settings, opened), opened.reading() as connection:
        found = list_executors(connection)
    show_list([asdict(executor) for executor in found], as_json)


@audio.command("save")
def save(
    data_dir: DataDir,
    to: Annotated[Path, typer.Option(help="Folder of the copies; existing copies are kept.")],
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete copies of recordings that were erased or expired.")
    ] = False,
    quarantined: Annotated[
        bool, typer.Option("--quarantined", help="Copy the quarantine instead: recordings without a job.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Copy every recording into a folder. The service may run."""
    from vbdesk.service.encryption.data_keys import is_encrypted
    from vbdesk.service.encryption.state import require_key
    from vbdesk.service.maintenance.audio_copies import save_audio, save_quarantine

    if quarantined and prune:
        fail(_("--prune does not go with --quarantined: the quarantine is not all that the folder may hold."))
    with _matching_store(data_dir) as access:
        encrypted = is_encrypted(access.database)
        if access.storage.checks_addresses_itself:
            require_key(access.database)  # the data of a bucket is encrypted here
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
    """Copy the recordings of a folder into the store where they are missing."""
    from vbdesk.service.encryption.state import require_key
    from vbdesk.service.maintenance.audio_copies import restore_audio
    from vbdesk.service.maintenance.store_identity import require_no_other

    if not source.is_dir():
        fail(_("There is no folder {folder}.", folder=source))
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

    The service quarantines them once a day, unless there are too many: more than 20 and more than 5% of the store, or
    more than 1,000. It then leaves them alone, since the database may be the wrong one.
    """
    from vbdesk.service.maintenance import orphans as sweeping

    with _matching_store(data_dir) as access:
        found = sweeping.search_orphans(access) or sweeping.OrphanSearch(0, ())
        moved = sweeping.quarantine(access, found.orphans) if quarantine else 0
    summary = {
        "objects": found.objects,
        "orphans": len(found.orphans),
        "too_many": found.too_many,
        "quarantined": moved,
    }
    show(summary, as_json)


@audio.command("quarantined")
def quarantined(data_dir: DataDir, as_json: AsJson = False) -> None:
    """List the quarantine. The service deletes an object after 14 days there if it still belongs to nothing."""
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
    """Restore from quarantine what belongs to jobs and uploads. The service does so once a day."""
    from vbdesk.service.maintenance import orphans as sweeping

    with _matching_store(data_dir) as access:
        count = sweeping.put_back_known(access)
        if everything:
            count += sweeping.put_back(access, [found.key for found in sweeping.list_quarantine(access)])
    show({"put_back": count}, as_json)


def recompute_group(
    data_dir: DataDir,
    account: Annotated[str | None, typer.Option("--account", help="Only the groups of this account.")] = None,
    group: Annotated[str | None, typer.Option(help="Only groups with this id.")] = None,
    as_json: AsJson = False,
) -> None:
    """Analyse kept recordings of groups again where another calibration made the reading. The service may run.

    Trajectories then have one scale. Results stay as they are, and nothing is charged. Readings whose recording is gone
    stay as well: trajectories mark where the analysis changed. It may be repeated.
    """
    from vbdesk.service.encryption.state import require_key
    from vbdesk.service.engine.analysis import analyse_file, prepare
    from vbdesk.service.engine.job_runner import NoChildStarts
    from vbdesk.service.engine.recomputed_readings import ReadingRecomputer
    from vbdesk.service.engine.runtime import MEMORY_BYTES
    from vbdesk.service.engine.slot_pool import SlotPool
    from vbdesk.service.maintenance.store_identity import require_no_other
    from vbdesk.signs.reference_data import load_reference_data

    settings = opened_settings(data_dir)
    version = load_reference_data(norms_file=settings.norms_file).calibration.meta.version
    readable = [] if settings.norms_file is None else [settings.norms_file]
    with opened_store(data_dir) as (opened, store):
        require_no_other(opened, store)
        require_key(opened)
        slots = SlotPool(1, prepare, memory_bytes=MEMORY_BYTES, readable=readable)
        try:
            recomputer = ReadingRecomputer(opened, store, settings, slots, analyse_file)
            count = recomputer.recompute(version, account, group, _tell_progress)
        except NoChildStarts:
            fail(_("No analysis process starts on this machine. Run vbdesk doctor --service here."))
        finally:
            slots.close()
    show({"calibration": version, **asdict(count)}, as_json)


def _tell_progress(count: "RecomputedCount") -> None:
    if count.recomputed % _REPORT_EVERY == 0:
        typer.echo(
            ngettext("{count} reading was made again.", "{count} readings were made again.", count.recomputed), err=True
        )


def queue(data_dir: DataDir, as_json: AsJson = False) -> None:
    """Show how many jobs wait, for how long, and how many are running."""
    from vbdesk.clock import SystemClock
    from vbdesk.service.engine.queue_state import read_queue_state

    with opened_database(data_dir) as (_settings, opened), opened.reading() as connection:
        state = read_queue_state(connection, SystemClock().now())
    show(asdict(state), as_json)


def reconcile(
    data_dir: DataDir,
    apply: Annotated[bool, typer.Option("--apply", help="Remove references to missing audio.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare jobs and audio after a restore: jobs without their audio, files without a job.

    A waiting job without its audio fails automatically and costs nothing. The service quarantines files without a job.
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
    """The object store and its database, after checking that they belong together."""
    from vbdesk.clock import SystemClock
    from vbdesk.service.maintenance.orphans import SweptStore
    from vbdesk.service.maintenance.store_identity import require_match

    with opened_store(data_dir) as (opened, store):
        require_match(opened, store)
        yield SweptStore(opened, store, SystemClock())
