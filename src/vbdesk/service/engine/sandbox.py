"""Sandbox of a child that decodes or analyses, so that a compromised decoder can do no harm.

Works on Linux without root. Landlock limits which files the child may read. A seccomp filter refuses sockets, programs,
file writes and access to other processes. If the kernel lacks one of them, the child gets only the other; `offered`
says which exist. Other systems offer no such sandbox to an ordinary process.
"""

import ctypes
import errno
import logging
import os
import platform
import site
import struct
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import vbdesk
from vbdesk.language import Message, message
from vbdesk.resource_files import resource
from vbdesk.service.engine.syscalls import ABSENT, ARCHITECTURES, CONDITIONAL, REFUSED, Architecture

PR_SET_NO_NEW_PRIVS = 38
PR_GET_SECCOMP = 21

LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446  # the same on every processor
LANDLOCK_CREATE_RULESET_VERSION = 1
LANDLOCK_RULE_PATH_BENEATH = 1
LANDLOCK_READ_FILE, LANDLOCK_READ_DIR = 1 << 2, 1 << 3
LANDLOCK_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}  # number of rights, by first version
LANDLOCK_TCP = 0b11  # bind and connect, since version 4
LANDLOCK_SCOPES = 0b11  # abstract sockets and signals to other processes, since version 6

SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_TSYNC = 1
KILL_PROCESS, REFUSE, ALLOW = 0x8000_0000, 0x0005_0000, 0x7FFF_0000
LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06  # 32-bit BPF instructions
NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT = 0, 4, 16  # offsets in struct seccomp_data
OTHER_ABI = 0x4000_0000  # x32 system call numbers, which would bypass the filter
CLONE_THREAD = 0x0001_0000
TIOCSTI = 0x5412  # inserts characters into a terminal as if typed

NEEDED_ON_WINDOWS = ("SYSTEMROOT", "WINDIR")  # Windows needs these to find libraries on import

SYSTEM_FILES = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/etc/localtime",
    "/usr/share/zoneinfo", "/dev/null", "/dev/urandom", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu",
)  # fmt: skip

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Offered:
    """Sandbox features of this machine.

    Attributes:
        landlock: Landlock version; 0 if there is none.
        seccomp: whether system calls can be filtered.
    """

    landlock: int
    seccomp: bool

    @property
    def complete(self) -> bool:
        """Whether all of files, network and other programs can be denied to a child."""
        return self.landlock > 0 and self.seccomp

    @property
    def sentence(self) -> Message:
        """Describe for people what can be denied to a child that reads recordings."""
        if self.complete:
            return message("The processes that read recordings are kept from files, the network and other programs.")
        if self.seccomp:
            return message(
                "This kernel has no Landlock: the processes that read recordings are kept from the network, other "
                "programs and writing, but they can read files. Use Linux 5.13 or later with Landlock enabled."
            )
        if self.landlock:
            return message(
                "This system filters no system calls: the processes that read recordings are kept from most files, "
                "but not from the network or other programs. Enable seccomp filters in the kernel."
            )
        return message(
            "This system offers no sandbox: the processes that read recordings are bounded in time alone, and on Linux "
            "in memory. If unknown people send recordings, run the service on Linux 5.13 or later."
        )


def offered() -> Offered:
    """Query the sandbox features of the system."""
    if sys.platform != "linux":
        return Offered(0, seccomp=False)
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), LANDLOCK_CREATE_RULESET_VERSION)
    filters = platform.machine() in ARCHITECTURES and libc.prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0
    return Offered(max(0, version), seccomp=filters)


@cache
def warn_once() -> None:
    """Log once which sandbox features this machine lacks."""
    has = offered()
    if not has.complete:
        log.warning("%s", has.sentence)


def enter(readable: Sequence[Path]) -> None:
    """Put this process into the sandbox permanently. Call it while the process has one thread.

    Args:
        readable: files and folders that it may read, in addition to the program itself.

    Raises:
        OSError: the system refuses a feature that it offers.
    """
    has = offered()
    _empty_environment()
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if has.landlock:
        _restrict_files(libc, has.landlock, [*_program_files(), *readable])
    if has.seccomp:
        _filter_system_calls(libc, ARCHITECTURES[platform.machine()])


