"""Readings of older calibrations, made again from the recordings that are kept, so that a history has one scale.

Results stay as they were sent. Only the part that a group's history uses is replaced.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row

from vbdesk.contract.catalog import ModelName, SignName
from vbdesk.contract.spoken_language import SpokenLanguage, without_widening
from vbdesk.service.engine.analysis import Analysed, Analysis
from vbdesk.service.engine.job_runner import NoChildStarts, analysis_request
from vbdesk.service.engine.slot import ChildCrashed, TaskFailed, TaskTimedOut
from vbdesk.service.engine.slot_pool import SlotPool
from vbdesk.service.groups import repository
from vbdesk.service.jobs.history_record import parse_result, reading_versions, record_of, versions_of
from vbdesk.service.jobs.target import JobTarget
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.storage.store import ObjectMissing, ObjectStore

log = logging.getLogger(__name__)


class Outcome(StrEnum):
    """What became of a reading of an older calibration."""

    RECOMPUTED = "recomputed"
    WITHOUT_AUDIO = "without_audio"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RecomputedCount:
    """Finished jobs in groups, by what was done.

    Attributes:
        recomputed: now of the present calibration.
        current: of the present calibration before.
        without_audio: of an older one, and the recording is gone: trajectories mark them.
        failed: of an older one, and the analysis failed.
    """

    recomputed: int = 0
    current: int = 0
    without_audio: int = 0
    failed: int = 0


class ReadingRecomputer:
    """Makes readings of older calibrations again; repeatable, and safe while the service runs."""

    def __init__(
        self, database: Database, store: ObjectStore, settings: Settings, slots: SlotPool, analysis: Analysis
    ) -> None:
        self._database, self._store, self._settings = database, store, settings
        self._slots, self._analysis = slots, analysis

    def recompute(
        self,
        version: str,
        account_id: str | None = None,
        group_id: str | None = None,
        progress: Callable[[RecomputedCount], None] = lambda _: None,
    ) -> RecomputedCount:
        """Make the readings again that are not of the calibration `version`; those of plug-in signs stay.

        Args:
            version: the present calibration.
            account_id: only its groups.
            group_id: only groups with this id.
            progress: called after each analysis.

        Raises:
            SlotClosed: the slots were closed.
            NoChildStarts: this machine cannot start an analysis process.
            StoreUnavailable, SQLAlchemyError: the store or the database is away; run it again later.
        """
        count = RecomputedCount()
        for row in self._finished(account_id, group_id):
            if _is_current(row, version):
                count = replace(count, current=count.current + 1)
            elif row.audio_key is None:
                count = replace(count, without_audio=count.without_audio + 1)
            else:
                outcome = self.recompute_one(row) or Outcome.FAILED
                count = replace(count, **{outcome.value: getattr(count, outcome.value) + 1})
                progress(count)
        return count

    def recompute_one(self, row: Row[Any], claim: Callable[[], bool] = lambda: True) -> Outcome | None:
        """Make one reading again.

        Args:
            row: the job, with a recording.
            claim: called when all is ready for the analysis; None is returned if it is False.

        Raises:
            SlotClosed: the slots were closed.
            NoChildStarts: this machine cannot start an analysis process.
            StoreUnavailable, SQLAlchemyError: the store or the database is away.
        """
        spoken = SpokenLanguage.of_json(row.spoken)
        request = analysis_request(JobTarget.of_row(row), self._settings, spoken=spoken, diarize=row.diarize)
        try:
            with self._slots.borrow() as slot, self._store.local_copy(row.audio_key) as copy:
                try:
                    slot.wait_ready()
                except ChildCrashed:
                    raise NoChildStarts from None
                if not claim():
                    return None
                timeout_s = self._settings.job_timeout_s
                analysed: Analysed = slot.run(self._analysis, request, timeout_s=timeout_s, recording=copy)
        except ObjectMissing:
            return Outcome.WITHOUT_AUDIO
        except (ChildCrashed, TaskFailed, TaskTimedOut) as failure:
            log.warning("The reading of job %s was not made again: %s", row.job_id, failure)
            return Outcome.FAILED
        try:
            reading = record_of(parse_result(analysed.result))
        except ValueError:  # the child read the recording, which may control its answer
            log.warning("The reading of job %s was not made again: the answer is not a result.", row.job_id)
            return Outcome.FAILED
        self._database.write(lambda connection: _replace_reading(connection, row.job_id, reading))
        return Outcome.RECOMPUTED

    def _finished(self, account_id: str | None, group_id: str | None) -> Iterator[Row[Any]]:
        after = ""
        while True:
            with self._database.reading() as connection:
                rows = repository.list_finished_members(connection, after, account_id, group_id)
            if not rows:
                return
            yield from (row for row in rows if _is_shipped(JobTarget.of_row(row)))
            after = rows[-1].job_id


def _replace_reading(connection: Connection, job_id: str, reading: str) -> None:
    """Replace the reading of a job that still exists, and mark its groups as changed."""
    group_keys = repository.keys_of_job(connection, job_id)
    repository.lock(connection, group_keys)
    if not repository.replace_reading(connection, job_id, reading):
        return
    for group_key in group_keys:
        repository.touch_history(connection, group_key)
        repository.clear_states(connection, group_key)


def _is_current(row: Row[Any], version: str) -> bool:
    found = reading_versions(row.reading) or versions_of(row.result)
    return all(made_by is not None and without_widening(made_by) == version for made_by in found.values())


def _is_shipped(target: JobTarget) -> bool:
    return isinstance(target.analysed, ModelName) or target.analysed in set(SignName)
