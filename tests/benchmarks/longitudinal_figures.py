"""Cost of the longitudinal method: `python tests/benchmarks/longitudinal_figures.py`.

Computations are in processor time. Reads of a started service are in wall-clock time, with HTTP; an edit makes the
cached state stale before each. Ratios are of one run. Bars in time are scaled by this machine's calibration.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import httpx
import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "service" / "support"))

from calibration import slowness, within
from figures import Row, Verdict, judged, reported, show
from served import Served

from vbdesk.contract.ids import new_id
from vbdesk.lab.unrounded_report import unrounded_trajectory
from vbdesk.longitudinal import HistoryEntry, SignReading, job_estimates, trajectory_json
from vbdesk.longitudinal.incremental_filter import IncrementalFilter
from vbdesk.longitudinal.parameters import METHODS, shipped_parameters
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.session import open_database
from vbdesk.service.kernel.db.tables import groups, memberships
from vbdesk.service.kernel.settings import load_settings

TOPIC = "longitudinal"
SIGNS = ("mood-disruption", "anxiety", "stress", "fatigue", "dehydration", "elevated-blood-pressure")
RECORDINGS = 1000
GROUP = "subject"
PLENTY = json.dumps({"enterprise": dict.fromkeys(("general", "analyze", "polling"), 10**9)})


def rows() -> Iterator[Row]:
    """Every figure."""
    now = datetime.now(UTC)
    history = random_history(RECORDINGS, now, own_intervals=False)
    with_intervals = random_history(RECORDINGS, now, own_intervals=True)
    yield from computed(history, with_intervals, now)
    yield from appended(history)
    yield from grown(now)
    yield from read_over_http(with_intervals)


def computed(history: list[HistoryEntry], with_intervals: list[HistoryEntry], now: datetime) -> Iterator[Row]:
    """From scratch: 1,000 recordings of six signs."""
    what = f"{RECORDINGS} recordings x {len(SIGNS)} signs from scratch"
    for name, task in (
        ("fields of the last job", lambda: job_estimates(history, history[-1].job_id)),
        ("whole trajectory", lambda: unrounded_trajectory(history, now, SIGNS, {})),
    ):
        seconds = best_cpu_s(task)
        yield judged(TOPIC, f"{what}, {name}", "< 10 ms CPU", f"{1e3 * seconds:.1f} ms", within(seconds, 0.010))
    first, second = (
        best_cpu_s(
            lambda parameters=shipped_parameters(method): unrounded_trajectory(history, now, SIGNS, {}, parameters)
        )
        for method in METHODS
    )
    ratio = second / first
    yield judged(TOPIC, f"{what}, whole trajectory, tss-2 over tss-1", "<= 1.5", f"{ratio:.2f}", ratio <= 1.5)
    seconds = best_cpu_s(lambda: job_estimates(with_intervals, history[-1].job_id))
    yield reported(TOPIC, f"{what}, fields, every score with its own interval", f"{1e3 * seconds:.1f} ms CPU")
    seconds = best_cpu_s(
        lambda: trajectory_json(GROUP, history, now, labels={}, references={}, done_job_count=0, pending_job_count=0)
    )
    yield reported(TOPIC, f"{what}, whole trajectory as JSON of the wire", f"{1e3 * seconds:.1f} ms CPU")


def appended(history: list[HistoryEntry]) -> Iterator[Row]:
    """One more recording, early and late in a history."""
    incremental_filter = IncrementalFilter()
    times = []
    for entry in history:
        began = time.process_time()
        incremental_filter.append(entry)
        times.append(time.process_time() - began)
    early, late = statistics.median(times[50:150]), statistics.median(times[-100:])
    yield judged(
        TOPIC, "one more recording after 900, six signs", "< 1 ms CPU", f"{1e3 * late:.2f} ms", within(late, 0.001)
    )
    ratio = late / early
    yield judged(TOPIC, "one more recording after 900 over one after 50", "<= 1.5", f"{ratio:.2f}", ratio <= 1.5)


def grown(now: datetime) -> Iterator[Row]:
    """Cost over the number of recordings."""
    sizes = (125, 250, 500, 1000)
    costs = [
        best_cpu_s(
            lambda history=random_history(n, now, own_intervals=False): unrounded_trajectory(history, now, SIGNS, {})
        )
        for n in sizes
    ]
    told = ", ".join(f"{n}: {1e3 * cost:.1f} ms" for n, cost in zip(sizes, costs, strict=True))
    worst = max(later / earlier for earlier, later in pairwise(costs))
    yield judged(
        TOPIC, f"twice the recordings cost at most ({told})", "<= 2.2 times", f"{worst:.2f} times", worst <= 2.2
    )


def read_over_http(history: list[HistoryEntry], reads: int = 15) -> Iterator[Row]:
    """The group's trajectory from a started service, each read after an edit."""
    with tempfile.TemporaryDirectory(prefix="vbdesk-benchmark-") as folder:
        service = Served(Path(folder), workers=0, rate_limits=PLENTY)
        service.start()
        try:
            service.make_account(1000)
            store(service, history)
            with service.client() as client:
                path, member = f"/v2/groups/{GROUP}/longitudinal", history[len(history) // 2].job_id
                client.get(path).raise_for_status()
                cold, warm, cpu = [], [], []
                for _ in range(reads):
                    client.delete(f"/v2/groups/{GROUP}/jobs/{member}").raise_for_status()
                    client.post(f"/v2/groups/{GROUP}/jobs", json={"job_ids": [member]}).raise_for_status()
                    used = cpu_s_of(service.pid)
                    cold.append(read_s(client, path))
                    cpu.append(cpu_s_of(service.pid) - used)
                    warm.append(read_s(client, path))
                answer = client.get(path)
                assert answer.json()["window"]["jobs_used"] == len(history)
        finally:
            service.stop()
    best, middle = min(cold), statistics.median(cold)
    what = f"cold trajectory read of that group over HTTP, {len(answer.content) / 1024:.0f} KB"
    told = f"{1e3 * best:.0f} ms (median {1e3 * middle:.0f} ms)"
    yield judged(TOPIC, f"{what}, best of {reads}", "< 100 ms", told, within(best, 0.100))
    work = statistics.mean(cpu)
    yield judged(TOPIC, f"{what}, CPU of the service", "< 100 ms", f"{1e3 * work:.0f} ms", within(work, 0.100))
    yield reported(TOPIC, "the same read, cached", f"{1e3 * min(warm):.0f} ms")


def read_s(client: httpx.Client, path: str) -> float:
    """Time until a read is `done`, with one request or several."""
    began = time.perf_counter()
    while client.get(path).raise_for_status().content.startswith(b'{"status":"running"'):
        pass
    return time.perf_counter() - began


def cpu_s_of(pid: int) -> float:
    """Processor time that a process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def random_history(count: int, now: datetime, *, own_intervals: bool) -> list[HistoryEntry]:
    """Recordings over the last 269 days; score intervals as wide as real ones, a few wide enough to matter."""
    generator = np.random.default_rng(3)
    days = np.sort(generator.uniform(0, 269, count))
    scores = 1.0 / (1.0 + np.exp(1.0 - 0.7 * generator.normal(size=(count, len(SIGNS)))))
    widths = generator.uniform(0.02, 0.22, scores.shape)

    def reading(k: int, column: int) -> SignReading:
        score, half = float(scores[k, column]), float(widths[k, column])
        interval = (max(score - half, 0.0), min(score + half, 1.0)) if own_intervals else None
        return SignReading(score, "low", False, interval)

    return [
        HistoryEntry(
            job_id=f"job-{k:04d}",
            recorded_at=now - timedelta(days=269.5 - days[k]),
            status="done",
            duration_s=60.0,
            voice_percentage=65.0,
            audio_clarity=80.0,
            issues=(),
            recommended_action="none",
            signs={sign: reading(k, column) for column, sign in enumerate(SIGNS)},
        )
        for k in range(count)
    ]


def store(service: Served, history: list[HistoryEntry]) -> None:
    """Insert the history into the service's database as finished jobs of one group."""
    database = open_database(load_settings(service.data_dir))
    now, group_key, account_id = datetime.now(UTC), new_id(), service.headers["X-Account-ID"]
    job = {
        "account_id": account_id,
        "status": "done",
        "created_at": now,
        "completed_at": now,
        "job_type": "model",
        "api_version": "v2",
        "model_name": "pulse",
        "diarize": False,
        "audio_content_type": "audio/wav",
        "audio_size_bytes": 1,
        "starts": 1,
    }
    with database.writing() as connection:
        group = {"group_key": group_key, "account_id": account_id, "group_id": GROUP}
        connection.execute(groups.insert().values(**group, created_at=now, updated_at=now, revision=0))
        connection.execute(
            jobs.insert(),
            [
                job
                | {
                    "job_id": entry.job_id,
                    "recorded_at": entry.recorded_at,
                    "audio_duration_seconds": entry.duration_s,
                    "reading": stored_reading(entry),
                }
                for entry in history
            ],
        )
        connection.execute(
            memberships.insert(), [{"group_key": group_key, "job_id": entry.job_id} for entry in history]
        )
    database.close()


def stored_reading(entry: HistoryEntry) -> str:
    """The reading of a job as the service stores it."""
    return json.dumps(
        {
            "voice_percentage": entry.voice_percentage,
            "audio_clarity": entry.audio_clarity,
            "issues": entry.issues,
            "recommended_action": entry.recommended_action,
            "signs": {name: [r.score, r.level, r.flagged, r.interval] for name, r in entry.signs.items()},
        }
    )


def best_cpu_s(task: Callable[[], object], repeats: int = 20) -> float:
    """Least processor time of several runs, the least disturbed one."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        task()
        times.append(time.process_time() - began)
    return min(times)


if __name__ == "__main__":
    slowness()
    sys.exit(any(row.verdict is Verdict.MISSED for row in show(rows())))
