"""Measure the cost of a recording: `python tests/benchmarks/capacity_costs.py [--write]`.

All inputs of `vbdesk simulate capacity`: processor time of analyses and of requests, memory of a slot, rows and log of
the database, bytes of recordings. `--write` stores them in resources/service/capacity.json, with the date, the machine
and the versions.
"""

import argparse
import http.server
import json
import os
import platform
import resource as limits
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import av
import numpy as np
import soundfile
from cluster_batch import Batch, run_batches
from cluster_stage import DIALOGUE, PER_GROUP, SPEECH, Filled, cpu_s, descendants, filled_services, request_for

from vbdesk.resource_files import resource
from vbdesk.service.engine.analysis import analyse_file, prepare
from vbdesk.service.kernel.address_guard import AddressGuard
from vbdesk.service.webhooks.sender import WebhookSender

LENGTHS_S = (20, 60, 120)
READS = 150
SUBMITS = 20
COMMAND = "python tests/benchmarks/capacity_costs.py --write"


def analysis_costs() -> tuple[dict[str, Any], int]:
    """Processor seconds per recording and per minute of it, and memory, measured in a child process."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_analyse_in_child)


def _analyse_in_child() -> tuple[dict[str, Any], int]:
    prepare()
    costs: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        cases = [(target, SPEECH, False) for target in ("pulse", "haven", "stress")] + [("pulse", DIALOGUE, True)]
        for target, source, diarize in cases:
            samples, rate = soundfile.read(source, dtype="float32")
            spent_s = []
            for length_s in LENGTHS_S:
                path = Path(name) / f"{source.stem}-{length_s}.flac"
                soundfile.write(path, np.tile(samples, 10)[: length_s * rate], rate)
                request = request_for(target, diarize=diarize)
                with path.open("rb") as recording:
                    spent_s.append(min(_cpu_of(lambda: analyse_file(recording, request)) for _ in range(2)))  # noqa: B023
            per_s, fixed_s = np.polyfit(LENGTHS_S, spent_s, 1)
            label = f"{target}, diarized" if diarize else target
            costs[label] = {"fixed_cpu_s": round(max(0.0, fixed_s), 4), "cpu_s_per_minute": round(60 * per_s, 4)}
    return costs, round(limits.getrusage(limits.RUSAGE_SELF).ru_maxrss / 1024)


def _cpu_of(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def request_costs(service: Filled) -> dict[str, float]:
    """Milliseconds of processor time per request of the API and its children, on PostgreSQL."""
    group = f"/v2/groups/subject-{service.groups // 2:05d}"
    paths = {
        "poll": f"/v2/jobs/{service.job_id}",
        "job list": "/v2/jobs",
        "trajectory": f"{group}/longitudinal",
    }
    costs = {}
    for name, path in paths.items():
        costs[name] = _cpu_ms(service, lambda: service.get(path), READS)  # noqa: B023
    boundary = "vbdesk-costs"
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="audio"; filename="a.flac"\r\n\r\n'
    body = head.encode() + SPEECH.read_bytes() + f"\r\n--{boundary}--\r\n".encode()
    kind = f"multipart/form-data; boundary={boundary}"
    service.post("/v2/models/pulse/analyze", body, kind)  # children start with the first
    costs["submit"] = _cpu_ms(service, lambda: service.post("/v2/models/pulse/analyze", body, kind), SUBMITS)
    costs["trajectory, computed"] = _recompute_ms(service)
    return {name: round(ms, 2) for name, ms in costs.items()}


def _cpu_ms(service: Filled, ask: Callable[[], object], times: int) -> float:
    pids = [service.process.pid, *descendants(service.process.pid)]
    before = cpu_s(pids)
    for _ in range(times):
        ask()
    return 1000 * (cpu_s(pids) - before) / times


def _recompute_ms(service: Filled) -> float:
    """The same for a trajectory whose group changed since it was computed."""
    asked = 20
    groups = iter(range(asked))
    return _cpu_ms(service, lambda: service.get(f"/v2/groups/subject-{next(groups):05d}/longitudinal"), asked)


def database_costs(service: Filled) -> dict[str, float]:
    """Bytes of rows, indexes and result text per finished job, with its ledger, group and webhook rows."""
    count = service.groups * PER_GROUP
    with service.database.reading() as connection:
        heap, index = connection.exec_driver_sql(
            "SELECT sum(pg_table_size(oid)), sum(pg_indexes_size(oid)) FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        ).one()
        result = connection.exec_driver_sql("SELECT avg(octet_length(result)) FROM jobs").scalar_one()
    return {
        "row_bytes_per_job": round(float(heap) / count),
        "index_bytes_per_job": round(float(index) / count),
        "result_bytes": round(float(result)),
    }


def recording_bytes() -> dict[str, int]:
    """Bytes per minute of speech, mono at 44.1 kHz, by format."""
    samples, rate = soundfile.read(SPEECH, dtype="float32")
    with tempfile.TemporaryDirectory() as name:
        sizes = {}
        for kind in ("wav", "flac", "mp3", "m4a"):
            path = Path(name) / f"a.{kind}"
            if kind in ("wav", "flac"):
                soundfile.write(path, samples, rate, subtype="PCM_16")
            else:
                _encode(path, samples, rate, {"mp3": "mp3", "m4a": "aac"}[kind])
            sizes[kind] = round(path.stat().st_size * 60 * rate / len(samples))
    return sizes


def _encode(path: Path, samples: np.ndarray, rate: int, codec: str) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate, layout="mono")
        stream.bit_rate = 128_000
        frame = av.AudioFrame.from_ndarray(samples[None, :].astype(np.float32), format="fltp", layout="mono")
        frame.sample_rate = rate
        resampler = av.AudioResampler(format=stream.format, layout="mono", rate=rate, frame_size=stream.frame_size)
        for part in [*resampler.resample(frame), *resampler.resample(None)]:
            container.mux(stream.encode(part))
        container.mux(stream.encode(None))


def webhook_ms(body_bytes: int) -> float:
    """Milliseconds of processor time per webhook delivery to a receiver on this machine."""

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sender = WebhookSender(AddressGuard(allow_private=True))
        body, url = b"x" * body_bytes, f"http://127.0.0.1:{server.server_port}/hook"
        spent = [1000 * _cpu_of(lambda: sender.post(url, body, {}, "account")) for _ in range(30)]
        server.shutdown()
    return round(statistics.median(spent), 2)


def batch_costs(one: Batch, two: Batch) -> dict[str, Any]:
    """A run by real workers: the cost besides the analysis, and the run to check the simulation."""
    return {
        "worker_cpu_s_per_job": round(one.keeping_cpu_s, 4),
        "writes_per_job": round(max(1.0, two.writes), 1),
        "wal_bytes_per_job": round(two.wal_bytes),
        "idle_commits_per_s": round(two.idle_commits_per_s, 2),
        "real_run": {
            "workers": two.workers,
            "jobs": len(two.waits_s),
            "makespan_s": round(two.makespan_s, 2),
            "mean_wait_s": round(statistics.mean(two.waits_s), 2),
            "p95_wait_s": round(statistics.quantiles(two.waits_s, n=20)[-1], 2),
            "run_s": [round(run_s, 3) for run_s in two.runs_s],
            "one_worker_makespan_s": round(one.makespan_s, 2),
            "one_worker_run_s": [round(run_s, 3) for run_s in one.runs_s],
        },
    }


def measured(groups: int, batch: int, only_batch: bool) -> dict[str, Any]:
    """Measure every cost; with `only_batch` only those of the workers, the others as stored."""
    if only_batch:
        costs: dict[str, Any] = json.loads(resource("service", "capacity.json").read_text("utf-8"))
        return {**costs, "worker": batch_costs(*run_batches(batch))}
    analyses, memory_mb = analysis_costs()
    costs = {
        "measured": {
            "date": datetime.now(UTC).date().isoformat(),
            "command": COMMAND,
            "machine": f"{os.cpu_count()} cores, {_processor()}, load {os.getloadavg()[0]:.0f}",
            "python": platform.python_version(),
        },
        "analysis": analyses,
        "analysis_memory_mb": memory_mb,
        "recording_bytes_per_minute": recording_bytes(),
    }
    with filled_services(groups, full_only=True) as services:
        service = services["postgresql full"]
        costs["request_cpu_ms"] = request_costs(service)
        costs["database"] = database_costs(service)
        costs["api_memory_mb"] = round(_resident_mb(service.process.pid))
        with service.database.reading() as connection:
            costs["measured"]["postgresql"] = connection.exec_driver_sql("SHOW server_version").scalar_one()
    costs["webhook_cpu_ms"] = webhook_ms(int(costs["database"]["result_bytes"]))
    costs["worker"] = batch_costs(*run_batches(batch))
    return costs


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024**2


def main() -> None:
    """Print the costs, and write them with `--write`."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--write", action="store_true")
    asked.add_argument("--only-batch", action="store_true")
    asked.add_argument("--groups", type=int, default=50)
    asked.add_argument("--batch", type=int, default=20)
    options = asked.parse_args()
    text = json.dumps(measured(options.groups, options.batch, options.only_batch), indent=2) + "\n"
    if options.write:
        (resource("service") / "capacity.json").write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
