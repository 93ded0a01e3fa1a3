"""Upgrade a service under load from an older release to this one, and count the requests that failed.

    python tests/soak/rolling_upgrade.py [--old 3d657cd7] [--seconds 8]

The older release, checked out into a separate folder, serves on PostgreSQL while clients submit and read. Then this
release migrates the database, its processes start, and the older one is removed from the load balancing and stopped.
Prints one JSON object; exits with 0 if no request failed and every job ended as it should.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "tests" / "service" / room) for room in ("cluster", "support")]
sys.path.append(str(ROOT / "tests"))

from own_postgresql import OwnPostgresql  # noqa: E402
from round_robin import RoundRobin  # noqa: E402
from served import Served, VbdeskProcess, operate  # noqa: E402

from vbdesk.contract.ids import new_id  # noqa: E402
from vbdesk.service.accounts.service import hash_of, new_api_key, new_secret_key  # noqa: E402
from vbdesk.service.health.doctor import run_checks  # noqa: E402
from vbdesk.service.health.findings import Health  # noqa: E402

RECORDING = (ROOT / "tests" / "data" / "speech_kathleen_20s.flac").read_bytes()
OLDEST = "3d657cd7"
"""The oldest version whose database this one opens."""
CREDITS, PRICE = 1_000_000, 10
SETTLE_LIMIT_S = 180


class Load:
    """Clients that submit and read; every request is counted, and the slowest kept."""

    def __init__(self, origin: str, headers: dict[str, str]) -> None:
        self.requests: Counter[str] = Counter()
        self.failed: list[str] = []
        self.accepted: list[str] = []
        self.slowest_s: dict[str, float] = {}
        self.phase = "old alone"
        self._origin, self._headers = origin, headers
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._submit, self._read)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _submit(self) -> None:
        count = 0
        while not self._stop.wait(0.4):
            count += 1
            path = "/v2/signs/stress/analyze"
            if count % 2:
                path = f"/v2/signs/stress/groups/subject-{count % 3}/analyze/longitudinal"
            answer = self._ask("POST", path, files={"audio": ("take.flac", RECORDING, "audio/flac")})
            if answer is not None:
                self.accepted.append(answer.json()["job_id"])

    def _read(self) -> None:
        while not self._stop.wait(0.1):
            self._ask("GET", "/v2/jobs")
            if self.accepted:
                self._ask("GET", f"/v2/jobs/{self.accepted[-1]}")

    def _ask(self, method: str, path: str, **more: Any) -> httpx.Response | None:
        """One request on a new connection, as from an occasional caller."""
        self.requests[self.phase] += 1
        phase, started = self.phase, time.monotonic()
        try:
            with httpx.Client(base_url=self._origin, headers=self._headers, timeout=30, trust_env=False) as client:
                answer = client.request(method, path, **more)
        except httpx.HTTPError as error:
            self.failed.append(f"{phase}: {method} {type(error).__name__}")
            return None
        finally:
            self.slowest_s[phase] = round(max(self.slowest_s.get(phase, 0.0), time.monotonic() - started), 2)
        if answer.status_code != 200:
            self.failed.append(f"{phase}: {method} {answer.status_code} {answer.text[:200]}")
            return None
        return answer


def check_out(commit: str, folder: Path) -> None:
    """The older release's files, without changing the repository."""
    archive = subprocess.run(["git", "archive", commit, "src", "resources"], cwd=ROOT, check=True, capture_output=True)
    folder.mkdir()
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)


def start_old(folder: Path, release: Path, database_url: str) -> Served:
    folder.mkdir()
    old = Served(folder, workers=1, database_url=database_url)
    old.add_to_environment(PYTHONPATH=str(release / "src"))  # comes before the present release
    old.start()
    return old


def start_new(folder: Path, old: Served, database_url: str) -> tuple[VbdeskProcess, VbdeskProcess]:
    """An API process and a worker of this release, on the same files and keys."""
    made = []
    for name, *command in (
        ("api", "serve", "--workers", "0", "--port", "0", "--storage-port", "0"),
        ("worker", "worker"),
    ):
        data_dir = folder / name / "data"
        data_dir.mkdir(parents=True)
        (data_dir / "objects").symlink_to(old.data_dir / "objects")
        shutil.copy(old.data_dir / "secrets", data_dir / "secrets")
        options = ["--workers", "1"] if name == "worker" else []
        made.append(
            VbdeskProcess(
                folder / name,
                *command,
                *options,
                "--data-dir",
                data_dir,
                environment={"VBDESK_DATABASE_URL": database_url},
            )
        )
    for process in made:
        process.launch()
    for process in made:
        process.wait_ready()
    api, worker = made
    return api, worker


