"""`vbdesk worker`: run analyses for a service on PostgreSQL, without an API."""

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from vbdesk.cli.encryption_key import KeyStdin, read_keys
from vbdesk.cli.output import fail
from vbdesk.cli.quick_imports import quick_imports
from vbdesk.language import translated


def worker(
    data_dir: Annotated[Path, typer.Option(help="Folder of vbdesk.toml and, unless it says otherwise, of the keys.")],
    workers: Annotated[int | None, typer.Option(help="Parallel analyses. Default: one per processor.")] = None,
    signs_dir: Annotated[
        Path | None, typer.Option(help="Folder of your own signs. Default: signs in DATA_DIR.")
    ] = None,
    norms: Annotated[Path | None, typer.Option(help="Norms of your own. Default: the shipped ones.")] = None,
    ready_file: Annotated[Path | None, typer.Option(help="Written as JSON once jobs are accepted.")] = None,
    parent_pid: Annotated[int | None, typer.Option(help="End when this process ends.")] = None,
    key_stdin: KeyStdin = False,
    drain_seconds: Annotated[
        float | None, typer.Option(help="Time for running jobs after SIGTERM. Default: the job time-out.")
    ] = None,
) -> None:
    """Run jobs and deliver webhooks of a service whose database is PostgreSQL, until stopped."""
    with quick_imports():
        from vbdesk.service.composition.process import StartRefused
        from vbdesk.service.composition.worker import work
        from vbdesk.service.kernel.parent_process import Ending, parent_gone
        from vbdesk.service.kernel.settings import SettingsInvalid, load_settings
        from vbdesk.service.observability.logs import configure_logs

    try:
        settings = load_settings(
            data_dir, workers=workers, signs_dir=signs_dir, norms_file=norms, drain_s=drain_seconds
        )
        if "workers" not in settings.model_fields_set:
            settings = settings.model_copy(update={"workers": os.cpu_count() or 1})
        configure_logs(settings.log_format)
        keys = read_keys(key_stdin)
        ends: list[Ending] = [partial(parent_gone, parent_pid)] if parent_pid is not None else []
        work(settings, ready_file, ends, keys)
    except (SettingsInvalid, StartRefused) as error:
        fail(translated(error))
