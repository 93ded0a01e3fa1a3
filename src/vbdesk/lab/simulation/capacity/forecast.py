"""Forecast resources by recordings a day, and which part breaks first."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

import numpy as np
from numpy.typing import NDArray

from vbdesk.lab.simulation.capacity.inputs import Assumptions, Costs, ServicePart

Seconds = NDArray[np.float64]


def queue_waits(arrivals_s: Seconds, service_s: Seconds, servers: int) -> Seconds:
    """Waiting time of each customer before service begins.

    Every customer takes the server that is free first (recursion of Kiefer and Wolfowitz). For a single queue this is
    exact for any arrivals and services.

    Args:
        arrivals_s: arrival times, ascending, shape (n,).
        service_s: service times, shape (n,).
        servers: number of servers, at least 1.

    Raises:
        ValueError: the shapes differ, the arrivals do not ascend, or there is no server.
    """
    if servers < 1 or arrivals_s.shape != service_s.shape or np.any(np.diff(arrivals_s) < 0):
        raise ValueError("Give ascending arrivals, as many services, and at least one server.")
    free_at = [0.0] * servers
    begun = np.empty_like(arrivals_s)
    for index, (arrival, service) in enumerate(zip(arrivals_s.tolist(), service_s.tolist(), strict=True)):
        begin = max(arrival, free_at[0])
        heapq.heapreplace(free_at, begin + service)
        begun[index] = begin
    return begun - arrivals_s


def fewest_servers(arrivals_s: Seconds, service_s: Seconds, wait_s: float, percent: float = 95.0) -> int:
    """The fewest servers with which `percent` of the customers wait at most `wait_s`."""
    if arrivals_s.size == 0:
        return 1
    most = 1
    while np.percentile(queue_waits(arrivals_s, service_s, most), percent) > wait_s:
        most *= 2
    least = most // 2  # too few, or none
    while most - least > 1:
        middle = (least + most) // 2
        if np.percentile(queue_waits(arrivals_s, service_s, middle), percent) > wait_s:
            least = middle
        else:
            most = middle
    return most


DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class SimulatedDay:
    """Recordings of a day by arrival, shape (n,); `service_s` is processor time."""

    arrivals_s: Seconds
    lengths_s: Seconds
    service_s: Seconds

    @property
    def busiest_minute_per_s(self) -> float:
        """Arrivals a second in the busiest minute."""
        counts = np.bincount((self.arrivals_s // 60).astype(int), minlength=DAY_S // 60)
        return float(counts.max()) / 60


def draw_day(count: int, assumptions: Assumptions, costs: Costs, generator: np.random.Generator) -> SimulatedDay:
    """Draw a day of `count` recordings."""
    arrivals_s = _arrivals(count, assumptions, generator)
    lengths_s = np.clip(
        assumptions.lengths.median_s * np.exp(assumptions.lengths.spread * generator.standard_normal(count)),
        assumptions.lengths.least_s,
        assumptions.lengths.most_s,
    )
    names = list(assumptions.analyses)
    shares = np.array([assumptions.analyses[name] for name in names])
    kinds = generator.choice(len(names), size=count, p=shares / shares.sum())
    fixed_s = np.array([costs.analysis[name].fixed_cpu_s for name in names])[kinds]
    per_s = np.array([costs.analysis[name].cpu_s_per_minute for name in names])[kinds] / 60
    return SimulatedDay(arrivals_s, lengths_s, fixed_s + per_s * lengths_s + costs.worker.worker_cpu_s_per_job)


def _arrivals(count: int, assumptions: Assumptions, generator: np.random.Generator) -> Seconds:
    """Arrival times: from clinics hour by hour, from laptops in bursts."""
    day = assumptions.day
    in_bursts = int(generator.binomial(count, day.burst_share)) if count else 0
    hours = np.array(day.hours)
    hour: NDArray[np.int64] = generator.choice(24, size=count - in_bursts, p=hours / hours.sum())
    steady = 3600 * (hour + generator.random(count - in_bursts))
    laptops = -(-in_bursts // day.recordings_per_burst)
    begins = 3600 * generator.uniform(*day.burst_hours, size=laptops)
    of_laptop = np.repeat(begins, day.recordings_per_burst)[:in_bursts]
    burst = of_laptop + day.burst_upload_s * generator.random(in_bursts)
    return np.sort(np.concatenate([steady, burst]))


SAMPLE = 40_000
"""Recordings drawn for a day. A larger day is one of many equal slices of the fleet, each with its own queue. This
overstates waiting a little: a single queue for all waits less."""

MEGA, TERA = 1e6, 1e12
IDLE_PROCESSES = 3  # in the measured run: an API process and two workers
LARGEST_PER_DAY = 1e10


@dataclass(frozen=True, slots=True)
class Requirements:
    """Resources for `per_day` recordings a day.

    Attributes:
        peak_per_s: submits a second in the busiest minute.
        slots: concurrent analyses; one core each.
        wait_percentiles_s: 50th, 95th and 99th of the time from submit to start.
        requests_per_s: all requests to the API in the busiest minute.
        recording_minutes: minutes of recording in a day.
        stored_tb: stored recordings.
        traffic_mb_per_s: recordings in and out of the store in the busiest minute.
        demand: load on each part, in its unit.
    """

    per_day: float
    peak_per_s: float
    slots: int
    workers: int
    wait_percentiles_s: tuple[float, float, float]
    api_processes: int
    requests_per_s: float
    recording_minutes: float
    stored_tb: float
    traffic_mb_per_s: float
    demand: dict[str, float]


@dataclass(frozen=True, slots=True)
class BreakingPoint:
    """The load at which a part reaches its limit; infinite if no simulated load does."""

    part: ServicePart
    per_day: float


def requirements(per_day: float, assumptions: Assumptions, costs: Costs, seed: int) -> Requirements:
    """Simulate a day and size every part for it."""
    slices = max(1.0, per_day / SAMPLE)
    recordings = draw_day(round(per_day / slices), assumptions, costs, np.random.default_rng(seed))
    slots_of_slice = fewest_servers(recordings.arrivals_s, recordings.service_s, assumptions.fleet.wait_s)
    waited_s = queue_waits(recordings.arrivals_s, recordings.service_s, slots_of_slice)
    return _size_parts(per_day, slices, recordings, slots_of_slice, waited_s, assumptions, costs)


def _size_parts(
    per_day: float,
    slices: float,
    recordings: SimulatedDay,
    slots_of_slice: int,
    waited_s: Seconds,
    assumptions: Assumptions,
    costs: Costs,
) -> Requirements:
    fleet, requests, ms = assumptions.fleet, assumptions.requests, costs.request_cpu_ms
    slots = ceil(slots_of_slice * slices)
    workers = ceil(slots / fleet.slots_per_worker)
    peak_per_s = recordings.busiest_minute_per_s * slices
    polls = float(np.minimum(1 + (waited_s + recordings.service_s) / requests.poll_every_s, requests.most_polls).mean())
    api_ms = ms["submit"] + polls * ms["poll"] + requests.lists * ms["job list"]
    api_ms += requests.trajectory_reads * ms["trajectory"] + requests.trajectory_computed * ms["trajectory, computed"]
    api_ms += requests.webhook_share * costs.webhook_cpu_ms
    api_processes = ceil(peak_per_s * api_ms / 1000 / fleet.utilisation)
    minutes = float(recordings.lengths_s.sum()) / 60 * slices
    bytes_per_minute = sum(
        share * costs.recording_bytes_per_minute[kind] for kind, share in assumptions.formats.items()
    )
    mean_bytes = bytes_per_minute * float(recordings.lengths_s.mean()) / 60
    idle = (api_processes + workers) * costs.worker.idle_commits_per_s / IDLE_PROCESSES
    stored_jobs = per_day * fleet.audio_days
    demand = {
        "commits": peak_per_s * costs.worker.writes_per_job + idle,
        "idle": idle,
        "connections": api_processes * fleet.connections_per_api + workers * fleet.connections_per_worker,
        "rows": 365 * per_day * (costs.database.row_bytes_per_job + costs.database.index_bytes_per_job) / TERA,
        "log": peak_per_s * costs.worker.wal_bytes_per_job / MEGA,
        "account": peak_per_s * requests.largest_account_share,
        "listing": stored_jobs / 1000 / 20,
        "puts": 2 * peak_per_s,  # the caller's upload and the job's copy
        "runs": per_day / MEGA,
    }
    p50, p95, p99 = np.percentile(waited_s, (50, 95, 99)).tolist()
    return Requirements(
        per_day=per_day,
        peak_per_s=peak_per_s,
        slots=slots,
        workers=workers,
        wait_percentiles_s=(p50, p95, p99),
        api_processes=api_processes,
        requests_per_s=peak_per_s * (1 + polls + requests.lists + requests.trajectory_reads),
        recording_minutes=minutes,
        stored_tb=stored_jobs * mean_bytes / TERA,
        traffic_mb_per_s=2 * peak_per_s * mean_bytes / MEGA,
        demand=demand,
    )


def breaking_points(assumptions: Assumptions, costs: Costs, seed: int) -> list[BreakingPoint]:
    """The load at which each part reaches its limit, lowest load first.

    Demands grow with the load, so each limit lies between two simulated loads. It is interpolated between them on
    logarithmic axes.
    """
    probes = [
        requirements(per_day, assumptions, costs, seed) for per_day in (1e4, 1e5, 1e6, 1e7, 1e8, 1e9, LARGEST_PER_DAY)
    ]
    found = [BreakingPoint(part, _load_at_limit(name, part.limit, probes)) for name, part in assumptions.parts.items()]
    return sorted(found, key=lambda breaking: breaking.per_day)


def _load_at_limit(name: str, limit: float, probes: Sequence[Requirements]) -> float:
    for before, after in pairwise(probes):
        low, high = before.demand[name], after.demand[name]
        if low >= limit:
            return before.per_day
        if high >= limit:
            share = np.log(limit / low) / np.log(high / low)
            return float(before.per_day * (after.per_day / before.per_day) ** share)
    return float("inf")


@dataclass(frozen=True, slots=True)
class BatchPrediction:
    """A measured batch and its prediction."""

    predicted_makespan_s: float
    predicted_mean_wait_s: float
    measured_makespan_s: float
    measured_mean_wait_s: float


def predict_real_batch(costs: Costs) -> BatchPrediction:
    """Predict a batch on several workers from the run times of one."""
    real = costs.worker.real_run
    service_s = np.array(real.one_worker_run_s)
    waited_s = queue_waits(np.zeros_like(service_s), service_s, real.workers)
    return BatchPrediction(
        predicted_makespan_s=float((waited_s + service_s).max()),
        predicted_mean_wait_s=float(waited_s.mean()),
        measured_makespan_s=real.makespan_s,
        measured_mean_wait_s=real.mean_wait_s,
    )
