"""`vbdesk serve`: run the whole service in one process."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from vbdesk.cli.encryption_key import KeyStdin, read_keys
from vbdesk.cli.output import fail
from vbdesk.cli.quick_imports import quick_imports
from vbdesk.language import translated


def serve(
    data_dir: Annotated[Path, typer.Option(help="Folder of the database, the audio and the service's keys.")],
    host: Annotated[str | None, typer.Option(help="Address to listen on. Default: this computer only.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of the API; 0 picks a free one.")] = None,
    storage_port: Annotated[int | None, typer.Option(help="Port of the object store; 0 picks a free one.")] = None,
    workers: Annotated[int | None, typer.Option(help="Parallel analyses; 0: only the API.")] = None,
    signs_dir: Annotated[
        Path | None, typer.Option(help="Folder of your own signs. Default: signs in DATA_DIR.")
    ] = None,
    norms: Annotated[Path | None, typer.Option(help="Norms of your own. Default: the shipped ones.")] = None,
    ready_file: Annotated[Path | None, typer.Option(help="Written as JSON once the service answers.")] = None,
    parent_pid: Annotated[int | None, typer.Option(help="End when this process ends.")] = None,
    stop_with_stdin: Annotated[
        bool, typer.Option("--stop-with-stdin", help="End when standard input ends; --key-stdin reads its first line.")
    ] = False,
    key_stdin: KeyStdin = False,
) -> None:
    """Serve the API, the object store and the analysis until stopped."""
    with quick_imports():
        from vbdesk.service.composition.process import StartRefused
        from vbdesk.service.composition.serve import serve as run
        from vbdesk.service.kernel.parent_process import Ending, input_ended, parent_gone
        from vbdesk.service.kernel.settings import SettingsInvalid, load_settings
        from vbdesk.service.observability.logs import configure_logs

    try:
        settings = load_settings(
            data_dir,
            host=host,
            port=port,
            storage_port=storage_port,
            workers=workers,
            signs_dir=signs_dir,
            norms_file=norms,
        )
        configure_logs(settings.log_format)
        keys = read_keys(key_stdin, first_line=stop_with_stdin)
        ends: list[Ending] = [partial(parent_gone, parent_pid)] if parent_pid is not None else []
        run(settings, ready_file, [*ends, input_ended] if stop_with_stdin else ends, keys)
    except (SettingsInvalid, StartRefused) as error:
        fail(translated(error))
