"""`vbdesk longitudinal`: run the longitudinal method on a history file, without a service."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from vbdesk.cli.output import fail

STANDARD_INPUT = Path("-")
UNUSABLE = 2


def longitudinal(
    file: Annotated[Path, typer.Argument(help="One subject's history as JSON; - reads it from standard input.")],
    each_job: Annotated[
        bool, typer.Option("--each-job", help="Print the fields of every job as of its own time instead.")
    ] = False,
) -> None:
    """Print one subject's trajectory, and the fields of the last recording (or options.job), unrounded, as JSON.

    The history is an object with as_of, jobs and, if wanted, options; docs/method-longitudinal.md describes it.
    """
    # imported late: the other commands do not need numpy
    from vbdesk.longitudinal.history_file import HistoryFileError, read_history_file
    from vbdesk.longitudinal.unrounded_report import unrounded_fields_of_all_jobs, unrounded_report

    name = "Standard input" if file == STANDARD_INPUT else file.resolve().name
    try:
        text = sys.stdin.read() if file == STANDARD_INPUT else file.read_text(encoding="utf-8-sig")
        history = read_history_file(text)
        report = unrounded_fields_of_all_jobs(history) if each_job else unrounded_report(history)
    except HistoryFileError as error:
        fail(f"{name}: {error}", UNUSABLE)
    except UnicodeDecodeError:
        fail(f"{name} is not text in UTF-8.", UNUSABLE)
    except OSError as error:
        fail(f"{name} cannot be read: {error.strerror}.", UNUSABLE)
    typer.echo(json.dumps(report, indent=1, allow_nan=False))
