"""A service of one's own: `vbdesk serve` as a child process, and an account on it."""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import httpx

from vbdesk.client.credentials import Credentials
from vbdesk.privacy import for_owner_alone, make_private

LOCAL_PLAN = "enterprise"
LOCAL_CREDITS = 1_000_000_000

_POLL_S = 0.05
_ANSWER_S = 5.0


class LocalServiceFailed(Exception):
    """The service on this computer did not start or did not answer; the message is for the person."""


class Encryption(StrEnum):
    """Whether the service on this computer keeps its data encrypted, as the service says itself."""

    UNKNOWN = "unknown"
    OFF = "off"
    UNDER_WAY = "under_way"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a running local service answers."""

    base_url: str
    storage_url: str
    pid: int


class LocalService:
    """The service as a child of this process; it ends when this process ends, however that happens."""

    def __init__(self, data_dir: Path, key: bytes | None = None, workers: int | None = None) -> None:
        """Start nothing yet.

        Args:
            data_dir: where the service keeps its data.
            key: 32 bytes that it encrypts its data with; without one it encrypts nothing.
            workers: how many analyses run at once; as many as the service thinks right if None.
        """
        self._data_dir = data_dir
        self._key = key
        self._workers = workers
        self._base_url: str | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = False

    @property
    def log_path(self) -> Path:
        """What the child wrote about its running."""
        return self._data_dir / "service.log"

    def start(self, timeout_s: float = 60.0) -> Endpoint:
        """Start the child and wait until it answers. Blocks; call it off any GUI thread.

        Raises:
            LocalServiceFailed: the child ended or was not ready in time; it is not left running.
        """
        make_private(self._data_dir)
        ready_file = self._data_dir / f"ready-{os.getpid()}.json"
        ready_file.unlink(missing_ok=True)
        command = [
            *_vbdesk(), "serve", "--data-dir", str(self._data_dir), "--port", "0", "--storage-port", "0",
            "--ready-file", str(ready_file), "--parent-pid", str(os.getpid()),
        ]  # fmt: skip
        if self._workers is not None:
            command += ["--workers", str(self._workers)]
        if self._key is not None:
            command += ["--key-stdin"]
        with open(self.log_path, "ab", opener=for_owner_alone) as log:
            # a session of its own: Ctrl-C in the terminal reaches us alone, and we end the child in order
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL if self._key is None else subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=os.name == "posix",
            )
        try:
            _hand_over(self._child, self._key)
            if self._stopped:
                raise LocalServiceFailed("The service on this computer was stopped while it was starting.")
            return self._wait_until_ready(ready_file, timeout_s)
        except BaseException:
            self.stop()
            raise
        finally:
            ready_file.unlink(missing_ok=True)

    def encryption(self) -> Encryption:
        """Whether what the running service keeps is encrypted; UNKNOWN where it does not say. Blocks."""
        if self._base_url is None:
            return Encryption.UNKNOWN
        try:
            told = httpx.get(f"{self._base_url}/readyz", timeout=_ANSWER_S, trust_env=False).json()
            return Encryption(told["encryption"])
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return Encryption.UNKNOWN

    def poll(self) -> int | None:
        """Exit status of the child; None while it runs or before it was started."""
        return None if self._child is None else self._child.poll()

    def stop(self, timeout_s: float = 10.0) -> None:
        """Ask the child to finish, wait, and end it if it does not; a start under way in another thread ends too."""
        self._stopped = True
        if self._child is None:
            return
        self._child.terminate()
        try:
            self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _wait_until_ready(self, ready_file: Path, timeout_s: float) -> Endpoint:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if self.poll() is not None:
                raise LocalServiceFailed(
                    f"The service on this computer stopped while starting. {self._last_line()}".strip()
                )
            if ready_file.exists():
                ready = json.loads(ready_file.read_text(encoding="utf-8"))
                self._base_url = ready["base_url"]
                return Endpoint(ready["base_url"], ready["storage_url"], ready["pid"])
            time.sleep(_POLL_S)
        raise LocalServiceFailed(
            f"The service on this computer was not ready within {timeout_s:.0f} seconds. Try again."
        )

    def _last_line(self) -> str:
        lines = self.log_path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


def _hand_over(child: subprocess.Popen[bytes], key: bytes | None) -> None:
    """Give the child its key by a pipe: neither arguments nor environment nor files show it to anybody."""
    if child.stdin is None or key is None:
        return
    with suppress(OSError):  # it has ended already; `start` tells why
        child.stdin.write(key.hex().encode() + b"\n")
        child.stdin.flush()
    with suppress(OSError):
        child.stdin.close()


def make_account(data_dir: Path, name: str) -> Credentials:
    """Make an account with the local plan and credits, and a key for it. Blocks.

    Raises:
        LocalServiceFailed: an operator's command did not succeed.
    """
    account = _admin(
        "account", "create", "--data-dir", str(data_dir), "--name", name,
        "--plan", LOCAL_PLAN, "--credits", str(LOCAL_CREDITS), "--json",
    )  # fmt: skip
    key = _admin(
        "key", "create", "--data-dir", str(data_dir), "--account", account["account_id"], "--name", name, "--json"
    )
    return Credentials(account["account_id"], key["api_key"])


def _vbdesk() -> list[str]:
    return [sys.executable, "-m", "vbdesk"]


def _admin(*arguments: str) -> dict[str, Any]:
    done = subprocess.run([*_vbdesk(), "admin", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        # standard error holds one sentence; standard output may hold a secret and is never shown
        reason = done.stderr.strip().splitlines()
        raise LocalServiceFailed(f"No account could be made on this computer. {reason[-1] if reason else ''}".strip())
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
