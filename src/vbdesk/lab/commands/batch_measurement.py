"""Shared by commands that measure many recordings: progress bar, processes, list of failures."""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vbdesk.cli.output import say
from vbdesk.language import _, translated

if TYPE_CHECKING:
    from collections.abc import Callable

    from vbdesk.lab.corpus.measurement import MeasuredFile, MeasurementOutcome
    from vbdesk.lab.corpus.parallel_measurement import Source

MOST_LISTED = 50


def processes(jobs: int | None) -> int:
    """Number of processes: as requested, else one per available core."""
    if jobs is not None:
        return jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def outcomes_with_bar(
    paths: Sequence[Path], journal_path: Path, jobs: int | None, *, resume: bool
) -> "dict[Path, MeasurementOutcome]":
    """Measure every recording under a progress bar."""
    from vbdesk.lab.corpus.measurement import file_digest, measure_file

    return sources_with_bar(paths, measure_file, file_digest, journal_path, jobs, resume=resume)


def sources_with_bar(
    sources: "Sequence[Source]",
    measure: "Callable[[Source], MeasurementOutcome]",
    digest: "Callable[[Source], str]",
    journal_path: Path,
    jobs: int | None,
    *,
    resume: bool,
) -> "dict[Source, MeasurementOutcome]":
    """Measure every source under a progress bar."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from vbdesk.lab.corpus.journal import MeasurementJournal
    from vbdesk.lab.corpus.measurement import extractor_fingerprint
    from vbdesk.lab.corpus.parallel_measurement import measure_sources

    if not resume:
        journal_path.unlink(missing_ok=True)
    journal = MeasurementJournal(journal_path, extractor_fingerprint())
    columns = TextColumn(_("Measuring")), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    known, began = len(journal), time.monotonic()
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=len(sources))
        outcomes = measure_sources(
            sources,
            journal,
            jobs=processes(jobs),
            on_done=lambda _done: progress.update(task, advance=1),
            measure=measure,
            digest=digest,
        )
    seconds = time.monotonic() - began
    say(
        _(
            "Measured now: {measured}, in {seconds:.0f} s; known before: {known}.",
            measured=len(journal) - known,
            seconds=seconds,
            known=known,
        ),
        err=True,
    )
    return outcomes


def measure_with_bar(
    paths: Sequence[Path], journal_path: Path, jobs: int | None, *, resume: bool
) -> "tuple[dict[Path, MeasuredFile], dict[Path, str]]":
    """Measure every recording under a progress bar; returns the measurements, and the reasons of failures."""
    outcomes = outcomes_with_bar(paths, journal_path, jobs, resume=resume)
    return usable({path: outcomes[path] for path in paths})


def usable(
    outcomes: "Mapping[Source, MeasurementOutcome]",
) -> "tuple[dict[Source, MeasuredFile], dict[Source, str]]":
    """Split outcomes into measurements with enough speech, and reasons of failures."""
    from vbdesk.lab.corpus.measurement import Unmeasurable, too_little_speech

    measured: dict[Source, MeasuredFile] = {}
    failed: dict[Source, str] = {}
    for path, outcome in outcomes.items():
        reason = outcome.reason if isinstance(outcome, Unmeasurable) else too_little_speech(outcome)
        if isinstance(outcome, Unmeasurable) or reason is not None:
            failed[path] = str(reason)
        else:
            measured[path] = outcome
    return measured, failed


def list_failed(failed: Mapping[Path, str], folder: Path) -> None:
    """Print failed recordings with their reasons to standard error."""
    if not failed:
        return
    say(_("Left out: {count}", count=len(failed)), err=True)
    for path in list(failed)[:MOST_LISTED]:
        shown = path.relative_to(folder) if path.is_relative_to(folder) else path
        say(f"  {shown}: {translated(failed[path])}", err=True)
    if len(failed) > MOST_LISTED:
        say("  " + _("and {count} more", count=len(failed) - MOST_LISTED), err=True)
