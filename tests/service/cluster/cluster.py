"""Cluster: API processes behind one address, workers, one PostgreSQL database, one object store.

Every process has its own data folder with settings in `vbdesk.toml`; all share the secrets file. The caller owns the
PostgreSQL server and the store server, because several clusters may share them.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from round_robin import RoundRobin
from store_server import StoreAccess

from free_ports import free_port

sys.path.append(str(Path(__file__).parents[1] / "support"))

from served import VbdeskProcess, operate

from vbdesk.service.kernel.secret_box import KeyFile


class Cluster:
    """API processes and workers on one database and one store; clients use `base_url`."""

    def __init__(
        self, folder: Path, database_url: str, store: StoreAccess, *, apis: int, workers: int, **settings: str
    ) -> None:
        """Create without starting. `settings` apply to every process."""
        self._folder, self._store = folder, store
        self.secrets_file = folder / "secrets"
        folder.mkdir(parents=True, exist_ok=True)
        KeyFile(self.secrets_file).create()  # no process creates the shared file implicitly
        shared = {"database_url": database_url, "secrets_file": str(self.secrets_file)}
        self._settings = {**shared, **store.settings, **settings}
        self.proxy = RoundRobin()
        self.apis = [self._make_api(f"api-{number}") for number in range(apis)]
        self.workers = [self._make_worker(f"worker-{number}") for number in range(workers)]
        self.lost: list[VbdeskProcess] = []
        self.data_dir = folder / "api-0" / "data"

    @property
    def base_url(self) -> str:
        return self.proxy.origin

    @property
    def processes(self) -> Sequence[VbdeskProcess]:
        return [*self.apis, *self.workers]

    @property
    def logs(self) -> str:
        return "".join(process.log.read_text() for process in [*self.processes, *self.lost])

    def start(self) -> None:
        """Start all processes that do not run, in parallel."""
        starting = [process for process in self.processes if not process.runs]
        for process in starting:
            process.launch()
        for process in starting:
            process.wait_ready()

    def add_workers(self, count: int) -> None:
        """Add workers without starting them."""
        for _ in range(count):
            self.workers.append(self._make_worker(f"worker-{len(self.workers) + len(self.lost)}"))

    def lose(self, worker: VbdeskProcess) -> None:
        """Kill the worker and remove it; its log is kept."""
        worker.kill()
        self.workers.remove(worker)
        self.lost.append(worker)

    def operate(self, *arguments: str) -> Any:
        """Run an operator's command on one of the machines and return its output."""
        return operate(self.data_dir, *arguments, environment=self._store.environment)

    def ask_to_stop(self) -> None:
        for process in self.processes:
            process.ask_to_stop()

    def wait_until_stopped(self) -> None:
        """Wait until every process has ended. Raises AssertionError if one did not exit cleanly."""
        for process in self.processes:
            process.wait_until_stopped()

    def close(self) -> None:
        """End all processes, by force if needed."""
        for process in self.processes:
            if process.runs:
                process.kill()
        self.proxy.close()

    def _make_api(self, name: str) -> VbdeskProcess:
        port = free_port()
        self.proxy.servers.append(("127.0.0.1", port))
        return self._make(name, "serve", "--workers", 0, "--port", port, "--storage-port", 0)

    def _make_worker(self, name: str) -> VbdeskProcess:
        return self._make(name, "worker", "--workers", 1)

    def _make(self, name: str, command: str, *options: object) -> VbdeskProcess:
        folder = self._folder / name
        data_dir = folder / "data"
        data_dir.mkdir(parents=True)
        lines = [f"{key} = {json.dumps(value)}\n" for key, value in self._settings.items()]
        (data_dir / "vbdesk.toml").write_text("".join(lines))
        return VbdeskProcess(folder, command, "--data-dir", data_dir, *options, environment=self._store.environment)
