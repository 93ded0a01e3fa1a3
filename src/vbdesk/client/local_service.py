"""A local service: `vbdesk serve` as a child process, and an account on it."""

import json
import os
import subprocess
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import httpx

from vbdesk.client.credentials import Credentials
from vbdesk.language import joined, message
from vbdesk.own_process import child_options, own_command
from vbdesk.privacy import make_private, owner_only_opener

LOCAL_PLAN = "enterprise"
LOCAL_CREDITS = 1_000_000_000

_DATABASE = "vbdesk.db"
_POLL_S = 0.05
_ANSWER_S = 5.0


class LocalServiceFailed(Exception):
    """The service on this computer did not start or answer; the message is for a person."""


class LocalEncryption(StrEnum):
    """Whether the service on this computer encrypts its data, as it reports itself."""

    UNKNOWN = "unknown"
    OFF = "off"
    UNDER_WAY = "under_way"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Addresses of a running local service."""

    base_url: str
    storage_url: str
    pid: int


class LocalService:
    """The service as a child process.

    It ends when its standard input ends: when it is stopped here, or when this process ends in any way.
    """

    def __init__(self, data_dir: Path, key: bytes | None = None, workers: int | None = None) -> None:
        """Prepare the service without starting it.

        Args:
            data_dir: the service's data folder.
            key: 32 bytes to encrypt its data with; without a key nothing is encrypted.
            workers: number of parallel analyses; the service's default if None.
        """
        self._data_dir = data_dir
        self._key = key
        self._workers = workers
        self._base_url: str | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = False

    @property
    def log_path(self) -> Path:
        """The child's log file."""
        return self._data_dir / "service.log"

    def start(self, timeout_s: float = 60.0) -> Endpoint:
        """Start the child and wait until it answers. Blocks; call it off any GUI thread.

        Raises:
            LocalServiceFailed: the child ended or was not ready in time; it is not left running.
        """
        make_private(self._data_dir)
        ready_file = self._data_dir / f"ready-{os.getpid()}.json"
        ready_file.unlink(missing_ok=True)
        command = own_command(
            "serve", "--data-dir", str(self._data_dir), "--port", "0", "--storage-port", "0",
            "--ready-file", str(ready_file), "--stop-with-stdin",
        )  # fmt: skip
        if self._workers is not None:
            command += ["--workers", str(self._workers)]
        if self._key is not None:
            command += ["--key-stdin"]
        with open(self.log_path, "ab", opener=owner_only_opener) as log:
            # own session: Ctrl-C in the terminal reaches only us, and we end the child in order
            self._child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, **child_options(own_session=True)
            )
        try:
            _hand_over(self._child, self._key)
            if self._stopped:
                raise LocalServiceFailed(message("The service on this computer was stopped while it was starting."))
            return self._wait_until_ready(ready_file, timeout_s)
        except BaseException:
            self.stop()
            raise
        finally:
            ready_file.unlink(missing_ok=True)

    def encryption(self) -> LocalEncryption:
        """Whether the running service encrypts its data; UNKNOWN if it does not say. Blocks."""
        if self._base_url is None:
            return LocalEncryption.UNKNOWN
        try:
            answer = httpx.get(f"{self._base_url}/readyz", timeout=_ANSWER_S, trust_env=False).json()
            return LocalEncryption(answer["encryption"])
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return LocalEncryption.UNKNOWN

    def poll(self) -> int | None:
        """Exit status of the child; None while it runs or before it was started."""
        return None if self._child is None else self._child.poll()

    def stop(self, timeout_s: float = 10.0) -> None:
        """Ask the child to finish, wait, then kill it; also ends a start in another thread."""
        self._stopped = True
        if self._child is None:
            return
        if self._child.stdin is not None:
            with suppress(OSError):
                self._child.stdin.close()
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
                    joined(message("The service on this computer stopped while starting."), self._last_line())
                )
            if ready_file.exists():
                ready = json.loads(ready_file.read_text(encoding="utf-8"))
                self._base_url = ready["base_url"]
                return Endpoint(ready["base_url"], ready["storage_url"], ready["pid"])
            time.sleep(_POLL_S)
        raise LocalServiceFailed(
            message(
                "The service on this computer was not ready within {seconds:.0f} seconds. Try again.", seconds=timeout_s
            )
        )

    def _last_line(self) -> str:
        lines = self.log_path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


