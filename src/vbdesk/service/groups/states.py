"""What is computed from a group and kept until the group changes: its trajectory and its aggregate."""

import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Row
from sqlalchemy.exc import SQLAlchemyError

from vbdesk.contract.catalog import SignName
from vbdesk.contract.jobs import JobStatus
from vbdesk.longitudinal import aggregate, trajectory_json
from vbdesk.longitudinal.parameters import Parameters
from vbdesk.service.clock import Clock
from vbdesk.service.db.session import Database
from vbdesk.service.disk_space import is_disk_full
from vbdesk.service.groups import cohort, entries, repository

MAX_AGE = timedelta(minutes=1)
"""A cached state is as of its moment: after this it is computed anew though the group did not change."""

log = logging.getLogger(__name__)

LABELS = {sign.value: sign.label for sign in SignName}


class StateKind(StrEnum):
    """What can be computed from a group."""

    TRAJECTORY = "trajectory"
    AGGREGATE = "aggregate"


@dataclass(frozen=True, slots=True)
class _Key:
    group_key: str
    kind: StateKind


@dataclass(frozen=True, slots=True)
class _Computation:
    """A state that is being computed, from the group as it was at `revision` or later."""

    revision: int
    answer: Future[str]


class GroupStates:
    """Computes states in the background and hands out the cached ones."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._workers = ThreadPoolExecutor(2, thread_name_prefix="vbdesk-group-states")
        self._in_flight: dict[_Key, _Computation] = {}
        self._lock = Lock()

    def read(self, group: Row[Any], kind: StateKind, clock: Clock, parameters: Parameters, wait_s: float | None) -> str:
        """The state as JSON, of the group as it is in `group` or later: the cached one if it still holds, or a new one.

        Raises:
            TimeoutError: it is still being computed after `wait_s`; ask again.
        """
        with self._database.reading() as connection:
            state = repository.find_state(connection, group.group_key, kind)
        if state is not None and state.revision == group.revision and clock.now() - state.computed_at < MAX_AGE:
            body: str = state.body
            return body
        return self._computing(group, kind, clock, parameters).result(wait_s)

    def _computing(self, group: Row[Any], kind: StateKind, clock: Clock, parameters: Parameters) -> Future[str]:
        """One computation serves all who ask, except those who know of a later change than it may have seen."""
        key = _Key(group.group_key, kind)
        with self._lock:
            running = self._in_flight.get(key)
            if running is not None and running.revision >= group.revision:
                return running.answer
            computation = _Computation(group.revision, Future())
            self._in_flight[key] = computation
        self._workers.submit(self._run, group.account_id, group.group_id, key, computation, clock, parameters)
        return computation.answer

    def _run(
        self, account_id: str, group_id: str, key: _Key, computation: _Computation, clock: Clock, parameters: Parameters
    ) -> None:
        """Compute, keep and answer; a state that cannot be kept is answered all the same."""
        try:
            now = clock.now()
            with self._database.reading() as connection:
                group = repository.find(connection, account_id, group_id)  # first: what follows is no older than it
                body = _COMPUTE[key.kind](connection, account_id, group_id, key.group_key, now, parameters)
            if group is not None:
                self._keep(group, key, now, body)
        except BaseException as error:
            computation.answer.set_exception(error)
        else:
            computation.answer.set_result(body)
        finally:
            with self._lock:
                if self._in_flight.get(key) is computation:
                    del self._in_flight[key]

    def _keep(self, group: Row[Any], key: _Key, now: datetime, body: str) -> None:
        """Store the state unless the group changed meanwhile: what was erased must not come back."""
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
            full = is_disk_full(error)  # then every read comes here, and a log with tracebacks would fill the disk more
            text = "A %s was computed and could not be stored (%s); the next read computes it again."
            log.warning(text, key.kind, type(error).__name__, exc_info=None if full else error)


@lru_cache(maxsize=4)
def states_of(database: Database) -> GroupStates:
    """The states over this database: one object, so that one recompute serves all who ask."""
    return GroupStates(database)


def _trajectory(
    connection: Connection, account_id: str, group_id: str, group_key: str, now: datetime, parameters: Parameters
) -> str:
    references = cohort.references(connection, account_id, group_key)
    counts = Counter(repository.count_by_status(connection, group_key))
    return trajectory_json(
        group_id,
        entries.load(connection, group_key, now),
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
    return aggregate(group_id, entries.load(connection, group_key, now), now, LABELS, counts).model_dump_json()


_COMPUTE: dict[StateKind, Callable[[Connection, str, str, str, datetime, Parameters], str]] = {
    StateKind.TRAJECTORY: _trajectory,
    StateKind.AGGREGATE: _aggregate,
}
