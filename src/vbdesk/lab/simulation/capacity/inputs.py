"""Inputs: measured costs (capacity.json) and assumptions (capacity.toml)."""

import json
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat, PositiveInt

from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource

Share = Annotated[float, Field(ge=0, le=1)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AnalysisCost(_Data):
    """Processor time of one analysis: fixed, and per minute of recording."""

    fixed_cpu_s: NonNegativeFloat
    cpu_s_per_minute: PositiveFloat


class DatabaseCost(_Data):
    """Bytes in PostgreSQL per finished job, with ledger, membership, webhook."""

    row_bytes_per_job: PositiveFloat
    index_bytes_per_job: PositiveFloat
    result_bytes: PositiveFloat


class RealRun(_Data):
    """A batch of jobs submitted at once to real workers."""

    workers: PositiveInt
    jobs: PositiveInt
    makespan_s: PositiveFloat
    mean_wait_s: NonNegativeFloat
    p95_wait_s: NonNegativeFloat
    run_s: tuple[PositiveFloat, ...]
    one_worker_makespan_s: PositiveFloat
    one_worker_run_s: tuple[PositiveFloat, ...]


class WorkerCost(_Data):
    """Cost per job besides analysis; idle commits: API process and two workers."""

    worker_cpu_s_per_job: NonNegativeFloat
    writes_per_job: NonNegativeFloat
    wal_bytes_per_job: PositiveFloat
    idle_commits_per_s: NonNegativeFloat
    real_run: RealRun


class Costs(_Data):
    """Costs measured by `tests/benchmarks/capacity_costs.py`."""

    measured: dict[str, str]
    analysis: dict[str, AnalysisCost]
    analysis_memory_mb: PositiveFloat
    recording_bytes_per_minute: dict[str, PositiveFloat]
    request_cpu_ms: dict[str, NonNegativeFloat]
    database: DatabaseCost
    api_memory_mb: PositiveFloat
    webhook_cpu_ms: NonNegativeFloat
    worker: WorkerCost


class ArrivalPattern(_Data):
    """Arrivals: weights of `hours`, and `burst_share` in bursts from laptops."""

    hours: tuple[NonNegativeFloat, ...] = Field(min_length=24, max_length=24)
    burst_share: Share
    recordings_per_burst: PositiveInt
    burst_hours: tuple[NonNegativeFloat, NonNegativeFloat]
    burst_upload_s: PositiveFloat


class RecordingLengths(_Data):
    """Lengths of recordings in seconds: lognormal within bounds."""

    median_s: PositiveFloat
    spread: PositiveFloat
    least_s: PositiveFloat
    most_s: PositiveFloat


class RequestMix(_Data):
    """Requests of a client per recording; shares are of recordings."""

    poll_every_s: PositiveFloat
    most_polls: PositiveFloat
    lists: NonNegativeFloat
    trajectory_reads: NonNegativeFloat
    trajectory_computed: NonNegativeFloat
    webhook_share: Share
    largest_account_share: Share


class Fleet(_Data):
    """Size of the processes, and how long a recording may wait."""

    slots_per_worker: PositiveInt
    utilisation: Share
    wait_s: PositiveFloat
    connections_per_api: PositiveInt
    connections_per_worker: PositiveInt
    audio_days: PositiveFloat


class ServicePart(_Data):
    """A part of the service with a `limit` (in `unit`); `remedy` is how to raise it."""

    name: str
    unit: str
    limit: PositiveFloat
    why: str
    remedy: str


class Assumptions(_Data):
    """All assumptions: load, requests and limits."""

    day: ArrivalPattern
    lengths: RecordingLengths
    analyses: dict[str, Share]
    formats: dict[str, Share]
    requests: RequestMix
    fleet: Fleet
    parts: dict[str, ServicePart]


def shipped_costs() -> Costs:
    """The shipped measurements."""
    return Costs.model_validate(json.loads(resource("service", "capacity.json").read_text("utf-8")))


def shipped_assumptions() -> Assumptions:
    """The shipped assumptions."""
    return Assumptions.model_validate(read_toml(resource("service", "capacity.toml")))
