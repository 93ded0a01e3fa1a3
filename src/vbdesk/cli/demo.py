"""`vbdesk demo`: from recordings to a trajectory, on this computer; leaves only the chart."""

import os
import secrets
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.display import has_display
from vbdesk.cli.interrupts import stop_in_order
from vbdesk.cli.output import fail, interval_text, number, say, table, wrapped
from vbdesk.clock import utc_now
from vbdesk.language import N_, _, formats, message, pgettext, translated

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from vbdesk.client.client import Client
    from vbdesk.client.credentials import Credentials
    from vbdesk.client.local_service import Endpoint
    from vbdesk.contract.jobs import Job
    from vbdesk.contract.longitudinal import TrajectoryRead
    from vbdesk.voice.quality import Quality

CHART = Path("vbdesk-demo-trajectory.png")
NOTE = N_("demonstration dates")
_DAYS_APART = 7
_JOB_TIMEOUT_S = 180.0
_TRAJECTORY_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class DemoSample:
    """One recording of the demonstration, with its assumed date."""

    path: Path
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class DemoSamples:
    """The shipped recordings."""

    title: str
    licence: str
    group_id: str
    model: str
    recordings: tuple[DemoSample, ...]


class DemoFailed(Exception):
    """The demonstration failed; the message says why in one line."""


def demo(
    window: Annotated[
        bool, typer.Option("--window/--no-window", help="Then open the desk on the demonstration's account.")
    ] = True,
) -> None:
    """Analyse five shipped recordings, and draw the reader's trajectory."""
    from vbdesk.client.errors import ClientError
    from vbdesk.client.local_service import LocalServiceFailed
    from vbdesk.outbox.library.disk_faults import file_sentence
    from vbdesk.voice.errors import AudioError

    stop_in_order()
    try:
        with tempfile.TemporaryDirectory(prefix="vbdesk-demo-", ignore_cleanup_errors=True) as folder:
            _run(Path(folder), window)
    except KeyboardInterrupt:
        fail(_("Stopped; nothing is left running."), 130)
    except (ClientError, LocalServiceFailed, AudioError, DemoFailed, FileNotFoundError, TimeoutError) as error:
        fail(translated(error), 1)
    except OSError as error:
        fail(file_sentence(error), 1)


def _run(folder: Path, window: bool) -> None:
    samples = _samples()
    _console().print(
        _("[bold]{title}[/bold] ({licence}), demonstration dates", title=samples.title, licence=samples.licence)
    )
    data_dir = folder / "service"
    with _service(data_dir) as (endpoint, credentials):
        client = _client(endpoint, credentials)
        with client:
            qualities = _check(samples)
            jobs = _analyze(client, samples)
            _print_results(samples, qualities, jobs)
            trajectory = client.groups.wait_trajectory(samples.group_id, timeout_s=_TRAJECTORY_TIMEOUT_S)
            _print_trajectory(trajectory)
        _draw(trajectory)
        if not window:
            return
        if not has_display():
            _console().print(
                _("There is no display here, so the desk was not opened. `vbdesk desk` opens it where there is one.")
            )
            return
        _open_desk(folder, samples.group_id, endpoint, credentials)


def _samples() -> DemoSamples:
    from vbdesk.data_files import read_toml
    from vbdesk.resource_files import resource

    data = read_toml(resource("samples", "samples.toml"))
    yesterday = utc_now().replace(minute=0, second=0, microsecond=0) - timedelta(days=1)
    files = data["files"]
    recordings = tuple(
        DemoSample(resource("samples", name), yesterday - timedelta(days=_DAYS_APART * (len(files) - 1 - index)))
        for index, name in enumerate(files)
    )
    return DemoSamples(data["title"], data["licence"], data["group_id"], data["model"], recordings)


@contextmanager
def _service(data_dir: Path) -> Iterator[tuple["Endpoint", "Credentials"]]:
    """A local service with an account, ended in any case."""
    from vbdesk.client.local_service import LocalService, make_account

    service = LocalService(data_dir, secrets.token_bytes(32))
    try:
        with _console().status(_("Starting the service on this computer")):
            endpoint = service.start()
            credentials = make_account(data_dir, "Demonstration")
        _console().print(
            _(
                "Service at {base_url}, uploads at {storage_url}",
                base_url=endpoint.base_url,
                storage_url=endpoint.storage_url,
            )
        )
        yield endpoint, credentials
    finally:
        service.stop()


def _client(endpoint: "Endpoint", credentials: "Credentials") -> "Client":
    from vbdesk.client.client import Client

    return Client(endpoint.base_url, credentials)


def _check(samples: DemoSamples) -> list["Quality"]:
    """Check every take as the desk does before sending."""
    from vbdesk.voice.decode import decode
    from vbdesk.voice.quality import assess_quality

    with _progress() as progress:
        task = progress.add_task(_("Checking locally"), total=len(samples.recordings))
        qualities = []
        for sample in samples.recordings:
            qualities.append(assess_quality(decode(sample.path)))
            progress.advance(task)
    return qualities


