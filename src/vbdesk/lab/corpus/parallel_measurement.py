"""Measure many recordings in parallel processes; a recording that crashes its process does not stop the run."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for_end
from pathlib import Path
from typing import TypeVar

from vbdesk.data_files import DataFileError
from vbdesk.lab.corpus.journal import MeasurementJournal
from vbdesk.lab.corpus.measurement import MeasuredFile, MeasurementOutcome, Unmeasurable, file_digest, measure_file
from vbdesk.language.system_reasons import system_reason
from vbdesk.voice.errors import ModelUnavailable

AHEAD = 2  # recordings submitted per process: one being measured and one waiting
CRASHED = Unmeasurable("It made the measuring process crash.", lasting=False)

Source = TypeVar("Source", bound=Hashable)
"""The input that is measured as one recording: a path, or several clips."""


def measure_corpus(
    paths: Sequence[Path],
    journal: MeasurementJournal,
    *,
    jobs: int,
    on_done: Callable[[Path], None] = lambda _: None,
    measure: Callable[[Path], MeasurementOutcome] = measure_file,
) -> dict[Path, MeasurementOutcome]:
    """Measure every recording that is not yet in the journal; see `measure_sources`."""
    return measure_sources(paths, journal, jobs=jobs, on_done=on_done, measure=measure, digest=file_digest)


def measure_sources(
    sources: Sequence[Source],
    journal: MeasurementJournal,
    *,
    jobs: int,
    on_done: Callable[[Source], None],
    measure: Callable[[Source], MeasurementOutcome],
    digest: Callable[[Source], str],
) -> dict[Source, MeasurementOutcome]:
    """Measure everything that is not yet in the journal.

    Args:
        sources: recordings; two with the same digest are measured once.
        journal: known outcomes; new ones are added to it.
        jobs: number of processes, each with one thread, so that the result does not depend on the number.
        on_done: called for each source when its outcome is known, in any order.
        measure: called in a process for each source; a module-level function.
        digest: the key of a source in the journal; raises OSError.

    Raises:
        DataFileError, ModelUnavailable: the installation is damaged, so that no recording can be measured.
    """
    outcomes: dict[Source, MeasurementOutcome] = {}
    todo: dict[str, list[Source]] = {}
    for path in sources:
        try:
            key = digest(path)
        except OSError as error:
            outcomes[path] = Unmeasurable(f"It cannot be read: {system_reason(error)}.")
            on_done(path)
            continue
        known = journal.find(key)
        if known is None:
            todo.setdefault(key, []).append(path)
        else:
            outcomes[path] = known
            on_done(path)
    with journal:
        digests = {same[0]: key for key, same in todo.items()}

        def keep(path: Source, outcome: MeasurementOutcome) -> None:
            if isinstance(outcome, MeasuredFile) or outcome.lasting:
                journal.record(digests[path], outcome)
            for same in todo[digests[path]]:
                outcomes[same] = outcome
                on_done(same)

        _measure_all(list(digests), jobs, measure, keep)
    return outcomes


def _measure_all(
    paths: Sequence[Source],
    jobs: int,
    measure: Callable[[Source], MeasurementOutcome],
    keep: Callable[[Source, MeasurementOutcome], None],
) -> None:
    waiting = list(reversed(paths))
    while waiting:
        suspects = _measure_until_crash(waiting, min(jobs, len(waiting)), AHEAD, measure, keep)
        while suspects:  # one at a time: one of them ended its process, the others only shared the pool
            for path in _measure_until_crash(suspects, 1, 1, measure, keep):
                keep(path, CRASHED)


def _measure_until_crash(
    waiting: list[Source],
    jobs: int,
    ahead: int,
    measure: Callable[[Source], MeasurementOutcome],
    keep: Callable[[Source, MeasurementOutcome], None],
) -> list[Source]:
    """Measure `waiting` from its end until it is empty or a process dies; return those being measured then."""
    running: dict[Future[MeasurementOutcome], Source] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < ahead * jobs:
                    path = waiting.pop()
                    running[pool.submit(measure, path)] = path
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    outcome = _outcome(future)
                    keep(running.pop(future), outcome)
        except BrokenProcessPool:
            return list(running.values())
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return []


def _outcome(future: Future[MeasurementOutcome]) -> MeasurementOutcome:
    try:
        return future.result()
    except (BrokenProcessPool, DataFileError, ModelUnavailable):
        raise
    except Exception as error:  # a bug that one recording triggers must not stop the others
        return Unmeasurable(f"Measuring it failed: {type(error).__name__}: {error}", lasting=False)


def _begin() -> None:
    """Set up a worker process: one thread, ignore Ctrl-C, exit with the parent."""
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait_for_end([sentinel])
    os._exit(1)
