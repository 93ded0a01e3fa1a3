"""`vbdesk longitudinal`: apply the method to a history in a file, without a service."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.output import fail
from vbdesk.language import _, system_reason, translated

if TYPE_CHECKING:
    from vbdesk.longitudinal.parameters import Parameters

STANDARD_INPUT = Path("-")
UNUSABLE = 2


def longitudinal(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="One subject's history as JSON; - reads it from standard input.")
    ],
    each_job: Annotated[
        bool, typer.Option("--each-job", help="Print the fields of every job at its own time instead.")
    ] = False,
    method: Annotated[
        str | None,
        typer.Option(help="Version of the method: tss-1 or tss-2. Default: options.method of the file, else tss-1."),
    ] = None,
    parameters: Annotated[
        Path | None,
        typer.Option(help="Parameters of your own, as vbdesk norms variability writes them, instead of the shipped."),
    ] = None,
) -> None:
    """Print one subject's trajectory, and the fields of the last recording (or options.job), unrounded, as JSON.

    The history is an object with as_of, jobs and optionally options; docs/method-longitudinal.md describes it.
    """
    # local import, so that the other commands do not load numpy
    from vbdesk.data_files import DataFileError
    from vbdesk.lab.history_file import HistoryFileError, read_history_file
    from vbdesk.lab.unrounded_report import unrounded_fields_of_all_jobs, unrounded_report

    try:
        chosen = _parameters(method, parameters)
    except DataFileError as error:
        fail(translated(error), UNUSABLE)
    name = "stdin" if file == STANDARD_INPUT else file.resolve().name
    try:
        text = sys.stdin.read() if file == STANDARD_INPUT else file.read_text(encoding="utf-8-sig")
        history = read_history_file(text)
        report = (unrounded_fields_of_all_jobs if each_job else unrounded_report)(history, chosen)
    except HistoryFileError as error:
        fail(f"{name}: {translated(error)}", UNUSABLE)
    except UnicodeDecodeError:
        fail(_("{name} is not text in UTF-8.", name=name), UNUSABLE)
    except OSError as error:
        fail(_("{name} cannot be read: {reason}.", name=name, reason=system_reason(error)), UNUSABLE)
    typer.echo(json.dumps(report, indent=1, allow_nan=False))


def _parameters(method: str | None, file: Path | None) -> "Parameters | None":
    """The parameters that the options name; None to follow the history."""
    from vbdesk.longitudinal.parameters import METHODS, read_parameters, shipped_parameters

    if method is not None and method not in METHODS:
        fail(
            _("There is no method {method}. Choose one of: {names}.", method=method, names=", ".join(METHODS)), UNUSABLE
        )
    if file is not None:
        own = read_parameters(file)
        if method not in (None, own.method):
            fail(
                _(
                    "{file} holds parameters of {held}, not of {method}.",
                    file=file.name,
                    held=own.method,
                    method=method,
                ),
                UNUSABLE,
            )
        return own
    return next((shipped_parameters(known) for known in METHODS if known == method), None)
