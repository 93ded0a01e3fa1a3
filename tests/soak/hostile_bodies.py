"""A thousand hostile bodies against a real service: `python tests/soak/hostile_bodies.py [--count N] [--seed N]`.

Each must be refused with a sentence or do no harm. The service must answer and analyse afterwards, without a stack
trace in its log. During the second half the memory of the serving process must be steady (child processes may come and
go). Prints figures as JSON; exits with 1 on any violation.
"""

import argparse
import collections
import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "service" / "support"))

import hostile_bodies
from served import Served, proportional_mb, upload, wait_for_end

import patience  # whose path `served` adds

PER_ACCOUNT = 400  # the plan's limit is 500 a minute
WEIGH_EVERY = 20
MAY_CREEP_MB = 5.0
patience.HANGS_S = 1800.0  # a third of the bodies are harmless, and analysed first
SPEECH = hostile_bodies.DATA / "speech_kathleen_20s.flac"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="vbdesk-hostile-"))
    service = Served(folder)
    service.start()
    try:
        service.make_account(10**6)
        analysed(service)
        figures = torment(service, hostile_bodies.hostile_bodies(options.count, options.seed))
        print(json.dumps(figures), file=sys.stderr, flush=True)  # in case the rest fails
        service.make_account(1000)
        figures["analyses_afterwards"] = analysed(service)
    finally:
        service.stop()
    log = service.log.read_text()
    figures |= {"seed": options.seed, "stack_traces": log.count("Traceback"), "log_lines": log.count("\n")}
    print(json.dumps(figures, indent=1))
    steady = figures["crept_mb"] <= MAY_CREEP_MB
    good = steady and not figures["faults"] and not figures["stack_traces"] and figures["analyses_afterwards"]
    if good:
        shutil.rmtree(folder)
    else:
        print(f"kept for a look: {folder}", file=sys.stderr)
    return 0 if good else 1


def torment(service: Served, bodies: list[hostile_bodies.HostileBody]) -> dict[str, object]:
    codes: collections.Counter[str] = collections.Counter()
    faults, slowest, started = [], (0.0, ""), time.monotonic()
    memory_mb = [proportional_mb(service.pid)]
    for start in range(0, len(bodies), PER_ACCOUNT):
        service.make_account(10**6)
        with service.client() as client:
            for number, hostile in enumerate(bodies[start : start + PER_ACCOUNT]):
                if number % WEIGH_EVERY == WEIGH_EVERY - 1:
                    memory_mb.append(proportional_mb(service.pid))
                began = time.monotonic()
                try:
                    answer = client.post(
                        "/v2/signs/stress/analyze", content=hostile.body, headers={"Content-Type": hostile.content_type}
                    )
                except httpx.TransportError as error:
                    faults.append(f"{hostile.name}: {error}")
                    continue
                slowest = max(slowest, (round(time.monotonic() - began, 2), hostile.name))
                code = "accepted" if answer.status_code == 200 else answer.json()["code"]
                codes[code] += 1
                if answer.status_code >= 500 or answer.status_code == 429 or "Traceback" in answer.text:
                    faults.append(hostile.name)
            if client.get("/healthz").status_code != 200:
                faults.append("healthz")
    seconds = round(time.monotonic() - started, 1)
    return {
        "bodies": len(bodies),
        "seconds": seconds,
        "codes": codes,
        "slowest": slowest,
        "faults": faults,
        "serving_process_mb": [round(memory_mb[0]), round(memory_mb[len(memory_mb) // 2]), round(memory_mb[-1])],
        "all_processes_mb": round(service.memory_mb()),
        "crept_mb": round(crept(memory_mb), 1),
    }


def crept(memory_mb: list[float]) -> float:
    """Difference between the medians of the third and the last quarter: memory must be steady after the first half."""
    quarter = max(1, len(memory_mb) // 4)
    return statistics.median(memory_mb[-quarter:]) - statistics.median(memory_mb[-2 * quarter : -quarter])


def analysed(service: Served) -> bool:
    """Whether an ordinary recording is analysed."""
    with service.client() as client:
        answer = client.post(
            "/v2/signs/stress/analyze", files={"audio_upload_ref": (None, upload(client, SPEECH, "audio/flac"))}
        )
        return bool(wait_for_end(client, answer.raise_for_status().json()["job_id"])["status"] == "done")


if __name__ == "__main__":
    sys.exit(main())
