"""How the service does on several processes and on PostgreSQL, with 100,000 jobs: ratios within one run.

    python tests/benchmarks/cluster_figures.py [--only reads|flat|workers] [--groups N] [--batch N]

- reads: each read on PostgreSQL against the same on SQLite, same rows, same process, in turns.
- flat: each read and each query of the background with 1,000 groups of 100 recordings against one such group.
- workers: a fixed batch by two workers against one, and what a job costs beside its analysis.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from cluster_batch import batch_rows
from cluster_stage import Filled, filled_services
from figures import Row, judged, show
from sqlalchemy import Connection

from vbdesk.contract.limits import PAGE_SIZE
from vbdesk.service.engine.queue_state import read_queue_state
from vbdesk.service.jobs import repository as jobs
from vbdesk.service.kernel.db.tables import groups
from vbdesk.service.webhooks import repository as webhooks

ROUNDS = 60
RECORDS = 100


def reads(service: Filled) -> dict[str, str]:
    """Paths of what is read, by name."""
    last_group = (service.groups - 1) // PAGE_SIZE
    group = f"/v2/groups/subject-{service.groups // 2:05d}"
    return {
        "job": f"/v2/jobs/{service.job_id}",
        "job list": "/v2/jobs",
        "job list, middle page": f"/v2/jobs?page={service.groups * RECORDS // PAGE_SIZE // 2}",
        "job list, last page": f"/v2/jobs?page={service.groups * RECORDS // PAGE_SIZE - 1}",
        "group list": "/v2/groups",
        "group list, last page": f"/v2/groups?page={last_group}",
        "group jobs": f"{group}/jobs",
        "trajectory": f"{group}/longitudinal",
        "aggregate": f"{group}/aggregate",
        "credits": "/v2/account/credits",
    }


def background() -> dict[str, Callable[[Connection], object]]:
    """What the service asks by itself, again and again."""
    now = datetime.now(UTC)
    return {
        "overdue runs": lambda connection: jobs.list_overdue(connection, now, ["local-0"]),
        "analyses set aside": jobs.list_set_aside,
        "old audio": lambda connection: jobs.list_old_audio(connection, now - timedelta(days=101), 200),
        "due webhooks": lambda connection: webhooks.list_due(connection, now, 4),
        "state of the queue": lambda connection: read_queue_state(connection, now),
    }


def time_reads(services: dict[str, Filled], rounds: int) -> dict[str, dict[str, float]]:
    """Median milliseconds of each read on each service, asked in turns so that a disturbance hits all."""
    names = reads(next(iter(services.values())))
    times: dict[str, dict[str, list[float]]] = {name: {at: [] for at in services} for name in names}
    for turn in range(rounds + 5):
        for name in names:
            for at, service in services.items():
                took_s = service.get(reads(service)[name])
                if turn >= 5:  # connections and statements are prepared by then
                    times[name][at].append(1000 * took_s)
    return {name: {at: statistics.median(values) for at, values in by.items()} for name, by in times.items()}


def time_recomputed(services: dict[str, Filled], rounds: int) -> dict[str, dict[str, float]]:
    """Median milliseconds of the trajectory of a group that has just changed."""
    times: dict[str, list[float]] = {at: [] for at in services}
    for _ in range(rounds):
        for at, service in services.items():
            changed = groups.c.group_id == f"subject-{service.groups // 2:05d}"
            with service.database.writing() as connection:
                connection.execute(sa.update(groups).where(changed).values(revision=groups.c.revision + 1))
            times[at].append(1000 * service.get(reads(service)["trajectory"]))
    return {"trajectory, computed": {at: statistics.median(values) for at, values in times.items()}}


def time_background(services: dict[str, Filled], rounds: int) -> dict[str, dict[str, float]]:
    """The same of the queries of the background, without HTTP."""
    times: dict[str, dict[str, list[float]]] = {name: {at: [] for at in services} for name in background()}
    for _ in range(rounds):
        for name, query in background().items():
            for at, service in services.items():
                with service.database.reading() as connection:
                    began = time.perf_counter()
                    query(connection)
                    times[name][at].append(1000 * (time.perf_counter() - began))
    return {name: {at: statistics.median(values) for at, values in by.items()} for name, by in times.items()}


def stored_rows(only: str | None, group_count: int) -> Iterator[Row]:
    """The figures of reads and of flatness."""
    with filled_services(group_count) as services:
        read_ms = time_reads(services, ROUNDS)
        if only in (None, "reads"):
            for name, ms in read_ms.items():
                ratio = ms["postgresql full"] / ms["sqlite full"]
                said = f"{ratio:.2f} x ({ms['postgresql full']:.2f} against {ms['sqlite full']:.2f} ms)"
                yield judged("PostgreSQL against SQLite", name, "1.5 x", said, ratio <= 1.5)
        if only in (None, "flat"):
            asked_ms = {**read_ms, **time_recomputed(services, ROUNDS // 3), **time_background(services, ROUNDS)}
            for kind in ("sqlite", "postgresql"):
                for name, ms in asked_ms.items():
                    ratio = ms[f"{kind} full"] / ms[f"{kind} empty"]
                    said = f"{ratio:.2f} x ({ms[f'{kind} full']:.2f} against {ms[f'{kind} empty']:.2f} ms)"
                    yield judged(f"{group_count} groups against one, {kind}", name, "2 x", said, ratio <= 2.0)


def main() -> None:
    """Print the figures asked for."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--only", choices=("reads", "flat", "workers"))
    asked.add_argument("--groups", type=int, default=1000)
    asked.add_argument("--batch", type=int, default=40)
    options = asked.parse_args()
    if options.only != "workers":
        show(stored_rows(options.only, options.groups))
    if options.only in (None, "workers"):
        show(batch_rows(options.batch))


if __name__ == "__main__":
    main()
