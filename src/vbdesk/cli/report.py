"""`vbdesk report`: a PDF of results in files, without a service."""

from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.connection import REFUSED, USAGE
from vbdesk.cli.output import fail, say
from vbdesk.language import LanguageMissing, _, system_reason, translated

if TYPE_CHECKING:
    from vbdesk.language import Language

PAPERS = ("a4", "letter")
LOOKS = ("light", "print", "safe")
LANGUAGE_HELP = "Language of the texts in the document, such as de. Default: that of the commands."
LOOK_HELP = "light, print for paper in grey, or safe for colour-blind readers."


def report_language(tag: str | None) -> "Language | None":
    """The language of a document; None for that of the commands. Ends the command if there are no texts in it."""
    from vbdesk.cli.command_language import language_named

    try:
        return None if tag is None else language_named(tag)
    except LanguageMissing as error:
        fail(translated(error), USAGE)


def report(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Files of `vbdesk export --format json`, jobs.jsonl, or jobs as JSON.",
            dir_okay=False,
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="The PDF to write. Default: named as the subject, here.")] = None,
    over_time: Annotated[
        bool, typer.Option("--over-time", help="Print subjects over time instead of the newest recording.")
    ] = False,
    name: Annotated[str | None, typer.Option(help="Subject of jobs in files. Default: the name of the file.")] = None,
    sign_off: Annotated[str | None, typer.Option(metavar="NAME", help="Who has read the report.")] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Raw scores, for research.")] = False,
    appendix: Annotated[
        bool, typer.Option("--appendix", help="Add the evidence of each sign, and the method.")
    ] = False,
    paper: Annotated[str, typer.Option(help="a4 or letter.")] = "a4",
    look: Annotated[str, typer.Option(help=LOOK_HELP)] = "light",
    language: Annotated[str | None, typer.Option(metavar="TAG", help=LANGUAGE_HELP)] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Make a PDF of results in files. Nothing is sent anywhere."""
    from vbdesk.clock import SystemClock
    from vbdesk.report.documents.report_input import PageSize, ReportOptions, ReportScope
    from vbdesk.report.documents.reports import pdf_of_subjects, pdf_report
    from vbdesk.report.drawing.style import Look
    from vbdesk.report.exports import WouldOverwrite, write_files
    from vbdesk.report.file_names import file_stems
    from vbdesk.report.result_files import subjects_of_files
    from vbdesk.report.sign_off import SignOff

    if paper not in PAPERS:
        fail(_("There is no paper '{paper}'. Choose one of: {names}.", paper=paper, names=", ".join(PAPERS)), USAGE)
    if look not in LOOKS:
        fail(_("There is no look '{look}'. Choose one of: {names}.", look=look, names=", ".join(LOOKS)), USAGE)
    now = SystemClock().now().replace(microsecond=0)
    try:
        options = ReportOptions(
            exported_at=now,
            zone=now.astimezone().tzinfo or UTC,
            page_size=PageSize(paper),
            scores=scores,
            sign_off=None if sign_off is None else SignOff(sign_off, now),
            appendix=appendix,
            scope=ReportScope.OVER_TIME if over_time else ReportScope.RECORDING,
            look=Look(look),
            language=report_language(language),
        )
        records = subjects_of_files(files, name)
        content = pdf_of_subjects(records, options) if len(records) > 1 else pdf_report(records[0], options)
        stem = "subjects" if len(records) > 1 else file_stems([records[0].group_id])[records[0].group_id]
        target = out or Path(f"{stem}.pdf")
        write_files(target.parent, {target.name: content}, overwrite=force)
    except WouldOverwrite as error:
        fail(_("{error} With --force files are replaced.", error=translated(error)), REFUSED)
    except ValueError as error:
        fail(translated(error), REFUSED)
    except OSError as error:
        fail(_("{file} cannot be used: {reason}.", file=error.filename or target, reason=system_reason(error)), REFUSED)
    say(str(target))
