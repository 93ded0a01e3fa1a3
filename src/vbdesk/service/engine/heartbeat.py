"""Heartbeat of a process that runs jobs."""

import logging
import threading
import time

from sqlalchemy.exc import SQLAlchemyError

from vbdesk.service.engine import executors
from vbdesk.service.engine.shared_clock import SharedTime
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.periodic import PeriodicJob

BEAT_EVERY_S = 5.0  # each heartbeat is a write to the disk

log = logging.getLogger(__name__)


class Heartbeat:
    """Registers an executor, records its heartbeats and unregisters it.

    Attributes:
        last_beat: time of the last heartbeat, by `time.monotonic`.
    """

    def __init__(self, database: Database, executor_id: str, slots: int, shared_time: SharedTime) -> None:
        self._database = database
        self._executor_id = executor_id
        self._slots = slots
        self._time = shared_time
        self.last_beat: float | None = None
        self._taken_for_dead = threading.Event()

    @property
    def taken_for_dead(self) -> bool:
        """Whether another process has removed this executor as dead."""
        return self._taken_for_dead.is_set()

    def sign_on(self) -> None:
        """Register; from now on the executor may take jobs."""
        with self._database.writing() as connection:
            executors.sign_on(connection, self._executor_id, self._slots, self._time.now(connection))
        self.last_beat = time.monotonic()

    def set_draining(self) -> None:
        """Tell other processes that this executor takes no more jobs."""
        try:
            with self._database.writing() as connection:
                executors.set_draining(connection, self._executor_id)
        except SQLAlchemyError as error:  # others cannot read the flag either
            log.warning("That this executor drains cannot be written down (%s).", type(error).__name__)

    def beat(self) -> None:
        """Record one heartbeat, or learn that the executor was removed as dead."""
        with self._database.writing() as connection:
            alive = executors.beat(connection, self._executor_id, self._time.now(connection))
        if alive:
            self.last_beat = time.monotonic()
        else:
            self._taken_for_dead.set()

    def sign_off(self) -> None:
        """Unregister, when no job of the executor is running."""
        with self._database.writing() as connection:
            executors.sign_off(connection, self._executor_id)

    def job(self) -> PeriodicJob:
        """The beats that follow `sign_on`."""
        return PeriodicJob("heartbeat", BEAT_EVERY_S, self.beat, first_after_s=BEAT_EVERY_S, at_end=self.sign_off)
