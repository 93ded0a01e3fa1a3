"""A real `vbdesk serve` in a process of its own, to be used, killed and started again."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.clock import SystemClock
from vbdesk.service.composition import open_database
from vbdesk.service.settings import load_settings

COMMAND = [sys.executable, "-m", "vbdesk"]
START_LIMIT_S = 60


class Served:
    """The service on a data folder, with one enterprise account."""

    def __init__(
        self, folder: Path, *, port: int = 0, storage_port: int = 0, workers: int = 1, **settings: str
    ) -> None:
        self.data_dir = folder / "data"
        self._ready_file = folder / "ready.json"
        self.log = folder / "serve.log"
        self._ports = (port, storage_port)
        self._workers = workers
        self._environment = {**os.environ, **{f"VBDESK_{name.upper()}": value for name, value in settings.items()}}
        self._process: subprocess.Popen[bytes] | None = None
        self.base_url = ""
        self.headers: dict[str, str] = {}

    def start(self) -> None:
        self._ready_file.unlink(missing_ok=True)
        options = ["--data-dir", self.data_dir, "--port", self._ports[0], "--storage-port", self._ports[1]]
        options += ["--workers", self._workers, "--ready-file", self._ready_file]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*COMMAND, "serve", *map(str, options)], env=self._environment, stdout=log, stderr=log
            )
        ends_at = time.monotonic() + START_LIMIT_S
        while not self._ready_file.exists():
            if self._process.poll() is not None or time.monotonic() > ends_at:
                raise AssertionError(f"the service did not start: {self.log.read_text()[-2000:]}")
            time.sleep(0.05)
        self.base_url = json.loads(self._ready_file.read_text())["base_url"]

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def processes(self) -> list[int]:
        """The service and everything that descends from it."""
        found = [self.pid]
        for parent in found:  # grows on the way
            listed = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False)
            found += map(int, listed.stdout.split())
        return found

    def memory_mb(self) -> float:
        """What all of it takes, each shared page divided among those who share it (Linux)."""
        return sum(map(proportional_mb, self.processes()))

    def make_account(self, credits: int) -> None:
        database = open_database(load_settings(self.data_dir))
        accounts = AccountService(SystemClock())
        with database.writing() as connection:
            account = accounts.create(connection, "Test", Plan.ENTERPRISE, credits)
            key = accounts.create_key(connection, account.account_id, "test")
        database.close()
        self.headers = {"X-Account-ID": account.account_id, "X-API-Key": key.api_key}

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.base_url, headers=self.headers, timeout=20, trust_env=False)

    def kill(self) -> None:
        """As a power cut would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self, within_s: float = 20) -> int:
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(within_s)
        finally:
            self._process.kill()


def proportional_mb(pid: int) -> float:
    """Memory of a process, each shared page divided among those who share it; 0 when it has just ended (Linux)."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def upload(client: httpx.Client, recording: Path, content_type: str) -> str:
    """Mint, put, and give the reference."""
    grant = client.post("/v2/audio/uploads", json={"content_type": content_type}).raise_for_status().json()
    put = httpx.put(
        grant["upload_url"], content=recording.read_bytes(), headers=grant["required_headers"], trust_env=False
    )
    put.raise_for_status()
    reference: str = grant["upload_ref"]
    return reference


def wait_for_end(client: httpx.Client, job_id: str, within_s: float = 60) -> Any:
    ends_at = time.monotonic() + within_s
    while True:
        job = client.get(f"/v2/jobs/{job_id}").raise_for_status().json()
        if job["status"] in ("done", "failed", "timed-out"):
            return job
        assert time.monotonic() < ends_at, job
        time.sleep(0.1)
