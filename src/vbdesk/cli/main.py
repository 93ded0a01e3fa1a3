"""The `vbdesk` command with its subcommands."""

import os
import sys
from importlib import import_module
from typing import Annotated

import typer

from vbdesk import __version__
from vbdesk.cli import admin, audit, fhir
from vbdesk.cli.analyze import analyze
from vbdesk.cli.bundle import bundle
from vbdesk.cli.command_language import OPTION, choose_language, refusal, translate_commands
from vbdesk.cli.connection import REFUSED, STATUSES, USAGE
from vbdesk.cli.demo import demo
from vbdesk.cli.desk import desk
from vbdesk.cli.doctor import doctor
from vbdesk.cli.export import export
from vbdesk.cli.groups import groups
from vbdesk.cli.jobs import jobs
from vbdesk.cli.output import say
from vbdesk.cli.report import report
from vbdesk.cli.serve import serve
from vbdesk.cli.signs import signs
from vbdesk.cli.signs_check import check
from vbdesk.cli.submit import submit
from vbdesk.cli.sync import sync
from vbdesk.cli.worker import worker
from vbdesk.language import LanguageMissing, _, system_reason, translated

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="The voice biomarker desk.",
)

lab = import_module("vbdesk.lab.commands")  # the lab imports this package, and is imported by none


def _print_version(wanted: bool) -> None:
    if wanted:
        say(" ".join((__package__.partition(".")[0], __version__)))
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    language: Annotated[
        str | None,
        typer.Option(OPTION, metavar="TAG", help="Language of the commands, such as de. Default: that of the system."),
    ] = None,
) -> None:
    """Record a voice, check it, send it for analysis, follow the person over time."""


app.command()(desk)
app.command()(demo)
app.command()(analyze)
app.command()(lab.longitudinal)
app.command(epilog=STATUSES)(submit)
app.command(epilog=STATUSES)(sync)
app.command(epilog=STATUSES)(export)
app.command()(report)
app.add_typer(fhir.app, name="fhir")
app.add_typer(jobs, name="jobs")
app.add_typer(groups, name="groups")
app.add_typer(lab.simulate, name="simulate")
signs.command()(check)
signs.command()(lab.fit)
app.add_typer(signs, name="signs")
app.add_typer(lab.features, name="features")
app.add_typer(lab.norms, name="norms")
app.command()(serve)
app.command()(worker)
app.add_typer(bundle, name="bundle")
app.add_typer(admin.app, name="admin")
app.add_typer(audit.app, name="audit")
app.command()(doctor)


def run() -> None:
    """Entry point of the console script."""
    _replace_unknown_letters()
    try:
        choose_language(sys.argv[1:])
        sys.exit(_status())
    except LanguageMissing as error:
        say(translated(error), err=True)
        sys.exit(USAGE)
    except OSError as error:
        from vbdesk.outbox.library.disk_faults import DiskFault, disk_fault

        fault = disk_fault(error)
        if fault is None:
            raise
        if fault in (DiskFault.FULL, DiskFault.QUOTA):
            say(
                _("Nothing more can be written: {fault}. Free some space and try again.", fault=system_reason(error)),
                err=True,
            )
        else:
            say(
                _("Nothing more can be written: {fault}. Check the disk and try again.", fault=system_reason(error)),
                err=True,
            )
        # the buffered standard output cannot be written either; a normal exit would try, and complain
        os._exit(1)


def _status() -> int:
    """Run the command that was given; returns its exit status. A refused command line is explained."""
    command = typer.main.get_command(app)
    translate_commands(command)
    try:
        return command.main(standalone_mode=False) or 0
    except typer.Abort:
        say(_("Stopped."), err=True)
        return REFUSED
    except typer.TyperException as error:
        _explain(error)
        return getattr(error, "exit_code", USAGE)


def _explain(error: typer.TyperException) -> None:
    """Print how the command is used, and what was wrong; the whole help if nothing was asked for."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(str(error), err=True)
        return
    if context is not None:
        typer.echo(context.get_usage(), err=True)
        say(_("See {command} for help.", command=f"{context.command_path} --help"), "", err=True)
    say(refusal(error), err=True)


def _replace_unknown_letters() -> None:
    """Print a question mark for a letter that the terminal cannot show, instead of ending with an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
