"""`vbdesk groups`: subjects and cohorts of an account."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.connection import REFUSED, STATUSES, USAGE, AsJson, DataDir, ProfileName, open_client
from vbdesk.cli.output import (
    confirm,
    fail,
    interval_text,
    local_time,
    number,
    print_json,
    say,
    share_interval_text,
    table,
)
from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.rounding import whole
from vbdesk.language import _, formats, ngettext, translated

if TYPE_CHECKING:
    from vbdesk.contract.base import WireModel
    from vbdesk.contract.groups import Group, JobsAdded
    from vbdesk.contract.longitudinal import AggregateRead, TrajectoryRead

groups = typer.Typer(
    no_args_is_help=True,
    help="Groups: one subject's recordings, or a cohort.",
    epilog=STATUSES,
)

GroupId = Annotated[str, typer.Argument(help="The group's id.", metavar="GROUP_ID")]
JobIds = Annotated[list[str], typer.Argument(help="Ids of jobs.", metavar="JOB_ID")]


@groups.command("list")
def list_groups(profile: ProfileName = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List every group, newest first."""
    with open_client(profile, data_dir) as connection:
        found = list(connection.client.groups.all())
    _show_groups(found, as_json)


@groups.command()
def show(group_id: GroupId, profile: ProfileName = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Show one group."""
    with open_client(profile, data_dir) as connection:
        found = next((group for group in connection.client.groups.all() if group.group_id == group_id), None)
    if found is None:
        fail(_("There is no group {group_id} in this account.", group_id=group_id), REFUSED)
    if as_json:
        _print_json(found)
    else:
        _show_groups([found], as_json)


@groups.command("jobs")
def list_jobs(
    group_id: GroupId,
    from_: Annotated[str | None, typer.Option("--from", help="Recorded at this time or later, as ISO 8601.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Recorded at this time or earlier.")] = None,
    status: Annotated[JobStatus | None, typer.Option(help="Only jobs of this status.")] = None,
    profile: ProfileName = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List a group's jobs by recording time."""
    from vbdesk.report.reader_words import status_word

    bounds = _moment(from_), _moment(to)
    with open_client(profile, data_dir) as connection:
        found = list(connection.client.groups.all_jobs(group_id, from_=bounds[0], to=bounds[1], status=status))
    if as_json:
        print_json([job.model_dump(mode="json") for job in found])
        return
    rows = [
        (
            local_time(job.recorded_at),
            job.job_id,
            status_word(job.status),
            job.model_name or job.sign_name or job.use_case or job.condition,
            _("{seconds} s", seconds=whole(job.audio_duration_seconds)),
        )
        for job in found
    ]
    say(*table((_("recorded"), _("job"), _("status"), _("asked for"), _("length")), rows))


@groups.command()
def longitudinal(
    group_id: GroupId,
    sign: Annotated[list[str] | None, typer.Option(help="Only this sign; repeatable.")] = None,
    timeout: Annotated[float, typer.Option(min=0, help="Give up after this many seconds of computing.")] = 60.0,
    profile: ProfileName = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show a subject's trajectory: each sign compared with the subject's own baseline."""
    with open_client(profile, data_dir) as connection:
        read = connection.client.groups.wait_trajectory(group_id, sign or (), timeout_s=timeout)
    if as_json:
        _print_json(read)
    else:
        say(*_trajectory_lines(read))


@groups.command()
def aggregate(
    group_id: GroupId, profile: ProfileName = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Show a group as a cohort."""
    with open_client(profile, data_dir) as connection:
        read = connection.client.groups.aggregate(group_id)
    if as_json:
        _print_json(read)
    else:
        say(*_aggregate_lines(read))


@groups.command()
def create(group_id: GroupId, profile: ProfileName = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Create an empty group."""
    with open_client(profile, data_dir) as connection:
        made = connection.client.groups.create(group_id)
    _done(made, _("The group {group} is there, empty.", group=made.group_id), as_json)


@groups.command()
def delete(
    group_id: GroupId,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    profile: ProfileName = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Delete a group and its computed results; its jobs are kept."""
    if not yes:
        confirm(_("Delete the group {group_id}? Its jobs are kept, their order over time is not.", group_id=group_id))
    with open_client(profile, data_dir) as connection:
        gone = connection.client.groups.delete(group_id)
    _done(gone, _("{group} is deleted; its jobs are kept.", group=gone.group_id), as_json)


@groups.command()
def add(
    group_id: GroupId,
    job_ids: JobIds,
    profile: ProfileName = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Put jobs into a group; exits with 1 if one does not exist."""
    from vbdesk.contract.limits import MAX_JOBS_PER_ADD

    if len(job_ids) > MAX_JOBS_PER_ADD:
        fail(_("Give at most {count} jobs at once.", count=MAX_JOBS_PER_ADD), USAGE)
    with open_client(profile, data_dir) as connection:
        answer = connection.client.groups.add_jobs(group_id, job_ids)
    _done(answer, _added(answer), as_json)
    if answer.not_found:
        raise typer.Exit(REFUSED)


@groups.command()
def remove(
    group_id: GroupId,
    job_id: Annotated[str, typer.Argument(metavar="JOB_ID", help="The job's id.")],
    profile: ProfileName = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Take a job out of a group; the job is kept."""
    with open_client(profile, data_dir) as connection:
        answer = connection.client.groups.remove_job(group_id, job_id)
    _done(answer, _("{job} is no longer in {group}; it is kept.", job=answer.removed, group=group_id), as_json)


def _moment(text: str | None) -> datetime | None:
    from vbdesk.contract.timestamps import parse_timestamp

    try:
        return None if text is None else parse_timestamp(text)
    except ValueError as error:
        fail(translated(error), USAGE)


def _print_json(model: "WireModel") -> None:
    print_json(model, indent=2)


def _done(answer: "WireModel", sentence: str, as_json: bool) -> None:
    if as_json:
        _print_json(answer)
    else:
        say(sentence)


def _added(answer: "JobsAdded") -> str:
    sentences = [ngettext("{count} job was added.", "{count} jobs were added.", len(answer.added))]
    if answer.skipped:
        sentences.append(
            ngettext("{count} job was there already.", "{count} jobs were there already.", len(answer.skipped))
        )
    if answer.not_found:
        sentences.append(_("Not found: {jobs}.", jobs=formats.list_of(answer.not_found)))
    return " ".join(sentences)


def _show_groups(found: "list[Group]", as_json: bool) -> None:
    if as_json:
        print_json([group.model_dump(mode="json") for group in found])
        return
    rows = [
        (
            group.group_id,
            group.job_count,
            group.done_job_count,
            local_time(group.earliest_recorded_at),
            local_time(group.latest_recorded_at),
        )
        for group in found
    ]
    say(*table((_("group"), _("jobs"), _("done"), _("first recorded"), _("last recorded")), rows))


def _trajectory_lines(read: "TrajectoryRead") -> list[str]:
    from vbdesk.report.reader_words import label_word
    from vbdesk.report.trajectory_chart import trend_text

    rows = [
        (
            label_word(sign.label),
            sign.n_recordings,
            number(sign.latest_score),
            interval_text(sign.latest_interval),
            number(sign.baseline_score),
            number(sign.z_score, "+.1f"),
            None if sign.anomaly is None else _("yes") if sign.anomaly else _("no"),
            trend_text(sign),
        )
        for sign in read.signs
    ]
    heads = (
        _("sign"),
        _("recordings"),
        _("latest"),
        _("{share:.0%} interval", share=read.interval_level),
        _("baseline"),
        "z",
        _("unusual"),
        _("trend"),
    )
    used = ngettext(
        "{group}: {used} of {count} recording, the last {days} days",
        "{group}: {used} of {count} recordings, the last {days} days",
        read.done_job_count,
        group=read.group_id,
        used=read.window.jobs_used,
        days=read.window.days,
    )
    pending = [_("Not done yet: {count}", count=read.pending_job_count)] if read.pending_job_count else []
    return [
        used,
        *pending,
        *table(heads, rows),
        _("Voice biomarker signals, not diagnoses. Scores are for researchers, levels for people."),
    ]


def _aggregate_lines(read: "AggregateRead") -> list[str]:
    from vbdesk.report.reader_words import label_word

    recordings, adherence = read.recordings, read.adherence
    rows = [
        (
            label_word(sign.label),
            sign.n,
            number(sign.score.p50),
            number(sign.score.p10),
            number(sign.score.p90),
            number(sign.flagged_share, ".0%"),
            share_interval_text(sign.flagged_share_interval),
        )
        for sign in read.signs
    ]
    return [
        ngettext(
            "{group}: {count} recording, {minutes:.0f} minutes, the last {days} days",
            "{group}: {count} recordings, {minutes:.0f} minutes, the last {days} days",
            recordings.n,
            group=read.group_id,
            minutes=recordings.total_minutes,
            days=read.window.days,
        ),
        _(
            "Recorded on {days} days, {weekly} a week; fit to raise an alarm: {share}",
            days=adherence.active_days,
            weekly=number(adherence.recordings_per_week, ".1f") or "-",
            share=number(recordings.usable_share, ".0%") or "-",
        ),
        *table(
            (
                _("sign"),
                _("recordings"),
                _("median"),
                "p10",
                "p90",
                _("flagged"),
                _("{share:.0%} interval", share=0.95),
            ),
            rows,
        ),
    ]
