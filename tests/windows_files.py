"""Windows' rules for open files, on Linux: what vbdesk may not do there fails here too.

The tests of the window run without them, and most of the service: there, threads of one process read files that others
write, which on Windows are processes with files of their own.

Windows refuses to delete, rename or replace a file that a program has open, a folder with such a file in it, a rename
to a name that is taken, and to flush a file that was opened for reading only. `install` lets calls from `src/vbdesk` in
this process fail in the same way. Calls from tests and other packages stay as they are, and so do child processes.
"""

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import vbdesk

PRODUCT = str(Path(vbdesk.__file__).parent) + os.sep
STANDARD = str(Path(os.__file__).parent) + os.sep
"""Functions of the standard library act for their callers: `Path.unlink`, `shutil.rmtree`."""

DESCRIPTORS = "/proc/self/fd"

refused: list[str] = []
"""What was refused, with the place in vbdesk, since the start of this process."""

WITHOUT = ("tests/desk/", "tests/service/")
RULED = (
    "tests/service/composition/test_backup.py",
    "tests/service/encryption/",
    "tests/service/maintenance/",
    "tests/service/storage/",
)
"""Tests of the service that run under the rules: what makes, replaces and removes files."""

_holding: list[bool] = [True]

Call = Callable[..., Any]


def holds_in(test: str) -> bool:
    """Whether a test, by its id, runs under the rules."""
    return test.startswith(RULED) or not test.startswith(WITHOUT)


@contextmanager
def lifted() -> Iterator[None]:
    """Without the rules, in all threads, for a test of what only other systems can do."""
    _holding.append(False)
    try:
        yield
    finally:
        _holding.pop()


def install() -> None:
    """Replace the functions of `os`; does nothing where Windows' own rules hold or open files cannot be listed."""
    if sys.platform != "linux" or hasattr(os.unlink, "without_rules"):
        return
    for name in ("unlink", "remove", "rmdir"):
        setattr(os, name, _ruled(getattr(os, name), _check_removal))
    os.replace = _ruled(os.replace, _check_replacement)
    os.rename = _ruled(os.rename, _check_rename)
    os.fsync = _ruled(os.fsync, _check_flush)


def _ruled(call: Call, check: Call) -> Call:
    def ruled(*args: Any, **kwargs: Any) -> Any:
        place = _place_in_vbdesk(sys._getframe(1))
        if place is not None and not kwargs and _holding[-1]:  # with options: `shutil.rmtree`
            reason = check(*args)
            if reason is not None:
                refused.append(f"{call.__name__} at {place}: {reason}")
                number = errno.EEXIST if reason == TAKEN else errno.EBADF if reason == READ_ONLY else errno.EACCES
                raise OSError(number, f"{os.strerror(number)} (as on Windows: {reason})", str(args[0]))
        return call(*args, **kwargs)

    ruled.without_rules = call  # type: ignore[attr-defined]
    ruled.__name__ = call.__name__
    return ruled


def _place_in_vbdesk(frame: FrameType | None) -> str | None:
    """File and line of vbdesk for which this call is made; None if it is made for somebody else."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(PRODUCT):
            return f"{file.removeprefix(PRODUCT)}:{frame.f_lineno}"
        if not file.startswith(STANDARD) or "site-packages" in file or "<frozen" in file:
            return None
        frame = frame.f_back
    return None


OPEN, TAKEN, READ_ONLY = "the file is open", "the name is taken", "the file is open for reading only"


def _check_removal(path: Any) -> str | None:
    return OPEN if _is_open(path) else None


def _check_replacement(source: Any, target: Any) -> str | None:
    return OPEN if _is_open(source) or _is_open(target) else None


def _check_rename(source: Any, target: Any) -> str | None:
    return TAKEN if os.path.lexists(target) else _check_replacement(source, target)


def _check_flush(file: Any) -> str | None:
    number = file if isinstance(file, int) else file.fileno()
    if not stat.S_ISREG(os.fstat(number).st_mode):  # a folder: Windows cannot open it, and vbdesk knows
        return None
    return READ_ONLY if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY else None


def _is_open(path: Any) -> bool:
    """Whether this process has the file open, by whichever name, or a file below the folder."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    file = stat.S_ISREG(found.st_mode)
    below = "" if file else f"{Path(os.fsdecode(path)).resolve()}{os.sep}"
    for name in os.listdir(DESCRIPTORS):  # noqa: PTH208 - four times as fast, and this runs at most writes of tests
        try:
            held = os.fstat(int(name))
            if file:
                if held.st_ino == found.st_ino and held.st_dev == found.st_dev:
                    return True
            elif stat.S_ISREG(held.st_mode) and str(Path(DESCRIPTORS, name).readlink()).startswith(below):
                return True
        except OSError:  # closed in the meantime
            continue
    return False
