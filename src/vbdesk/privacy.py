"""What a process keeps from others: the memory it worked with, and the files and folders of its data.

Windows keeps a person's files from others by the rights of their profile folder and writes no core files, so most of
this does nothing there.
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
    """Write no core files, and give others no right to what this process and its children create.

    Called once, before a command begins.
    """
    global _callers_umask
    disable_core_dumps()
    _callers_umask = os.umask(0o077)


def disable_core_dumps() -> None:
    """Keep this process and its children from writing their memory to the disk: it holds keys and voices.

    A limit of 0 stops the kernel from writing a file. A program that the kernel pipes the image to is not bound by the
    limit, so the image is emptied too, where the system can do that.
    """
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        _CORE_FILTER.write_text("0")


def owner_only_opener(path: str, flags: int) -> int:
    """An opener for `open` that creates a file which only its owner reads and writes, whatever the umask."""
    return os.open(path, flags, FILE_MODE)


def create_private(path: Path) -> BinaryIO:
    """Create an empty file for its owner alone, whatever the umask, and open it to write. Raises OSError.

    What lies under the name goes first. A link that somebody puts there is not followed: it makes this fail.
    """
    path.unlink(missing_ok=True)
    return open(path, "xb", opener=owner_only_opener)


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for its owner alone. Raises OSError."""
    if not folder.exists():
        make_private(folder.parent)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=FOLDER_MODE)


def restrict_to_owner(paths: Iterable[Path], *, deep: bool = True) -> None:
    """Take the rights of others from files and folders; what is somebody else's is left.

    Args:
        paths: those that are not there are passed over, and so are links.
        deep: go through all that is in the folders.
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
    """Whether the owner of a folder shares it with a group: it is set-group-id, or its group may write.

    A folder for everybody with a sticky bit, such as /tmp, is not shared.
    """
    if sys.platform == "win32":
        return False
    mode = folder.stat().st_mode
    return bool(mode & (stat.S_ISGID | stat.S_IWGRP)) and not mode & stat.S_ISVTX


def set_export_mode(path: Path) -> None:
    """Give a file or folder that a person exports its rights: for its owner alone, or as its shared folder has them.

    In a shared folder the umask counts with which the command was called. A file system without rights is left alone.
    """
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        found = path.stat().st_mode
        whole = (FOLDER_MODE | 0o077) if stat.S_ISDIR(found) else (FILE_MODE | 0o066)
        mode = whole & ~_umask() if is_group_shared(path.parent) else whole & 0o700
        path.chmod(mode | found & stat.S_ISGID)


def make_export_folder(folder: Path) -> None:
    """Make a folder for exports, and those above it that are missing, with the rights of exports. Raises OSError."""
    if not folder.exists():
        make_export_folder(folder.parent)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=FOLDER_MODE)
            set_export_mode(folder)


def _umask() -> int:
    """The umask of whoever called the command; that of this process where it runs as a library."""
    if _callers_umask is not None:
        return _callers_umask
    umask = os.umask(0o077)
    os.umask(umask)
    return umask