def _analyze(client: "Client", samples: DemoSamples) -> list["Job"]:
    """Upload, submit and await every recording."""
    from vbdesk.client.analyze import Target
    from vbdesk.client.audio import AudioSource
    from vbdesk.contract.jobs import JobStatus

    target = Target("model", samples.model)
    with _progress() as progress:
        sending = progress.add_task(_("Uploading and submitting"), total=len(samples.recordings))
        submitted = []
        for sample in samples.recordings:
            upload_ref = client.uploads.send(AudioSource.from_path(sample.path))
            job = client.analyze(
                target, upload_ref, group_id=samples.group_id, longitudinal=True, recorded_at=sample.recorded_at
            )
            submitted.append(job.job_id)
            progress.advance(sending)
        waiting = progress.add_task(_("Analysing"), total=len(submitted))
        ended = {}
        for job in client.jobs.wait_each(submitted, timeout_s=_JOB_TIMEOUT_S):
            ended[job.job_id] = job
            progress.advance(waiting)
        jobs = [ended[job_id] for job_id in submitted]
    unfinished = [job for job in jobs if job.status is not JobStatus.DONE]
    if unfinished:
        raise DemoFailed(
            message(
                "{count} of {total} analyses have no result.",
                count=len(unfinished),
                total=len(jobs),
            )
        )
    return jobs


def _print_results(samples: DemoSamples, qualities: list["Quality"], jobs: list["Job"]) -> None:
    from vbdesk.contract.results import ModelResult
    from vbdesk.report.reader_words import label_word
    from vbdesk.report.result_texts import action_title, overall_word

    heads = (_("Recorded"), _("Level"), _("Action"), _("Flagged"), _("Speech"), _("Clarity"))
    rows = []
    for sample, quality, job in zip(samples.recordings, qualities, jobs, strict=True):
        result = job.result
        if not isinstance(result, ModelResult):
            raise DemoFailed(message("The analysis of {file} brought no result.", file=sample.path.name))
        flagged = formats.list_of([label_word(signal.label) for signal in result.signals if signal.flagged])
        rows.append(
            (
                formats.day_without_year(sample.recorded_at),
                overall_word(result.summary.overall_level),
                action_title(result.summary.recommended_action),
                flagged or None,
                number(quality.voice_percentage / 100, ".0%"),
                number(quality.audio_clarity, ".0f"),
            )
        )
    _show(_("Each recording (demonstration dates)"), heads, rows)


def _print_trajectory(read: "TrajectoryRead") -> None:
    from vbdesk.report.reader_words import label_word
    from vbdesk.report.trajectory_chart import trend_text

    heads = (pgettext("noun", "Sign"), _("Latest"), _("Interval"), _("Baseline"), "z", _("Unusual"), _("Trend"))
    rows = [
        (
            label_word(sign.label),
            number(sign.latest_score),
            interval_text(sign.latest_interval),
            number(sign.baseline_score),
            number(sign.z_score, "+.1f"),
            _("yes") if sign.anomaly else _("no"),
            trend_text(sign),
        )
        for sign in read.signs
    ]
    _show(_("{subject} over time (demonstration dates)", subject=read.group_id), heads, rows)
    say(*wrapped(_("Voice biomarker signals, not diagnoses. Scores are for researchers, levels for people.")))


def _show(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    _console().print()
    _console().print(title, style="bold", markup=False)
    say(*table(heads, rows))


def _draw(read: "TrajectoryRead") -> None:
    """Write the chart, off screen if there is no display."""
    if not has_display():
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtWidgets import QApplication

    from vbdesk.desk.charts.chart_picture import chart_png
    from vbdesk.desk.charts.trajectory_data import chart_of
    from vbdesk.desk.ui.theme import Theme
    from vbdesk.desk.ui.tokens import Scheme
    from vbdesk.report.shipped_signs import shipped_signs

    QApplication.instance() or QApplication(sys.argv[:1])
    theme = Theme(Scheme.LIGHT)
    theme.install()
    cuts = {name: reference.score_cuts for name, reference in shipped_signs().items()}
    CHART.write_bytes(chart_png(theme, chart_of(read, cuts), note=_(NOTE)))
    say(_("Chart written to {file}", file=CHART.absolute()))


def _open_desk(folder: Path, group_id: str, endpoint: "Endpoint", credentials: "Credentials") -> None:
    from vbdesk.desk.shell.app import run_visit

    _console().print(_("Opening the desk. Close its window, or press Ctrl-C here, to end the demonstration."))
    run_visit(
        name=_("Demonstration dates"),
        base_url=endpoint.base_url,
        credentials=credentials,
        folder=folder / "desk",
        subject=group_id,
    )


def _progress() -> "Progress":
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    return Progress(
        SpinnerColumn(), TextColumn("{task.description:<26}"), BarColumn(), TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(), console=_console(),
    )  # fmt: skip


@cache
def _console() -> "Console":
    from rich.console import Console

    return Console(highlight=False)
