"""`vbdesk longitudinal`: the method on a file, without a service."""

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from vbdesk.contract.timestamps import format_timestamp, parse_timestamp
from vbdesk.longitudinal.history_file import HistoryFileError, read_history
from vbdesk.longitudinal.job_fields import job_standings
from vbdesk.longitudinal.parameters import shipped_parameters
from vbdesk.longitudinal.unrounded import unrounded_trajectory


def longitudinal(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="History of one subject, .json or .csv.")],
    sign: Annotated[list[str] | None, typer.Option(help="Only this sign; may be repeated.")] = None,
    as_of: Annotated[
        str | None, typer.Option(help="Moment of the read, ISO 8601. Default: the last recording.")
    ] = None,
    job: Annotated[str | None, typer.Option(help="Only the fields of this job, as of its own time.")] = None,
) -> None:
    """Compute one subject's trajectory from a file and print it, unrounded, as JSON."""
    try:
        history = read_history(file)
        if not history:
            raise HistoryFileError(f"{file.name} holds no recordings.")
        if job is not None:
            standings = job_standings(history, job)
            report = {
                name: None if s is None else asdict(s) for name, s in standings.items() if not sign or name in sign
            }
            _print({"method": shipped_parameters().method, "job_id": job, "signs": report})
            return
        moment: datetime = parse_timestamp(as_of) if as_of else max(entry.recorded_at for entry in history)
        signs = unrounded_trajectory(history, moment, sign)
        _print({"method": shipped_parameters().method, "as_of": format_timestamp(moment), "signs": signs})
    except (ValueError, OSError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error


def _print(report: dict[str, object]) -> None:
    typer.echo(json.dumps(report, indent=1, allow_nan=False))
