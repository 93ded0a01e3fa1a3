"""Tables of the capacity simulation as Markdown."""

from collections.abc import Iterable, Sequence
from math import isinf

from vbdesk.lab.simulation.capacity.forecast import (
    BatchPrediction,
    BreakingPoint,
    Requirements,
    breaking_points,
    predict_real_batch,
    requirements,
)
from vbdesk.lab.simulation.capacity.inputs import Assumptions, Costs

LOADS = (1e6, 1e7, 1e9)


def markdown(assumptions: Assumptions, costs: Costs, seed: int) -> str:
    """Costs, resources per load, breaking points, check against a real run."""
    loads = [requirements(per_day, assumptions, costs, seed) for per_day in LOADS]
    parts = (
        _costs_table(costs),
        _requirements_table(loads),
        _loads_table(loads, assumptions),
        _breaking_points_table(breaking_points(assumptions, costs, seed)),
        _prediction_table(predict_real_batch(costs), costs),
    )
    return "\n".join(parts)


def _costs_table(costs: Costs) -> str:
    where = ", ".join(f"{name} {value}" for name, value in costs.measured.items() if name != "command")
    ms, database, worker = costs.request_cpu_ms, costs.database, costs.worker
    rows = [
        (f"analysis, {name}", f"{cost.fixed_cpu_s:.2f} s + {cost.cpu_s_per_minute:.2f} s per minute of recording")
        for name, cost in costs.analysis.items()
    ]
    rows += [("worker besides the analysis, per job", f"{1000 * worker.worker_cpu_s_per_job:.0f} ms")]
    rows += [(f"API, {name}", f"{value:.1f} ms") for name, value in ms.items()]
    rows += [
        ("webhook delivery", f"{costs.webhook_cpu_ms:.1f} ms"),
        ("memory: analysis slot, API process", f"{costs.analysis_memory_mb:.0f} MB, {costs.api_memory_mb:.0f} MB"),
        (
            "database, per job: rows, indexes",
            f"{database.row_bytes_per_job / 1000:.1f} kB, {database.index_bytes_per_job / 1000:.1f} kB",
        ),
        ("result as JSON", f"{database.result_bytes / 1000:.1f} kB"),
        (
            "database, one recording a day for a year",
            f"{365 * (database.row_bytes_per_job + database.index_bytes_per_job) / 1e6:.1f} MB",
        ),
        (
            "PostgreSQL, per job",
            f"{worker.writes_per_job:.0f} writing transactions, {worker.wal_bytes_per_job / 1000:.0f} kB of log",
        ),
        ("PostgreSQL, an API process and two idle workers", f"{worker.idle_commits_per_s:.0f} commits/s"),
    ]
    rows += [
        (f"store, {kind}", f"{size / 1e6:.2f} MB a minute") for kind, size in costs.recording_bytes_per_minute.items()
    ]
    return f"## Measured costs\n\nBy `{costs.measured['command']}` ({where}).\n\n{_table(('cost', 'measured'), rows)}"


def _requirements_table(loads: Sequence[Requirements]) -> str:
    rows = [
        ("submits in the busiest minute", *(f"{n.peak_per_s:,.0f}/s" for n in loads)),
        ("requests in the busiest minute", *(f"{n.requests_per_s:,.0f}/s" for n in loads)),
        ("analysis slots (cores)", *(f"{n.slots:,}" for n in loads)),
        ("worker machines of 8 cores", *(f"{n.workers:,}" for n in loads)),
        ("API processes", *(f"{n.api_processes:,}" for n in loads)),
        (
            "wait for the start: 50, 95, 99 %",
            *("{:.0f}, {:.0f}, {:.0f} s".format(*n.wait_percentiles_s) for n in loads),
        ),
        ("recordings a day", *(f"{n.recording_minutes / 60:,.0f} h" for n in loads)),
        ("store, recordings of 30 days", *(f"{n.stored_tb:,.1f} TB" for n in loads)),
        ("network, recordings in and out", *(f"{n.traffic_mb_per_s:,.0f} MB/s" for n in loads)),
    ]
    return f"## Required resources\n\n{_table(('', *map(_load_heading, loads)), rows)}"


def _loads_table(loads: Sequence[Requirements], assumptions: Assumptions) -> str:
    rows = [
        (part.name, f"{part.limit:,.0f} {part.unit}", *(_bold_beyond(n.demand[name], part.limit) for n in loads))
        for name, part in assumptions.parts.items()
    ]
    table = _table(("part", "limit", *map(_load_heading, loads)), rows)
    return f"## Load on each part\n\nBold: beyond the limit.\n\n{table}"


def _breaking_points_table(breaking: Sequence[BreakingPoint]) -> str:
    rows = [
        (
            str(place),
            b.part.name,
            "never" if isinf(b.per_day) else f"{_round(b.per_day / 1e6)} million a day",
            b.part.why,
            b.part.remedy,
        )
        for place, b in enumerate(breaking, 1)
    ]
    return f"## What breaks first\n\n{_table(('', 'part', 'breaks at', 'reason of the limit', 'remedy'), rows)}"


def _prediction_table(check: BatchPrediction, costs: Costs) -> str:
    real = costs.worker.real_run
    rows = [
        ("time until the last job ended", f"{check.predicted_makespan_s:.1f} s", f"{check.measured_makespan_s:.1f} s"),
        ("mean wait", f"{check.predicted_mean_wait_s:.1f} s", f"{check.measured_mean_wait_s:.1f} s"),
    ]
    batch = f"A batch of {real.jobs} recordings on {real.workers} real workers"
    text = f"{batch}; the prediction uses the run times of one worker."
    return f"## Check against a real run\n\n{text}\n\n{_table(('', 'simulated', 'measured'), rows)}"


def _load_heading(n: Requirements) -> str:
    return f"{n.per_day / 1e6:,.0f} million a day"


def _bold_beyond(demand: float, limit: float) -> str:
    text = _round(demand)
    return f"**{text}**" if demand > limit else text


def _round(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
