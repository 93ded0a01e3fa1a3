"""Cached results computed from a group until it changes: its trajectory and its aggregate."""

import logging
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Row
from sqlalchemy.exc import SQLAlchemyError

from vbdesk.clock import Clock
from vbdesk.contract.catalog import SignName
from vbdesk.contract.jobs import JobStatus
from vbdesk.longitudinal import aggregate, trajectory_json
from vbdesk.longitudinal.parameters import Parameters
from vbdesk.service.groups import cohort_snapshots, history_entries, repository
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.disk_space import is_disk_full

MAX_AGE = timedelta(minutes=1)
"""Maximum age of a cached state: after this it is recomputed even if the group did not change."""

STORE_TIMEOUT_S = 0.1
"""How long an answer waits until its state is stored, so that the next read of the group shows it."""

MOST_UNSTORED = 100
"""Maximum number of states waiting to be stored. Further states are only returned: the database accepts no writes."""

log = logging.getLogger(__name__)

LABELS = {sign.value: sign.label for sign in SignName}


class StateKind(StrEnum):
    """Kind of state computed from a group."""

    TRAJECTORY = "trajectory"
    AGGREGATE = "aggregate"


@dataclass(frozen=True, slots=True)
class _Key:
    group_key: str
    kind: StateKind


@dataclass(slots=True)
class _Computation:
    """State being computed and stored, from the group at `revision` or later.

    Attributes:
        answer: the computed state.
        stored: done once the state was stored, or storing failed.
        computed_at: reference time of the state; None before the answer.
        answered_at: on the monotonic clock, in seconds.
    """

    revision: int
    answer: Future[str] = field(default_factory=Future)
    stored: Future[None] = field(default_factory=Future)
    computed_at: datetime | None = None
    answered_at: float = 0.0

    def is_past(self, now: datetime) -> bool:
        """Return whether the state is too old to be used."""
        return self.computed_at is not None and now - self.computed_at >= MAX_AGE


class GroupStates:
    """Computes states in the background and returns cached ones. A slow write delays an answer only briefly."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._workers = ThreadPoolExecutor(2, thread_name_prefix="vbdesk-group-states")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="vbdesk-keep-states")
        self._in_flight: dict[_Key, _Computation] = {}
        self._lock = Lock()

    def read(self, group: Row[Any], kind: StateKind, clock: Clock, parameters: Parameters, wait_s: float | None) -> str:
        """Return the state as JSON, at the revision of `group` or later: from the cache if still valid, else new.

        Raises:
            TimeoutError: it is still being computed after `wait_s`; try again.
        """
        with self._database.reading() as connection:
            state = repository.find_state(connection, group.group_key, kind)
        if state is not None and state.revision == group.revision and clock.now() - state.computed_at < MAX_AGE:
            body: str = state.body
            return body
        computation = self._computing(group, kind, clock, parameters)
        answer = computation.answer.result(wait_s)
        wait([computation.stored], max(0.0, computation.answered_at + STORE_TIMEOUT_S - time.monotonic()))
        return answer

    def _computing(self, group: Row[Any], kind: StateKind, clock: Clock, parameters: Parameters) -> _Computation:
        """Return the running computation, or start one if there is none, it is too old, or the group is newer.

        A computation is shared until its state is stored or too old.
        """
        key = _Key(group.group_key, kind)
        with self._lock:
            running = self._in_flight.get(key)
            if running is not None and running.revision >= group.revision and not running.is_past(clock.now()):
                return running
            computation = _Computation(group.revision)
            self._in_flight[key] = computation
        self._workers.submit(self._run, group.account_id, group.group_id, key, computation, clock, parameters)
        return computation

    def _run(
        self, account_id: str, group_id: str, key: _Key, computation: _Computation, clock: Clock, parameters: Parameters
    ) -> None:
        """Compute, answer and queue the state for storage; answer even if it cannot be stored."""
        try:
            now = clock.now()
            with self._database.reading() as connection:
                group = repository.find(connection, account_id, group_id)  # first: all later reads are at least as new
                body = _COMPUTE[key.kind](connection, account_id, group_id, key.group_key, now, parameters)
        except BaseException as error:
            self._forget(key, computation)
            computation.answer.set_exception(error)
            return
        computation.computed_at, computation.answered_at = now, time.monotonic()
        computation.answer.set_result(body)
        if group is None or len(self._in_flight) > MOST_UNSTORED:
            self._forget(key, computation)
        else:
            self._writer.submit(self._store_and_forget, group, key, computation, now, body)

    def _store_and_forget(
        self, group: Row[Any], key: _Key, computation: _Computation, now: datetime, body: str
    ) -> None:
        try:
            self._store_state(group, key, now, body)
        finally:
            self._forget(key, computation)

    def _forget(self, key: _Key, computation: _Computation) -> None:
        with self._lock:
            if self._in_flight.get(key) is computation:
                del self._in_flight[key]
        computation.stored.set_result(None)

    def _store_state(self, group: Row[Any], key: _Key, now: datetime, body: str) -> None:
        """Store the state unless the group changed in the meantime: erased data must not come back."""
        try:
            with self._database.writing() as connection:
                present = repository.find(connection, group.account_id, group.group_id, to_edit=True)
                if present is None or (present.group_key, present.revision) != (key.group_key, group.revision):
                    return
                repository.store_state(
                    connection, key.group_key, key.kind, revision=group.revision, computed_at=now, body=body
                )
                repository.touch(connection, key.group_key, now)
        except SQLAlchemyError as error:
            full = is_disk_full(
                error
            )  # then every read gets here, and tracebacks in the log would fill the disk further
            text = "A %s was computed and could not be stored (%s); the next read computes it again."
            log.warning(text, key.kind, type(error).__name__, exc_info=None if full else error)


@lru_cache(maxsize=4)
def states_of(database: Database) -> GroupStates:
    """Return the shared states of this database, so that callers share each computation."""
    return GroupStates(database)


def _trajectory(
    connection: Connection, account_id: str, group_id: str, group_key: str, now: datetime, parameters: Parameters
) -> str:
    references = cohort_snapshots.references(connection, account_id, group_key)
    parameters = cohort_snapshots.account_parameters(connection, account_id, parameters)
    counts = Counter(repository.count_by_status(connection, group_key))
    history = history_entries.with_versions(connection, history_entries.load(connection, group_key, now))
    return trajectory_json(
        group_id,
        history,
        now,
        labels=LABELS,
        references=references,
        done_job_count=counts[JobStatus.DONE],
        pending_job_count=counts[JobStatus.QUEUED] + counts[JobStatus.RUNNING],
        parameters=parameters,
    )


def _aggregate(
    connection: Connection, _account_id: str, group_id: str, group_key: str, now: datetime, _parameters: Parameters
) -> str:
    counts = repository.count_by_status(connection, group_key)
    return aggregate(group_id, history_entries.load(connection, group_key, now), now, LABELS, counts).model_dump_json()


_COMPUTE: dict[StateKind, Callable[[Connection, str, str, str, datetime, Parameters], str]] = {
    StateKind.TRAJECTORY: _trajectory,
    StateKind.AGGREGATE: _aggregate,
}
