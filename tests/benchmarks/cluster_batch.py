"""A fixed batch of recordings run by one worker, then by two: how long it takes and what a job costs beside it.

Each worker has one processor, as a machine of its own would, for an analysis alone on several uses more than one. The
batch waits when they begin: submitting is the API's work.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import numpy as np
import soundfile

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "service" / "cluster")]

from cluster import Cluster
from cluster_stage import POSTGRESQL, SPEECH, cpu_s, descendants
from figures import Row, judged, reported
from own_postgresql import OwnPostgresql
from served import upload
from store_server import StoreServer

POLL_EVERY_S = 5.0  # the pace of an outbox with several jobs open
LENGTHS_S = (20, 20, 60, 20, 40)
TARGETS = ("/v2/models/pulse/analyze", "/v2/models/haven/analyze", "/v2/signs/stress/analyze")


@dataclass(frozen=True, slots=True)
class Batch:
    """What a batch took.

    Attributes:
        makespan_s: from the moment the workers begin to the last end.
        waits_s: of each job from that moment to its start.
        runs_s: of each job from its start to its end.
        api_cpu_s: of the API process and its children, a job.
        keeping_cpu_s: of the workers beside their analyses, a job.
        analysis_cpu_s: of the analyses, a job.
        wal_bytes: of PostgreSQL's log, a job.
        writes: transactions of PostgreSQL that write, a job, its client's requests with it.
        idle_commits_per_s: of the API process and the workers together when nothing happens; most of them only look.
    """

    workers: int
    makespan_s: float
    waits_s: list[float]
    runs_s: list[float]
    api_cpu_s: float
    keeping_cpu_s: float
    analysis_cpu_s: float
    wal_bytes: float
    writes: float
    idle_commits_per_s: float


def run_batches(count: int) -> list[Batch]:
    """The batch by one worker, then by two, on the same database and store."""
    server, store = OwnPostgresql(POSTGRESQL), StoreServer("s3")
    with tempfile.TemporaryDirectory(prefix="vbdesk-batch-") as name:
        folder = Path(name)
        cluster = Cluster(
            folder / "cluster", server.make_database("batch"), store.access("batch"), apis=1, workers=0, ops_port="0"
        )
        try:
            cluster.start()
            account = cluster.operate(
                "account", "create", "--name", "Batch", "--plan", "enterprise", "--credits", "9999999"
            )
            key = cluster.operate("key", "create", "--account", account["account_id"], "--name", "batch")
            headers = {"X-Account-ID": account["account_id"], "X-API-Key": key["api_key"]}
            recordings = make_recordings(folder)
            done = []
            with httpx.Client(base_url=cluster.base_url, headers=headers, timeout=60, trust_env=False) as client:
                references = {length: upload(client, path, "audio/flac") for length, path in recordings.items()}
                for workers in (1, 2):
                    with on_processor(workers - 1):
                        cluster.add_workers(1)
                        cluster.start()
                    run(client, server, cluster, references, 2 * workers)  # children warm up
                    done.append(_measured(client, server, cluster, references, count, workers))
            return done
        finally:
            cluster.close()
            store.close()
            server.close()


@contextmanager
def on_processor(number: int) -> Iterator[None]:
    """What is started meanwhile stays on one processor; on a computer with a single one all share that."""
    usual = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {usual[number % len(usual)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, usual)


def make_recordings(folder: Path) -> dict[int, Path]:
    """The same voice for longer and shorter, by length in seconds."""
    samples, rate = soundfile.read(SPEECH, dtype="float32")
    paths = {}
    for length_s in sorted(set(LENGTHS_S)):
        paths[length_s] = folder / f"{length_s}.flac"
        soundfile.write(paths[length_s], np.tile(samples, -(-length_s // 20))[: length_s * rate], rate)
    return paths


def run(
    client: httpx.Client, server: OwnPostgresql, cluster: Cluster, references: dict[int, str], count: int
) -> tuple[datetime, list[tuple[datetime, ...]]]:
    """Submit while the workers stand still, poll at a client's pace, wait for all.

    Returns when the workers began, and start and end of each job.
    """
    for worker in cluster.workers:
        worker.pause()  # much shorter than the time after which they would be taken for dead
    before = server.execute("batch", "SELECT count(*) FROM jobs")[0][0]
    ids = []
    for number in range(count):
        reference = references[LENGTHS_S[number % len(LENGTHS_S)]]
        answer = client.post(TARGETS[number % len(TARGETS)], files={"audio_upload_ref": (None, reference)})
        ids.append(answer.raise_for_status().json()["job_id"])
    began = datetime.now(UTC)
    for worker in cluster.workers:
        worker.resume()
    open_ids = ids
    while open_ids:
        time.sleep(POLL_EVERY_S)
        open_ids = [one for one in open_ids if client.get(f"/v2/jobs/{one}").json()["status"] in ("queued", "running")]
    rows = server.execute("batch", f"SELECT started_at, completed_at FROM jobs ORDER BY job_id OFFSET {before}")
    return began, [row for row in rows if None not in row]


def _measured(
    client: httpx.Client, server: OwnPostgresql, cluster: Cluster, references: dict[int, str], count: int, workers: int
) -> Batch:
    idle_s = 11.0  # two rounds of the sweepers
    at_first = _counters(server)
    time.sleep(idle_s)
    after_idling = _counters(server)
    idle_per_s, idle_writes_per_s = ((after_idling[k] - at_first[k]) / idle_s for k in (0, 2))
    api = [cluster.apis[0].pid, *descendants(cluster.apis[0].pid)]
    keepers = [worker.pid for worker in cluster.workers]
    children = [child for pid in keepers for child in descendants(pid)]
    parts = (api, keepers, children)
    before = [cpu_s(pids) for pids in parts]
    _, wal, writes = _counters(server)
    submits_at = time.monotonic()
    began, rows = run(client, server, cluster, references, count)
    took_s = time.monotonic() - submits_at
    used = [(cpu_s(pids) - start) / count for pids, start in zip(parts, before, strict=True)]
    _, later_wal, later_writes = _counters(server)
    assert len(rows) == count, f"{len(rows)} of {count} jobs were done"
    return Batch(
        workers=workers,
        makespan_s=(max(end for _, end in rows) - began).total_seconds(),
        waits_s=[(start - began).total_seconds() for start, _ in rows],
        runs_s=[(end - start).total_seconds() for start, end in rows],
        api_cpu_s=used[0],
        keeping_cpu_s=used[1],
        analysis_cpu_s=used[2],
        wal_bytes=(later_wal - wal) / count,
        writes=(later_writes - writes - idle_writes_per_s * took_s) / count,
        idle_commits_per_s=idle_per_s,
    )


def _counters(server: OwnPostgresql) -> tuple[float, float, float]:
    """Commits, bytes of log, and transactions that wrote so far."""
    time.sleep(1.1)  # sessions report their commits once a second
    ((commits, wal, writes),) = server.execute(
        "batch",
        "SELECT xact_commit, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'), "
        "pg_snapshot_xmax(pg_current_snapshot())::text::bigint FROM pg_stat_database WHERE datname = 'batch'",
    )
    return float(commits), float(wal), float(writes)


def batch_rows(count: int) -> Iterator[Row]:
    """The figures."""
    one, two = run_batches(count)
    topic = f"A batch of {count} recordings on PostgreSQL, a processor a worker"
    ratio = two.makespan_s / one.makespan_s
    said = f"{ratio:.2f} ({two.makespan_s:.1f} against {one.makespan_s:.1f} s)"
    yield judged(topic, "two workers against one", "0.6", said, ratio <= 0.6)
    share = 100 * one.api_cpu_s / one.analysis_cpu_s
    said = f"{share:.1f} % ({1000 * one.api_cpu_s:.0f} against {1000 * one.analysis_cpu_s:.0f} ms of CPU)"
    yield judged(topic, "API per job against its analysis", "10 %", said, share < 10)
    yield reported(topic, "a worker beside its analyses, a job", f"{1000 * one.keeping_cpu_s:.0f} ms of CPU")
    yield reported(topic, "log of PostgreSQL a job", f"{two.wal_bytes / 1024:.1f} KiB, {two.writes:.1f} writes")
    yield reported(topic, "commits when idle, an API and two workers", f"{two.idle_commits_per_s:.1f}/s")
    yield reported(topic, "wait by two workers", f"median {statistics.median(two.waits_s):.1f} s")