def rehearse(folder: Path, commit: str, seconds: float) -> dict[str, Any]:
    with ExitStack() as stack:
        check_out(commit, folder / "release")
        database = OwnPostgresql()
        stack.callback(database.close)
        url = database.make_database("upgrade")
        old = start_old(folder / "old", folder / "release", url)
        stack.callback(old.kill)
        os.environ["VBDESK_DATABASE_URL"] = url
        before = database.execute("upgrade", "SELECT version_num FROM alembic_version")[0][0]
        proxy = RoundRobin()
        stack.callback(proxy.close)
        proxy.servers.append(address_of(old))
        headers = make_account(database)
        load = Load(proxy.origin, headers)
        load.start()
        time.sleep(seconds)

        load.phase = "migration beside the old"
        started = time.monotonic()
        status = operate(old.data_dir, "database", "upgrade")
        migrated_s = round(time.monotonic() - started, 2)
        time.sleep(seconds / 2)

        load.phase = "new beside old"
        api, worker = start_new(folder / "new", old, url)
        stack.callback(api.kill)
        stack.callback(worker.kill)
        proxy.servers.append(address_of(api))
        time.sleep(seconds)

        load.phase = "old leaves"
        proxy.servers.remove(address_of(old))
        time.sleep(1)
        ended = old.stop(60)
        time.sleep(seconds)
        load.stop()
        settled = settle(database, len(load.accepted))
        findings = run_checks(folder / "new" / "api" / "data")
    return {
        "from_revision": before,
        "to_revision": status["revision"],
        "migrated_s": migrated_s,
        "requests": dict(load.requests),
        "slowest_s": load.slowest_s,
        "failed": load.failed,
        "accepted": len(load.accepted),
        **settled,
        "old_ended_with": ended,
        "to_mend": [asdict(finding) for finding in findings if finding.health is Health.REPAIR],
    }


def make_account(database: OwnPostgresql) -> dict[str, str]:
    """Use the older tables directly: the present commands would migrate them."""
    account_id, key_id = new_id(), new_id()
    api_key = new_api_key(key_id)
    now = "now()"
    secret, key = (hash_of(text).hex() for text in (new_secret_key(), api_key))
    for statement in (
        f"INSERT INTO accounts VALUES ('{account_id}', 'Rehearsal', 'enterprise', '\\x{secret}', {now})",
        f"INSERT INTO api_keys (key_id, account_id, name, key_hash, created_at) "
        f"VALUES ('{key_id}', '{account_id}', 'k', '\\x{key}', {now})",
        f"INSERT INTO credit_balances VALUES ('{account_id}', {CREDITS})",
        f"INSERT INTO credit_entries (entry_id, account_id, kind, amount, delta, created_at) "
        f"VALUES ('{new_id()}', '{account_id}', 'grant', {CREDITS}, {CREDITS}, {now})",
    ):
        database.execute("upgrade", statement)
    return {"X-Account-ID": account_id, "X-API-Key": api_key}


def settle(database: OwnPostgresql, accepted: int) -> dict[str, Any]:
    """Wait for the jobs; returns their outcomes, and whether the ledger is consistent."""
    ends_at = time.monotonic() + SETTLE_LIMIT_S
    counts: dict[str, int] = {}
    while time.monotonic() < ends_at:
        counts = dict(database.execute("upgrade", "SELECT status, count(*)::int FROM jobs GROUP BY status"))
        if not {"queued", "running"} & counts.keys():
            break
        time.sleep(0.5)
    [[balance]] = database.execute("upgrade", "SELECT credits FROM credit_balances")
    [[most_starts]] = database.execute("upgrade", "SELECT max(starts) FROM jobs")
    return {
        "jobs": counts,
        "most_starts": most_starts,
        "lost": accepted - sum(counts.values()),
        "balance_exact": balance == CREDITS - PRICE * counts.get("done", 0),
    }


def address_of(process: VbdeskProcess) -> tuple[str, int]:
    host, port = process.ready["base_url"].removeprefix("http://").split(":")
    return host, int(port)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", default=OLDEST, help="commit of the older release")
    parser.add_argument("--seconds", type=float, default=8, help="length of a phase")
    options = parser.parse_args()
    if subprocess.run(["git", "cat-file", "-e", options.old], cwd=ROOT, capture_output=True, check=False).returncode:
        print(f"Left out: this clone does not reach back to {options.old}.", file=sys.stderr)
        return 0
    folder = Path(tempfile.mkdtemp(prefix="vbdesk-upgrade-"))
    figures = rehearse(folder, options.old, options.seconds)
    print(json.dumps(figures, indent=1))
    good = not figures["failed"] and not figures["to_mend"] and not figures["lost"] and figures["balance_exact"]
    good = good and set(figures["jobs"]) == {"done"} and figures["old_ended_with"] == 0
    if good:
        shutil.rmtree(folder)
    else:
        print(f"kept for a look: {folder}", file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
