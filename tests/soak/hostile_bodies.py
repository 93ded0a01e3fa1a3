"""A thousand hostile bodies against a real service: `python tests/soak/hostile_bodies.py [--count N] [--seed N]`.

Every one must be refused in words or do no harm, the service must answer and analyse afterwards, its log must hold no
stack trace and its memory must not creep. Prints the figures as JSON; 1 if anything is not as it must be.
"""

import argparse
import collections
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "service" / "jobs"))
sys.path.insert(0, str(Path(__file__).parents[1] / "service"))

import hostile_bodies
from served import Served, upload, wait_for_end

PER_ACCOUNT = 400  # the plan's limit is 500 a minute
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
        memory_before = memory_mb(service)
        figures = torment(service, hostile_bodies.hostile_bodies(options.count, options.seed))
        figures["memory_mb"] = [memory_before, memory_mb(service)]
        service.make_account(1000)
        figures["analyses_afterwards"] = analysed(service)
    finally:
        service.stop()
    log = service.log.read_text()
    figures |= {"seed": options.seed, "stack_traces": log.count("Traceback"), "log_lines": log.count("\n")}
    print(json.dumps(figures, indent=1))
    good = not figures["faults"] and not figures["stack_traces"] and figures["analyses_afterwards"]
    if good:
        shutil.rmtree(folder)
    else:
        print(f"kept for a look: {folder}", file=sys.stderr)
    return 0 if good else 1


def torment(service: Served, bodies: list[hostile_bodies.HostileBody]) -> dict[str, object]:
    codes: collections.Counter[str] = collections.Counter()
    faults, slowest, started = [], (0.0, ""), time.monotonic()
    for start in range(0, len(bodies), PER_ACCOUNT):
        service.make_account(10**6)
        with service.client() as client:
            for hostile in bodies[start : start + PER_ACCOUNT]:
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
    return {"bodies": len(bodies), "seconds": seconds, "codes": codes, "slowest": slowest, "faults": faults}


def analysed(service: Served) -> bool:
    """Whether an ordinary recording is analysed."""
    with service.client() as client:
        answer = client.post(
            "/v2/signs/stress/analyze", files={"audio_upload_ref": (None, upload(client, SPEECH, "audio/flac"))}
        )
        return bool(wait_for_end(client, answer.raise_for_status().json()["job_id"], 600)["status"] == "done")


def memory_mb(service: Served) -> float:
    """Resident memory of the service and its children."""
    pid = service.pid
    pids = [str(pid), *subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()]
    listed = subprocess.run(["ps", "-o", "rss=", "-p", ",".join(pids)], capture_output=True, text=True)
    return round(sum(map(int, listed.stdout.split())) / 1024, 1)


if __name__ == "__main__":
    sys.exit(main())