def _hand_over(child: subprocess.Popen[bytes], key: bytes | None) -> None:
    """Send the child its key through a pipe, so that arguments, environment and files do not show it."""
    if child.stdin is None or key is None:
        return
    with suppress(OSError):  # it has ended already; `start` reports why
        child.stdin.write(key.hex().encode() + b"\n")
        child.stdin.flush()


def make_account(data_dir: Path, name: str) -> Credentials:
    """Create an account with the local plan and credits, and a key for it. Blocks.

    Raises:
    LocalServiceFailed: the administration command failed.
    """
    made = _admin(
        message("No account could be made on this computer."),
        "account", "create", "--data-dir", str(data_dir), "--name", name,
        "--plan", LOCAL_PLAN, "--credits", str(LOCAL_CREDITS), "--with-key", "--json",
    )  # fmt: skip
    return Credentials(made["account_id"], made["api_key"])


def is_encrypted(data_dir: Path) -> bool:
    """Whether `data_dir` holds encrypted data, with any key. Blocks. Raises LocalServiceFailed."""
    if not (data_dir / _DATABASE).exists():
        return False
    failed = message("It is not known whether the data of the service on this computer is encrypted.")
    return bool(_admin(failed, "encryption", "status", "--data-dir", str(data_dir), "--json")["encrypted"])


def key_fits(data_dir: Path, key: bytes) -> bool:
    """Whether `key` decrypts the data in `data_dir`; True if there is none. Blocks."""
    try:
        if is_encrypted(data_dir):
            _admin("", "encryption", "status", "--data-dir", str(data_dir), "--json", key=key)
    except LocalServiceFailed:
        return False
    return True


def erase_recordings(
    data_dir: Path,
    key: bytes,
    account_id: str,
    job_ids: Collection[str],
    upload_refs: Collection[str] = (),
    *,
    sound_only: bool,
) -> None:
    """Erase jobs of the service on this computer, or only their sound, whether it runs or not. Blocks.

    With the jobs go the account's groups without a job: their ids are those of subjects. Skips what is already erased,
    so that it can be repeated after a crash.

    Args:
        data_dir: the service's data folder.
        key: its encryption key.
        account_id: owner of the jobs.
        job_ids: the jobs; with `sound_only` they must have ended.
        upload_refs: uploads that never became a job.
        sound_only: whether to keep the jobs and their results.

    Raises:
        LocalServiceFailed: something is not erased yet.
    """
    failed = message(
        "The service on this computer could not erase the recording. It is erased as soon as that is possible."
    )
    extent = "--sound-only" if sound_only else "--empty-groups"
    chosen = [part for job_id in job_ids for part in ("--job", job_id)]
    chosen += [part for reference in upload_refs for part in ("--upload", reference)]
    done = _admin(
        failed, "job", "erase", "--data-dir", str(data_dir), "--account", account_id,
        *chosen, extent, "--json", key=key,
    )  # fmt: skip
    if done["left"]:
        raise LocalServiceFailed(failed)


def _admin(failed: str, *arguments: str, key: bytes | None = None) -> dict[str, Any]:
    """The output of an administration command, which reads the key from standard input. Raises with `failed`."""
    command = own_command("admin", *(["--key-stdin"] if key is not None else []), *arguments)
    given = "" if key is None else f"{key.hex()}\n"
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, **child_options())
    if done.returncode:
        # standard error is one sentence; standard output may contain a secret and is never shown
        reason = done.stderr.strip().splitlines()
        raise LocalServiceFailed(joined(failed, reason[-1] if reason else ""))
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
