"""Readiness: true, with its reasons, and in time."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from patience import HANGS_S, until
from vbdesk.service.engine.executors import DEAD_AFTER
from vbdesk.service.health.operations_app import STATE_LIMIT_S, create_ops_app
from vbdesk.service.health.readiness import LIMIT_S, Readiness, Reason, api_readiness, worker_readiness
from vbdesk.service.kernel.db.engine import create_engine
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.observability.cached_probe import CachedProbe


@dataclass
class Working:
    """The working half of a process, as a test wants it."""

    engine_launched: bool = True
    last_beat: float | None = None
    children_start: bool = True


@pytest.fixture
def context(start_service: Callable[..., Any]) -> Any:
    return start_service().context


def reasons(readiness: Readiness) -> list[Reason]:
    return asyncio.run(readiness.reasons())


def test_a_process_that_drains_says_so_on_both_ports(start_service: Any, serve_app: Any):
    service = start_service()
    operations = serve_app(create_ops_app(service.context, api_readiness(service.context)))
    assert httpx.get(f"{operations}/readyz", trust_env=False, timeout=HANGS_S).status_code == 200
    service.context.draining.set()
    for origin in (service.base_url, operations):
        answer = httpx.get(f"{origin}/readyz", trust_env=False, timeout=HANGS_S)
        assert answer.status_code == 503
        assert answer.json()["reasons"] == [{"check": "process", "reason": "draining"}]
        assert httpx.get(f"{origin}/healthz", trust_env=False, timeout=HANGS_S).status_code == 200


def test_a_database_of_a_newer_release_is_not_ours(context: Any):
    with context.database.writing() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
        connection.execute(sa.text("UPDATE schema_floor SET oldest_revision = '9999'"))
    assert reasons(api_readiness(context)) == [Reason("database", "schema_too_new")]


def test_a_database_without_tables_is_not_ours(context: Any, tmp_path: Any):
    empty = Database(create_engine(f"sqlite:///{tmp_path / 'empty.db'}"))
    assert reasons(api_readiness(replace(context, database=empty))) == [Reason("database", "schema_empty")]
    empty.close()


def test_a_database_that_takes_connections_and_never_answers_is_told_before_the_caller_gives_up(
    context: Any, serve_app: Any, black_hole: int
):
    hanging = Database(create_engine(f"postgresql+psycopg://nobody@127.0.0.1:{black_hole}/nothing"))
    assert max(LIMIT_S, STATE_LIMIT_S) < 2, "what asks for readiness waits 2 s, as a rule"
    lost = replace(context, database=hanging)
    operations = serve_app(create_ops_app(lost, api_readiness(lost)))
    for path, status in (("readyz", 503), ("healthz", 200)):
        answer = httpx.get(f"{operations}/{path}", trust_env=False, timeout=HANGS_S)
        assert answer.status_code == status
        if status == 503:
            assert answer.json()["reasons"] == [{"check": "database", "reason": "no_answer_in_time"}]
    metrics = httpx.get(f"{operations}/metrics", trust_env=False, timeout=HANGS_S).text
    assert "vbdesk_state_known 0.0" in metrics
    assert 'vbdesk_ready{check="database"} 0.0' in metrics
    assert "vbdesk_jobs_accepted_total 0.0" in metrics


def test_a_database_that_refuses_is_unreachable(context: Any):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        away = Database(create_engine(f"postgresql+psycopg://nobody:secret@127.0.0.1:{port}/nothing"))
        assert reasons(api_readiness(replace(context, database=away))) == [Reason("database", "unreachable")]


def test_a_worker_is_ready_when_it_takes_jobs_beats_and_forks(context: Any):
    now = time.monotonic()
    silent = now - DEAD_AFTER.total_seconds() - 1
    for working, expected in (
        (Working(last_beat=now), []),
        (Working(last_beat=now, engine_launched=False), [Reason("engine", "not_launched")]),
        (Working(), [Reason("heartbeat", "stale")]),
        (Working(last_beat=silent), [Reason("heartbeat", "stale")]),
        (Working(last_beat=now, children_start=False), [Reason("children", "cannot_start")]),
    ):
        assert reasons(worker_readiness(context, working)) == expected


def test_a_question_is_asked_once_at_a_time_and_not_again_too_soon():
    gate, asked = threading.Event(), []

    def ask() -> int:
        asked.append(threading.get_ident())
        gate.wait(HANGS_S)
        return len(asked)

    question = CachedProbe(ask, good_for_s=60, limit_s=0.2)
    for _ in range(2):
        with pytest.raises(TimeoutError):
            asyncio.run(question.get())
    gate.set()

    def answer() -> int | None:
        try:
            return asyncio.run(question.get())
        except TimeoutError:
            return None

    assert until(answer) == 1
    assert [answer() for _ in range(3)] == [1, 1, 1]
    assert len(asked) == 1


@pytest.fixture
def black_hole() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(50)
        port: int = listening.getsockname()[1]
        yield port
