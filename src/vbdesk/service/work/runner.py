"""Running one job: take a slot, analyse, write the end down."""

import logging
import threading
from collections.abc import Callable
from typing import Concatenate, Literal, ParamSpec

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from vbdesk.contract.catalog import ModelName
from vbdesk.service.context import Context
from vbdesk.service.jobs import repository
from vbdesk.service.jobs.lifecycle import Run
from vbdesk.service.jobs.wiring import lifecycle_of
from vbdesk.service.storage.store import ObjectMissing
from vbdesk.service.work.analysis import Analysis, AnalysisRequest
from vbdesk.service.work.port import HandedBack
from vbdesk.service.work.slot import ChildCrashed, Slot, SlotClosed, TaskFailed, TaskTimedOut
from vbdesk.service.work.slots import SlotPool

FIRST_RETRY_S = 0.5
LONGEST_RETRY_S = 30.0

P = ParamSpec("P")

log = logging.getLogger(__name__)


class JobRunner:
    """Runs jobs in the slots of this process; `run` is what the engine calls, from as many threads as it likes."""

    def __init__(self, context: Context, slots: SlotPool, analysis: Analysis, executor_id: str) -> None:
        self._context = context
        self._lifecycle = lifecycle_of(context)
        self._slots = slots
        self._analysis = analysis
        self._executor_id = executor_id
        self._stopping = threading.Event()
        self._under_way = 0
        self._idle = threading.Condition()

    def run(self, job_id: str) -> None:
        """Run the job to its end, through crashes of the child and outages of the database.

        Raises:
            HandedBack: this process stops first.
        """
        with self._idle:
            self._under_way += 1
        try:
            self._run(job_id)
        finally:
            with self._idle:
                self._under_way -= 1
                self._idle.notify_all()

    def stop(self, grace_s: float) -> None:
        """Take no new job; give those under way `grace_s` seconds, then end their children and hand them back."""
        self._stopping.set()
        with self._idle:
            self._idle.wait_for(lambda: self._under_way == 0, grace_s)
        self._slots.close()
        with self._idle:
            self._idle.wait_for(lambda: self._under_way == 0)

    def _run(self, job_id: str) -> None:
        delay_s = FIRST_RETRY_S
        while True:
            if self._stopping.is_set():
                raise HandedBack
            try:
                ended = self._try(job_id)
            except SlotClosed:
                raise HandedBack from None
            except SQLAlchemyError:
                log.exception("Job %s meets a database that does not work; it is tried again.", job_id)
                ended = False
                self._stopping.wait(delay_s)
                delay_s = min(2 * delay_s, LONGEST_RETRY_S)
            except Exception:
                log.exception("Job %s met a fault of the service; it failed.", job_id)
                self._record(self._lifecycle.fail, job_id)
                ended = True
            if ended:
                return

    def _try(self, job_id: str) -> bool:
        """One start of the job; whether that ended it."""
        with self._slots.borrow() as slot:
            timeout_s = self._context.settings.job_timeout_s
            try:
                slot.wait_ready()
            except ChildCrashed as crash:
                log.error("The analysis process ends before it is ready. %s", crash)
                return self._start(job_id, timeout_s) is None  # counts, lest it be tried for ever
            run = self._start(job_id, timeout_s)
            if run is None:
                return self._conclude(job_id)
            try:
                result = self._analyse(slot, run, timeout_s)
            except SlotClosed:
                self._record(self._lifecycle.hand_back, job_id)
                raise
            except ChildCrashed as crash:
                log.warning("Job %s: %s It is started again.", job_id, crash)
                return False
            except TaskTimedOut:
                self._record(self._lifecycle.time_out, job_id)
            except (TaskFailed, ObjectMissing) as failure:
                log.warning("Job %s failed: %s", job_id, failure)
                self._record(self._lifecycle.fail, job_id)
            else:
                self._record(self._lifecycle.analysed, job_id, result)
        return True

    def _record(self, change: Callable[Concatenate[Connection, P], None], *args: P.args, **kwargs: P.kwargs) -> None:
        self._context.database.write(lambda connection: change(connection, *args, **kwargs))

    def _start(self, job_id: str, timeout_s: float) -> Run | None:
        with self._context.database.writing() as connection:
            return self._lifecycle.start(connection, job_id, self._executor_id, timeout_s)

    def _analyse(self, slot: Slot, run: Run, timeout_s: float) -> str:
        target, settings = run.target.analysed, self._context.settings
        kind: Literal["model", "sign"] = "model" if isinstance(target, ModelName) else "sign"
        with self._context.storage.local_copy(run.audio_key) as path:
            request = AnalysisRequest(
                path,
                kind,
                str(target),
                run.diarize,
                settings.plugin_source,
                settings.narrative_language,
                settings.norms_file,
            )
            result: str = slot.run(self._analysis, request, timeout_s=timeout_s)
        return result

    def _conclude(self, job_id: str) -> bool:
        """Nothing was left to analyse; an analysis that was set aside may have its turn now."""
        with self._context.database.reading() as connection:
            row = repository.find(connection, job_id)
        if row is not None and row.analysis is not None:
            self._record(self._lifecycle.settle, [row.history_key])
        return True
