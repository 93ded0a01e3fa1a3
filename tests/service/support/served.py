"""`vbdesk serve` in its own process, which can be killed and restarted."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
from typer.testing import CliRunner

sys.path.append(str(Path(__file__).parents[2]))

from patience import HANGS_S, until
from vbdesk.cli.admin import app as admin
from vbdesk.clock import SystemClock
from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.kernel.db.session import open_database
from vbdesk.service.kernel.settings import load_settings

COMMAND = [sys.executable, "-m", "vbdesk"]


class ReadyProcess:
    """Command that writes a ready file; its log is kept.

    It does not inherit this process's vbdesk settings; it gets only those given here and those in its data folder.
    """

    def __init__(self, folder: Path, *command: object, environment: dict[str, str] | None = None) -> None:
        self.name, self.log, self._ready_file = folder.name, folder / "log", folder / "ready.json"
        self._command = [*map(str, command), "--ready-file", str(self._ready_file)]
        quiet = {name: value for name, value in os.environ.items() if not name.startswith("VBDESK_")}
        self._environment = quiet | (environment or {})
        self._process: subprocess.Popen[bytes] | None = None
        self.ready: dict[str, Any] = {}

    def add_to_environment(self, **variables: str) -> None:
        """Add environment variables for the next start."""
        self._environment |= variables

    def launch(self) -> None:
        """Start without waiting until it is ready."""
        self._ready_file.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._command, env=self._environment, stdout=log, stderr=log)

    def start(self) -> None:
        """Start, and wait until it is ready."""
        self.launch()
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait for the ready file and store its content in `ready`."""
        until(lambda: self._ready_file.exists() or not self.runs, f"{self.name} to start")
        if not self._ready_file.exists():
            raise AssertionError(f"{self.name} did not start: {self.log.read_text()[-2000:]}")
        self.ready = json.loads(self._ready_file.read_text())

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "it was not started"
        return self._process

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def processes(self) -> list[int]:
        """List this process and all its descendants."""
        found = [self.pid]
        for parent in found:  # grows during the loop
            listed = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False)
            found += map(int, listed.stdout.split())
        return found

    def kill(self) -> None:
        """Kill it like a power failure, even while it is paused."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """Suspend it (SIGSTOP)."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def ask_to_stop(self) -> None:
        if self.runs:
            self.process.send_signal(signal.SIGTERM)

    def stop(self, within_s: float = HANGS_S) -> int:
        """Ask it to stop; return its exit status."""
        self.ask_to_stop()
        return self._wait(within_s)

    def wait_until_stopped(self, within_s: float = HANGS_S) -> None:
        """Wait for a requested stop. Raises AssertionError unless it exits cleanly."""
        status = self._wait(within_s)
        assert status == 0, f"{self.name} did not end cleanly ({status}): {self.log.read_text()[-2000:]}"

    def _wait(self, within_s: float) -> int:
        try:
            return self.process.wait(within_s)
        finally:
            self.kill()


class VbdeskProcess(ReadyProcess):
    """`vbdesk` command that runs until it is asked to stop."""

    def __init__(self, folder: Path, *arguments: object, environment: dict[str, str] | None = None) -> None:
        super().__init__(folder, *COMMAND, *arguments, environment=environment)


def operate(data_dir: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> Any:
    """Run an operator's command in this process, which is faster, and return its output."""
    command = [*arguments, "--data-dir", str(data_dir), "--json"]
    answer = CliRunner().invoke(admin, command, env=environment)
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.stdout)


def settings_as_environment(**settings: str) -> dict[str, str]:
    return {f"VBDESK_{name.upper()}": value for name, value in settings.items()}


class Served(VbdeskProcess):
    """Service on a data folder, with one enterprise account."""

    def __init__(
        self, folder: Path, *, port: int = 0, storage_port: int = 0, workers: int = 1, **settings: str
    ) -> None:
        self.data_dir = folder / "data"
        options = ["--data-dir", self.data_dir, "--port", port, "--storage-port", storage_port, "--workers", workers]
        super().__init__(folder, "serve", *options, environment=settings_as_environment(**settings))
        self.base_url = ""
        self.headers: dict[str, str] = {}

    def start(self) -> None:
        super().start()
        self.base_url = self.ready["base_url"]

    def memory_mb(self) -> float:
        """Memory in MB of all its processes; shared pages are divided among their users (Linux)."""
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
        return httpx.Client(base_url=self.base_url, headers=self.headers, timeout=HANGS_S, trust_env=False)


def proportional_mb(pid: int) -> float:
    """Memory in MB of a process; shared pages are divided among their users; 0 if it has ended (Linux)."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def upload(client: httpx.Client, recording: Path, content_type: str) -> str:
    """Create an upload address, upload and return the reference."""
    grant = client.post("/v2/audio/uploads", json={"content_type": content_type}).raise_for_status().json()
    put = httpx.put(
        grant["upload_url"],
        content=recording.read_bytes(),
        headers=grant["required_headers"],
        trust_env=False,
        timeout=HANGS_S,
    )
    put.raise_for_status()
    reference: str = grant["upload_ref"]
    return reference


def wait_for_end(client: httpx.Client, job_id: str) -> Any:
    def ended() -> Any:
        job = client.get(f"/v2/jobs/{job_id}").raise_for_status().json()
        return job if job["status"] in ("done", "failed", "timed-out") else None

    return until(ended, f"the end of {job_id}", look_every_s=0.1)
