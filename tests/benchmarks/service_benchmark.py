"""How quick and how large the service is: `python tests/benchmarks/service_benchmark.py`.

All figures are of one run on one computer, so that they can be set against each other; the bars stand beside them.

- Reads: `GET /v2/jobs/{id}` (credentials, rate limit, database) against a bare FastAPI route on the same server.
- Submits while every worker is busy, by an upload of 1 MB.
- From a submit to the start of its analysis, when idle.
- Memory when idle: of the API's process, and of all processes together (shared pages counted once).
- Memory while 20 callers upload 32 MB each at once, over what it was before.
"""

import http.client
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import soundfile

sys.path.append(str(Path(__file__).parents[1] / "service" / "support"))

from served import Served, proportional_mb, upload

SPEECH = Path(__file__).parents[1] / "data" / "speech_kathleen_20s.flac"
PLENTY = json.dumps({"enterprise": dict.fromkeys(("general", "analyze", "polling"), 10**9)})
MEGABYTE = 1024**2
READ_S = 2.0
TURNS = 7
CALLERS = 4
BARE = """
import asyncio, sys
from fastapi import FastAPI
from vbdesk.service.composition.servers import bind, origin_of, run_servers
app = FastAPI()
@app.get("/bare")
def bare() -> dict[str, str]:
    return {"status": "ok"}
bound = bind("127.0.0.1", 0)
asyncio.run(run_servers([(app, bound)], asyncio.Event(), lambda: print(origin_of(bound), flush=True)))
"""


def main() -> None:
    """Print every figure."""
    folder = Path(tempfile.mkdtemp(prefix="vbdesk-benchmark-"))
    service = Served(folder, workers=1, rate_limits=PLENTY)
    service.start()
    try:
        service.make_account(10**9)
        time.sleep(5)  # children warm up
        print_idle_memory(service)
        print_starts(service)
        print_reads(service)
        print_submits_when_busy(service)
        print_uploads(service)
    finally:
        service.stop()
        shutil.rmtree(folder)


def print_idle_memory(service: Served) -> None:
    alone, together = proportional_mb(service.pid), service.memory_mb()
    resident = sum(map(resident_mb, service.processes()))
    print(
        f"memory when idle: API {alone:.0f} MB, all processes {together:.0f} MB (bar 250); "
        f"counting shared pages in every process {resident:.0f} MB"
    )


def print_starts(service: Served) -> None:
    waits_ms = []
    with service.client() as client:
        reference = upload(client, SPEECH, "audio/flac")
        for _ in range(20):
            job_id = submit(client, reference)
            submitted = time.perf_counter()
            while status(client, job_id) == "queued":
                time.sleep(0.002)
            waits_ms.append(1000 * (time.perf_counter() - submitted))
            while status(client, job_id) == "running":
                time.sleep(0.02)
            time.sleep(0.3)
    print(f"from submit to start when idle: median {statistics.median(waits_ms):.0f} ms (bar 100), {spread(waits_ms)}")


def print_reads(service: Served) -> None:
    with service.client() as client:
        job_id = submit(client, upload(client, SPEECH, "audio/flac"))
        while status(client, job_id) != "done":
            time.sleep(0.05)
    with subprocess.Popen([sys.executable, "-c", BARE], stdout=subprocess.PIPE, text=True) as bare:
        assert bare.stdout is not None
        bare_url = bare.stdout.readline().strip()
        turns = []
        for _ in range(TURNS):  # one after the other, so that a disturbance hits both
            plain = requests_per_second(bare_url, "/bare", {})
            turns.append((requests_per_second(service.base_url, f"/v2/jobs/{job_id}", service.headers), plain))
        bare.kill()
    job, plain = (statistics.median(rates) for rates in zip(*turns, strict=True))
    ratios = [job_rate / plain_rate for job_rate, plain_rate in turns]
    print(
        f"reads of a finished job: {job:.0f}/s, bare route {plain:.0f}/s; of {TURNS} turns the median ratio is "
        f"{statistics.median(ratios):.2f} (bar 0.5), from {min(ratios):.2f} to {max(ratios):.2f}"
    )


def print_submits_when_busy(service: Served) -> None:
    samples = 0.1 * np.random.default_rng(0).standard_normal(33 * 16_000)
    file = io.BytesIO()
    soundfile.write(file, samples, 16_000, format="WAV")
    recording = service.data_dir.parent / "megabyte.wav"
    recording.write_bytes(file.getvalue())
    with service.client() as client:
        reference = upload(client, recording, "audio/wav")
        for _ in range(30):  # more than a minute's work for the one worker
            submit(client, reference, "/v2/models/apex/analyze")
        times_ms = []
        for _ in range(40):
            began = time.perf_counter()
            submit(client, reference)
            times_ms.append(1000 * (time.perf_counter() - began))
            time.sleep(0.05)
    print(f"submit while the worker is busy: median {statistics.median(times_ms):.0f} ms (bar 50), {spread(times_ms)}")


def print_uploads(service: Served, callers: int = 20) -> None:
    body = os.urandom(32 * MEGABYTE)
    with service.client() as client:
        grants = [
            client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).raise_for_status().json()
            for _ in range(callers)
        ]
    before = service.memory_mb()
    stop, peak = threading.Event(), [before]

    def watch() -> None:
        while not stop.wait(0.02):
            peak[0] = max(peak[0], service.memory_mb())

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    with ThreadPoolExecutor(callers) as pool:
        answers = list(pool.map(lambda grant: put(grant, body), grants))
    seconds = time.perf_counter() - began
    stop.set()
    watcher.join()
    assert answers == [200] * callers, answers
    print(f"{callers} uploads of 32 MB at once: {peak[0] - before:.0f} MB more memory (bar 200), {seconds:.1f} s")


def put(grant: dict[str, object], body: bytes) -> int:
    url = urlsplit(str(grant["upload_url"]))
    connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=120)
    connection.request("PUT", f"{url.path}?{url.query}", body, headers=dict(grant["required_headers"]))  # type: ignore[call-overload]
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def submit(client, reference: str, path: str = "/v2/signs/stress/analyze") -> str:
    answer = client.post(path, files={"audio_upload_ref": (None, reference)})
    job_id: str = answer.raise_for_status().json()["job_id"]
    return job_id


def status(client, job_id: str) -> str:
    answer: str = client.get(f"/v2/jobs/{job_id}").raise_for_status().json()["status"]
    return answer


def requests_per_second(base_url: str, path: str, headers: dict[str, str]) -> float:
    """What a few callers with kept-alive connections get, from a process of their own."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(call_for_a_while, (base_url, path, headers))


def call_for_a_while(base_url: str, path: str, headers: dict[str, str]) -> float:
    url = urlsplit(base_url)
    ends_at = time.perf_counter() + READ_S

    def call(_: int) -> int:
        connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=20)
        count = 0
        while time.perf_counter() < ends_at:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            answer.read()
            count += 1
        connection.close()
        return count

    with ThreadPoolExecutor(CALLERS) as pool:
        return sum(pool.map(call, range(CALLERS))) / READ_S


def resident_mb(pid: int) -> float:
    """Memory of a process with all that it shares (Linux)."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


def spread(values: list[float]) -> str:
    ordered = sorted(values)
    return f"from {ordered[0]:.0f} to {ordered[-1]:.0f}"


if __name__ == "__main__":
    main()
