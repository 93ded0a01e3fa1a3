"""Private files and memory: file permissions, and no core dumps.

On Windows the profile folder protects a user's files, and there are no core files, so most functions do nothing there.
"""

import contextlib
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_CORE_FILTER = Path("/proc/self/coredump_filter")

_callers_umask: int | None = None


def protect_process() -> None:
    """Disable core dumps, and create all files of this process and its children for the owner only.

    Call once, before a command starts.
    """
    global _callers_umask
    disable_core_dumps()
    _callers_umask = os.umask(0o077)


def disable_core_dumps() -> None:
    """Disable core dumps of this process and its children, because their memory holds keys and recordings.

    A limit of 0 stops the kernel from writing a file. The limit does not apply to a program that the kernel pipes the
    dump to, so the dump is also emptied, if the system supports it.
    """
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        _CORE_FILTER.write_text("0")


def owner_only_opener(path: str, flags: int) -> int:
    """Opener for `open` that creates a file readable and writable by its owner only, for any umask."""
    return os.open(path, flags, FILE_MODE)


def create_private(path: Path) -> BinaryIO:
    """Create an empty file for its owner only, for any umask, and open it for writing. Raises OSError.

    An existing file is removed first. The call fails, and follows no link, if a link is created in between.
    """
    path.unlink(missing_ok=True)
    return open(path, "xb", opener=owner_only_opener)


def make_private(folder: Path) -> None:
    """Create a folder and its missing parents for the owner only. Raises OSError."""
    if not folder.exists():
        make_private(folder.parent)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=FOLDER_MODE)


def restrict_to_owner(paths: Iterable[Path], *, deep: bool = True) -> None:
    """Remove the permissions of group and others; files of other owners stay unchanged.

    Args:
        paths: files and folders; missing ones and links are skipped.
        deep: include the contents of folders.
    """
    if sys.platform == "win32":
        return
    for path in paths:
        try:
            found = path.lstat()
        except OSError:
            continue
        if stat.S_ISLNK(found.st_mode):
            continue
        if found.st_mode & 0o077:
            with contextlib.suppress(OSError):
                path.chmod(stat.S_IMODE(found.st_mode) & 0o700)
        if deep and stat.S_ISDIR(found.st_mode):
            with contextlib.suppress(OSError):
                restrict_to_owner(list(path.iterdir()))


def is_group_shared(folder: Path) -> bool:
    """Whether a folder is shared with a group: it is set-group-id, or writable by its group.

    A folder with a sticky bit, such as /tmp, is not shared.
    """
    if sys.platform == "win32":
        return False
    mode = folder.stat().st_mode
    return bool(mode & (stat.S_ISGID | stat.S_IWGRP)) and not mode & stat.S_ISVTX


def set_export_mode(path: Path) -> None:
    """Set the permissions of an exported file or folder: owner only, or by the umask in a shared folder.

    The umask is that of the caller of the command. A file system without permissions is left unchanged.
    """
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        found = path.stat().st_mode
        whole = (FOLDER_MODE | 0o077) if stat.S_ISDIR(found) else (FILE_MODE | 0o066)
        mode = whole & ~_umask() if is_group_shared(path.parent) else whole & 0o700
        path.chmod(mode | found & stat.S_ISGID)


def make_export_folder(folder: Path) -> None:
    """Create an export folder and its missing parents, with the permissions of exports. Raises OSError."""
    if not folder.exists():
        make_export_folder(folder.parent)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=FOLDER_MODE)
            set_export_mode(folder)


def _umask() -> int:
    """The umask of the command's caller, or of this process if it runs as a library."""
    if _callers_umask is not None:
        return _callers_umask
    umask = os.umask(0o077)
    os.umask(umask)
    return umask
