"""Attacks that a compromised decoder may try from within the child."""

import ctypes
import os
import signal
import socket
import stat
import struct
import subprocess
import threading
import time
from pathlib import Path
from typing import BinaryIO


def read_file(path: Path) -> int:
    return len(path.read_bytes())


def list_folder(path: Path) -> list[str]:
    return os.listdir(path)  # noqa: PTH208


def write_file(path: Path) -> None:
    path.write_text("written")


def append_to_file(path: Path) -> None:
    with path.open("a") as file:
        file.write("written")


def delete_file(path: Path) -> None:
    path.unlink()


def rename_file(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))


def change_mode(path: Path) -> None:
    path.chmod(0o777)


def make_folder(path: Path) -> None:
    (path / "new").mkdir()


def connect_over_tcp(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass


def send_over_udp(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.sendto(b"voice", ("127.0.0.1", port))


def connect_to_a_unix_socket(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as out:
        out.connect(path)


def listen_for_others() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()


def run_a_program() -> str:
    return subprocess.run(["/bin/true"], check=True, capture_output=True, text=True).stdout


def become_a_program() -> None:
    os.execv("/bin/true", ["true"])


def fork() -> int:
    return os.fork()


def signal_a_process(pid: int) -> None:
    os.kill(pid, signal.SIGCONT)


def signal_a_thread_of(pid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.tgkill(pid, pid, 0):
        raise OSError(ctypes.get_errno(), "refused")


def make_an_io_ring() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(425, 1, bytes(120)) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def run_a_thread() -> int:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(42))
    thread.start()
    thread.join()
    return found[0]


def read_file_in_a_thread(path: Path) -> int:
    found: list[int] = []

    def read() -> None:
        try:
            found.append(len(path.read_bytes()))
        except PermissionError:
            found.append(-1)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    return found[0]


def environment_variables() -> list[str]:
    return list(os.environ)


def environment_variable_of_libc(name: str) -> bool:
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    return getenv(name.encode()) is not None


def read_recording(recording: BinaryIO, expected: int) -> tuple[int, bool]:
    return len(recording.read()), expected > 0


def open_descriptors() -> list[str]:
    """List the kinds of open descriptors beyond the standard streams."""
    kinds = []
    for number in range(3, 1024):
        try:
            mode = os.fstat(number).st_mode
        except OSError:
            continue
        kinds.append("socket" if stat.S_ISSOCK(mode) else f"{number}: {mode:o}")
    return kinds


def say(said: bytes, *, then_sleep_s: float = 0.0) -> None:
    """Write bytes to the pipe that no correct child would write, and exit."""
    [pipe] = [number for number in range(3, 1024) if _is_socket(number)]
    os.write(pipe, said)
    time.sleep(then_sleep_s)
    os._exit(0)


def _is_socket(number: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        return False


def say_pickle(pickled: bytes) -> None:
    say(struct.pack("!i", len(pickled)) + pickled)


def say_half_an_answer() -> None:
    say(struct.pack("!i", 1000) + b'+"half', then_sleep_s=600)


def say_more_than_fits() -> None:
    say(struct.pack("!i", -1) + struct.pack("!Q", 1 << 40), then_sleep_s=600)


def say_text_for_a_number() -> int:
    say(struct.pack("!i", 7) + b'+"text"')
    return 0


def say_nonsense() -> int:
    say(struct.pack("!i", 4) + b"what")
    return 0


def say_a_failure_of_two_lines() -> int:
    said = b'-["Error\\nINFO all is well", "message"]'
    say(struct.pack("!i", len(said)) + said)
    return 0
