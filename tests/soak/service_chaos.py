"""Kill the service repeatedly while clients submit; then check that nothing was lost, stuck or charged twice.

    python tests/soak/service_chaos.py [--seconds 120] [--clients 3] [--seed 1]

Prints one JSON object; exits with 0 if every figure is right.
"""

import argparse
import collections
import http.server
import json
import random
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "service" / "support")]

from served import Served, upload  # noqa: E402

from free_ports import free_port  # noqa: E402
from vbdesk.contract.webhooks import signature_matches  # noqa: E402

RECORDING = ROOT / "tests" / "data" / "speech_kathleen_20s.flac"
CREDITS = 1_000_000
PRICE = 10  # one sign
SECRET = "soak secret"
SETTLE_LIMIT_S = 240
POLLS_PER_MINUTE = 800  # below the plan's limit
TERMINAL = ("done", "failed", "timed-out", "lost")


class Receiver:
    """Receives webhooks; refuses the first attempt of every third job."""

    def __init__(self, seed: int) -> None:
        self.received: collections.Counter[str] = collections.Counter()
        self.forged = 0
        self._refused: set[str] = set()
        self._random = random.Random(seed)
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(receiver.take(body, self.headers["X-Webhook-Signature"]))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/"

    def take(self, body: bytes, signature: str) -> int:
        if not signature_matches(body, SECRET, signature):
            self.forged += 1
        job_id = json.loads(body)["job_id"]
        if job_id not in self._refused and self._random.random() < 1 / 3:
            self._refused.add(job_id)
            return 503
        self.received[job_id] += 1
        return 200


class Submitter(threading.Thread):
    """One client: keeps submitting, and repeats unanswered requests with the same idempotency key."""

    def __init__(self, number: int, service: Served, reference: str, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.accepted: list[str] = []
        self.unanswered = 0
        self.refused: collections.Counter[int] = collections.Counter()
        self._number = number
        self._service = service
        self._reference = reference
        self._ending = stop

    def run(self) -> None:
        count = 0
        with self._service.client() as client:
            while not self._ending.is_set():
                count += 1
                self._submit(client, f"{self._number}-{count}", longitudinal=count % 2 == 0)
                self._ending.wait(1.0)

    def _submit(self, client: httpx.Client, key: str, *, longitudinal: bool) -> None:
        path = "/v2/signs/stress/analyze"
        if longitudinal:
            path = f"/v2/signs/stress/groups/subject-{self._number}/analyze/longitudinal"
        while True:
            try:
                form = {"audio_upload_ref": (None, self._reference)}
                answer = client.post(path, files=form, headers={"Idempotency-Key": key})
            except httpx.HTTPError:
                self.unanswered += 1
                time.sleep(0.3)
                continue
            if answer.status_code == 200:
                self.accepted.append(answer.json()["job_id"])
            else:
                self.refused[answer.status_code] += 1
            return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="vbdesk-soak-"))
    service = Served(folder, port=free_port(), storage_port=free_port(), workers=2, allow_private_addresses="true")
    receiver = Receiver(options.seed)
    try:
        service.start()
        service.make_account(CREDITS)
        submitters, kills = torment(service, receiver, options)
        figures = settle(service, receiver, submitters)
    finally:
        service.stop()
        receiver.server.shutdown()
    figures = {"seed": options.seed, "kills": kills, **figures, **ledger(service.data_dir / "vbdesk.db")}
    print(json.dumps(figures, indent=1))
    good = not any(figures[name] for name in ("lost", "stuck", "not_done", "refused", "unreported", "forged", "faults"))
    if good:
        shutil.rmtree(folder)
    else:
        print(f"kept for a look: {folder}", file=sys.stderr)
    return 0 if good else 1


def torment(service: Served, receiver: Receiver, options: argparse.Namespace) -> tuple[list[Submitter], int]:
    """Let clients submit while the service is killed every few seconds."""
    chance = random.Random(options.seed)
    stop = threading.Event()
    with service.client() as client:
        reference = upload(client, RECORDING, "audio/flac")
        hook = {"url": receiver.url, "secret_key": SECRET}
        client.post("/v2/account/webhook", json=hook).raise_for_status()
    submitters = [Submitter(number, service, reference, stop) for number in range(options.clients)]
    for submitter in submitters:
        submitter.start()
    ends_at, kills = time.monotonic() + options.seconds, 0
    while time.monotonic() < ends_at:
        time.sleep(chance.uniform(1.0, 8.0))
        service.kill()
        kills += 1
        service.start()
    stop.set()
    for submitter in submitters:
        submitter.join()
    return submitters, kills


def settle(service: Served, receiver: Receiver, submitters: list[Submitter]) -> dict[str, Any]:
    """Wait until every job has ended and was reported, and count the violations."""
    accepted = [job_id for submitter in submitters for job_id in submitter.accepted]
    started = time.monotonic()
    with service.client() as client:
        statuses = dict.fromkeys(accepted, "queued")
        while time.monotonic() - started < SETTLE_LIMIT_S:
            for job in [job for job, status in statuses.items() if status not in TERMINAL]:
                statuses[job] = status_of(client, job)
                time.sleep(60 / POLLS_PER_MINUTE)
            if all(status in TERMINAL for status in statuses.values()) and all(map(receiver.received.get, accepted)):
                break
            time.sleep(1)
        credits = client.get("/v2/account/credits").json()["credits"]
    done = sum(status == "done" for status in statuses.values())
    return {
        "accepted": len(accepted),
        "unanswered_tries": sum(submitter.unanswered for submitter in submitters),
        "refused": sum((submitter.refused for submitter in submitters), collections.Counter()).total(),
        "settled_after_s": round(time.monotonic() - started, 1),
        "lost": sum(status == "lost" for status in statuses.values()),
        "stuck": sum(status in ("queued", "running") for status in statuses.values()),
        "done": done,
        "not_done": len(accepted) - done,
        "unreported": sum(not receiver.received[job] for job in accepted),
        "reported_twice": sum(receiver.received[job] > 1 for job in accepted),
        "forged": receiver.forged,
        "credits": credits,
    }


def status_of(client: httpx.Client, job_id: str) -> str:
    answer = client.get(f"/v2/jobs/{job_id}")
    return "lost" if answer.status_code == 404 else str(answer.raise_for_status().json()["status"])


def ledger(database: Path) -> dict[str, Any]:
    """Check the ledger: every job held once and settled once by its outcome, and the balance is the sum."""
    with sqlite3.connect(database) as connection:
        jobs = dict(connection.execute("SELECT job_id, status FROM jobs"))
        entries = connection.execute("SELECT job_id, kind, delta FROM credit_entries").fetchall()
        [balance] = connection.execute("SELECT credits FROM credit_balances").fetchone()
        [most_starts] = connection.execute("SELECT max(starts) FROM jobs").fetchone()
        [run_again] = connection.execute("SELECT count(*) FROM jobs WHERE starts > 1").fetchone()
    kinds = collections.defaultdict(list)
    for job_id, kind, _ in entries:
        kinds[job_id].append(kind)
    faults = [
        job_id
        for job_id, status in jobs.items()
        if sorted(kinds[job_id]) != sorted(["hold", "capture" if status == "done" else "release"])
    ]
    if balance != sum(delta for *_, delta in entries) or balance != CREDITS - PRICE * list(jobs.values()).count("done"):
        faults.append("balance")
    return {
        "jobs_in_database": len(jobs),
        "run_again": run_again,
        "most_starts": most_starts,
        "ledger_exact": not faults,
        "faults": faults,
    }


if __name__ == "__main__":
    sys.exit(main())
