"""What is computed from a group and kept until the group changes: its trajectory and its aggregate."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache, partial
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Row

from vbdesk.contract.base import WireModel
from vbdesk.contract.catalog import SignName
from vbdesk.longitudinal import aggregate, trajectory
from vbdesk.service.clock import Clock
from vbdesk.service.db.session import Database
from vbdesk.service.groups import cohort, history, repository

MAX_AGE = timedelta(minutes=1)
"""A cached state is as of its moment: after this it is computed anew though the group did not change."""

LABELS = {sign.value: sign.label for sign in SignName}


class StateKind(StrEnum):
    """What can be computed from a group."""

    TRAJECTORY = "trajectory"
    AGGREGATE = "aggregate"


@dataclass(frozen=True, slots=True)
class _Key:
    group_key: str
    kind: StateKind


class GroupStates:
    """Computes states in the background and hands out the cached ones."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._workers = ThreadPoolExecutor(2, thread_name_prefix="vbdesk-group-states")
        self._in_flight: dict[_Key, Future[str]] = {}
        self._lock = Lock()

    def read(self, group: Row[Any], kind: StateKind, clock: Clock, wait_s: float | None) -> str:
        """The state as JSON: the cached one if it is still true, else a new one.

        Raises:
            TimeoutError: it is still being computed after `wait_s`; ask again.
        """
        with self._database.reading() as connection:
            state = repository.find_state(connection, group.group_key, kind)
        if state is not None and state.revision == group.revision and clock.now() - state.computed_at < MAX_AGE:
            body: str = state.body
            return body
        return self._computing(group, kind, clock).result(wait_s)

    def _computing(self, group: Row[Any], kind: StateKind, clock: Clock) -> Future[str]:
        key = _Key(group.group_key, kind)
        with self._lock:
            running = self._in_flight.get(key)
            if running is not None and not running.done():
                return running
            future = self._workers.submit(self._compute, group.account_id, group.group_id, key, clock)
            self._in_flight[key] = future
        future.add_done_callback(partial(self._forget, key))
        return future

    def _forget(self, key: _Key, future: Future[str]) -> None:
        with self._lock:
            if self._in_flight.get(key) is future:
                del self._in_flight[key]

    def _compute(self, account_id: str, group_id: str, key: _Key, clock: Clock) -> str:
        now = clock.now()
        with self._database.reading() as connection:
            group = repository.find(connection, account_id, group_id)
            computed = _COMPUTE[key.kind](connection, account_id, group_id, key.group_key, now)
        body = computed.model_dump_json()
        with self._database.writing() as connection:
            present = repository.find(connection, account_id, group_id)
            if group is not None and present is not None and _is_same(group, present, key):
                repository.store_state(
                    connection, key.group_key, key.kind, revision=group.revision, computed_at=now, body=body
                )
                repository.touch(connection, key.group_key, now)
        return body


def _is_same(group: Row[Any], present: Row[Any], key: _Key) -> bool:
    """Whether the group did not change while its state was computed: what was erased meanwhile must not come back."""
    return bool(present.group_key == key.group_key and present.revision == group.revision)


@lru_cache(maxsize=4)
def states_of(database: Database) -> GroupStates:
    """The states over this database: one object, so that one recompute serves all who ask."""
    return GroupStates(database)


def _trajectory(connection: Connection, account_id: str, group_id: str, group_key: str, now: datetime) -> WireModel:
    references = cohort.references(connection, account_id, group_key)
    return trajectory(group_id, history.load(connection, group_key), now, labels=LABELS, references=references)


def _aggregate(connection: Connection, _account_id: str, group_id: str, group_key: str, now: datetime) -> WireModel:
    return aggregate(group_id, history.load(connection, group_key), now, LABELS)


_COMPUTE: dict[StateKind, Callable[[Connection, str, str, str, datetime], WireModel]] = {
    StateKind.TRAJECTORY: _trajectory,
    StateKind.AGGREGATE: _aggregate,
}
