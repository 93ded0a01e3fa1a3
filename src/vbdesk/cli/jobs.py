"""`vbdesk jobs`: the analyses of an account."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.connection import REFUSED, STATUSES, AsJson, DataDir, ProfileName, open_client
from vbdesk.cli.output import columns, local_time, print_json, say, table
from vbdesk.contract.rounding import whole
from vbdesk.language import _, pgettext

if TYPE_CHECKING:
    from vbdesk.contract.jobs import Job

jobs = typer.Typer(no_args_is_help=True, help="Analyses of an account.", epilog=STATUSES)

JobId = Annotated[str, typer.Argument(metavar="JOB_ID", help="The job's id.")]


@jobs.command("list")
def list_jobs(
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 50,
    profile: ProfileName = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List jobs, newest first."""
    from vbdesk.report.reader_words import status_word

    with open_client(profile, data_dir) as connection:
        found = list(islice(connection.client.jobs.all(), limit))
    if as_json:
        print_json([job.model_dump(mode="json") for job in found])
    else:
        rows = [(job.job_id, status_word(job.status), local_time(job.created_at)) for job in found]
        say(*table((_("Job"), _("Status"), _("Made")), rows))


@jobs.command()
def show(job_id: JobId, profile: ProfileName = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Show the present state of a job, with its result if there is one."""
    with open_client(profile, data_dir) as connection:
        job = connection.client.jobs.get(job_id)
    if as_json:
        print_json(job, indent=2)
    else:
        say(*_lines(job))


@jobs.command()
def wait(
    job_ids: Annotated[list[str], typer.Argument(help="Ids of jobs.", metavar="JOB_ID")],
    timeout: Annotated[float | None, typer.Option(min=0, help="Give up after this many seconds.")] = None,
    profile: ProfileName = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Wait until jobs have ended, and show each; exits with 1 if one has not ended as done."""
    with open_client(profile, data_dir) as connection:
        done = wait_for(connection.client.jobs.wait_each(job_ids, timeout_s=timeout), quiet=as_json)
    if as_json:
        print_json([job.model_dump(mode="json") for job in done])
    if any(job.result is None for job in done):
        raise typer.Exit(REFUSED)


def wait_for(ended: Iterator["Job"], *, quiet: bool) -> "list[Job]":
    """Collect ended jobs, printing a line for each unless `quiet`."""
    done = []
    for job in ended:
        done.append(job)
        if not quiet:
            say(_line(job))
    return done


def _line(job: "Job") -> str:
    from vbdesk.contract.results import ModelResult
    from vbdesk.report.reader_words import level_word, status_word
    from vbdesk.report.result_texts import overall_word

    target = job.model_name or job.sign_name or ""
    known = f"{job.job_id}  {target}  {status_word(job.status)}"
    if job.result is None:
        return known
    if isinstance(job.result, ModelResult):
        return f"{known}  {overall_word(job.result.summary.overall_level)}"
    return f"{known}  {level_word(job.result.signal.level)}"


def _lines(job: "Job") -> list[str]:
    from vbdesk.cli.analyze import result_lines
    from vbdesk.contract.catalog import label_of
    from vbdesk.report.reader_words import label_word, status_word

    name = job.sign_name or job.use_case or job.condition or ""
    asked_for = _("{model} analysis", model=label_of(job.model_name)) if job.model_name else label_word(label_of(name))
    length = _("{seconds} s", seconds=whole(job.audio_duration_seconds))
    lines = columns(
        (_("Job"), job.job_id),
        (_("Asked for"), asked_for),
        (_("Status"), status_word(job.status)),
        (_("Made"), local_time(job.created_at) or "-"),
        (_("Ended"), local_time(job.completed_at) or "-"),
        (pgettext("one recording", "Recording"), f"{length}, {job.audio_content_type}"),
    )
    return lines if job.result is None else [*lines, "", *result_lines(job.result)]
