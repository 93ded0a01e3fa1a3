"""The `vbdesk` command with its subcommands."""

import os

import typer

from vbdesk.cli import admin, audit, fhir, simulate
from vbdesk.cli.analyze import analyze
from vbdesk.cli.bundle import bundle
from vbdesk.cli.connection import STATUSES
from vbdesk.cli.demo import demo
from vbdesk.cli.desk import desk
from vbdesk.cli.doctor import doctor
from vbdesk.cli.export import export
from vbdesk.cli.features import features
from vbdesk.cli.groups import groups
from vbdesk.cli.jobs import jobs
from vbdesk.cli.longitudinal import longitudinal
from vbdesk.cli.norms import norms
from vbdesk.cli.report import report
from vbdesk.cli.serve import serve
from vbdesk.cli.signs import signs
from vbdesk.cli.signs_check import check
from vbdesk.cli.signs_fit import fit
from vbdesk.cli.submit import submit
from vbdesk.cli.sync import sync
from vbdesk.cli.worker import worker

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="The voice biomarker desk.",
)


@app.callback()
def _root() -> None:
    """Record a voice, check it, send it for analysis, follow the person over time."""


app.command()(desk)
app.command()(demo)
app.command()(analyze)
app.command()(longitudinal)
app.command(epilog=STATUSES)(submit)
app.command(epilog=STATUSES)(sync)
app.command(epilog=STATUSES)(export)
app.command()(report)
app.add_typer(fhir.app, name="fhir")
app.add_typer(jobs, name="jobs")
app.add_typer(groups, name="groups")
app.add_typer(simulate.app, name="simulate")
signs.command()(check)
signs.command()(fit)
app.add_typer(signs, name="signs")
app.add_typer(features, name="features")
app.add_typer(norms, name="norms")
app.command()(serve)
app.command()(worker)
app.add_typer(bundle, name="bundle")
app.add_typer(admin.app, name="admin")
app.add_typer(audit.app, name="audit")
app.command()(doctor)


def run() -> None:
    """Entry point of the console script."""
    try:
        app()
    except OSError as error:
        from vbdesk.outbox.library.disk_faults import DiskFault, disk_fault

        fault = disk_fault(error)
        if fault is None:
            raise
        remedy = "Free some space" if fault in (DiskFault.FULL, DiskFault.QUOTA) else "Check the disk"
        typer.echo(f"Nothing more can be written: {error.strerror}. {remedy} and try again.", err=True)
        # the buffered standard output cannot be written either; a normal exit would try, and complain
        os._exit(1)