def _empty_environment() -> None:
    """Clear all environment variables, also in the memory shown as /proc/self/environ."""
    for name in [name for name in os.environ if name not in NEEDED_ON_WINDOWS]:
        del os.environ[name]
    if sys.platform != "linux":
        return
    fields = Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()
    start, end = int(fields[47]), int(fields[48])
    ctypes.CDLL(None).clearenv()
    ctypes.memset(start, 0, end - start)


def _program_files() -> list[Path]:
    """List what imports need: the interpreter, the installed packages and the system libraries.

    The current directory is excluded, though Python searches it: it may be the service's data folder.
    """
    folders = [sys.executable, sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *site.getsitepackages()]
    here = Path.cwd()
    folders += [folder for folder in sys.path if folder and Path(folder).exists() and not here.samefile(folder)]
    return [Path(vbdesk.__file__).parent, resource(), *map(Path, dict.fromkeys(folders)), *map(Path, SYSTEM_FILES)]


def _restrict_files(libc: ctypes.CDLL, version: int, readable: Iterable[Path]) -> None:
    rights = (1 << max(count for since, count in LANDLOCK_FILE_RIGHTS.items() if since <= version)) - 1
    words = [rights, *([LANDLOCK_TCP] if version >= 4 else []), *([LANDLOCK_SCOPES] if version >= 6 else [])]
    attributes = struct.pack(f"={len(words)}Q", *words)
    rules = _check(libc.syscall(LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))
    try:
        for path in readable:
            _let_read(libc, rules, path)
        _check(libc.syscall(LANDLOCK_RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)


def _let_read(libc: ctypes.CDLL, rules: int, path: Path) -> None:
    if sys.platform != "linux":
        return
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # a missing file needs no right
        return
    try:
        right = LANDLOCK_READ_FILE | (LANDLOCK_READ_DIR if path.is_dir() else 0)
        rule = struct.pack("=Qi", right, descriptor)
        _check(libc.syscall(LANDLOCK_ADD_RULE, rules, LANDLOCK_RULE_PATH_BENEATH, rule, 0))
    finally:
        os.close(descriptor)


def _filter_system_calls(libc: ctypes.CDLL, architecture: Architecture) -> None:
    program = b"".join(_instructions(architecture, os.getpid()))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))

    filtered = Program(len(program) // 8, program)
    flags = SECCOMP_FILTER_FLAG_TSYNC
    _check(libc.syscall(architecture.seccomp, SECCOMP_SET_MODE_FILTER, flags, ctypes.byref(filtered)))


def _instructions(architecture: Architecture, own_pid: int) -> Iterable[bytes]:
    """Build the filter: refuse listed calls, allow the rest. A failed comparison skips its own instructions."""
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
    conditions = {  # argument, test, value, whether to refuse the call if the test is true
        "clone": (0, ANY_BIT, CLONE_THREAD, False),
        "ioctl": (1, EQUAL, TIOCSTI, True),
        "open": (1, ANY_BIT, writing, True),
        "openat": (2, ANY_BIT, writing, True),
        "prlimit64": (0, EQUAL, 0, False),
        "tgkill": (0, EQUAL, own_pid, False),
    }
    numbers, refuse = architecture.numbers, REFUSE | errno.EPERM
    yield _instruction(LOAD, ARCHITECTURE_AT)
    yield _instruction(EQUAL, architecture.audit, skipped_if=1)
    yield _instruction(RETURN, KILL_PROCESS)
    yield _instruction(LOAD, NUMBER_AT)
    yield _instruction(ANY_BIT, OTHER_ABI, skipped_if_not=1)
    yield _instruction(RETURN, KILL_PROCESS)
    for names, answer in ((ABSENT, REFUSE | errno.ENOSYS), (REFUSED, refuse)):
        for name in names:
            if name in numbers:
                yield _instruction(EQUAL, numbers[name], skipped_if_not=1)
                yield _instruction(RETURN, answer)
    for name in CONDITIONAL:
        if name in numbers:
            argument, test, value, refused = conditions[name]
            yield _instruction(EQUAL, numbers[name], skipped_if_not=4)
            yield _instruction(LOAD, ARGUMENTS_AT + 8 * argument)
            yield _instruction(test, value, skipped_if_not=1)
            yield _instruction(RETURN, refuse if refused else ALLOW)
            yield _instruction(RETURN, ALLOW if refused else refuse)
    yield _instruction(RETURN, ALLOW)


def _instruction(code: int, value: int, *, skipped_if: int = 0, skipped_if_not: int = 0) -> bytes:
    return struct.pack("=HBBI", code, skipped_if, skipped_if_not, value)


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
