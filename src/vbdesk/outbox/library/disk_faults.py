"""Disk faults: which errors mean full, write-protected or gone, and what to tell a person."""

import errno
import socket
import sqlite3
import ssl
from enum import StrEnum


class DiskFault(StrEnum):
    """Why the disk refuses to write or read."""

    FULL = "full"
    QUOTA = "quota"
    READ_ONLY = "read_only"
    GONE = "gone"
    BUSY = "busy"  # another program holds the database
    UNKNOWN = "unknown"  # a database error without a cause


_BY_ERRNO = {
    errno.ENOSPC: DiskFault.FULL,
    errno.EDQUOT: DiskFault.QUOTA,
    errno.EFBIG: DiskFault.QUOTA,  # the account's limit on file size
    errno.EROFS: DiskFault.READ_ONLY,
    errno.EIO: DiskFault.GONE,
    errno.ENODEV: DiskFault.GONE,
    errno.ENXIO: DiskFault.GONE,
    errno.ESTALE: DiskFault.GONE,
    errno.ENOTCONN: DiskFault.GONE,
}
_NETWORK = {errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL}
_BY_SQLITE = (
    ("SQLITE_FULL", DiskFault.FULL),
    ("SQLITE_READONLY", DiskFault.READ_ONLY),
    ("SQLITE_BUSY", DiskFault.BUSY),
    ("SQLITE_LOCKED", DiskFault.BUSY),
    ("SQLITE_IOERR", DiskFault.GONE),  # also reported for a used-up quota
    ("SQLITE_CANTOPEN", DiskFault.GONE),
    ("SQLITE_PERM", DiskFault.READ_ONLY),
)
_WORDS = {
    DiskFault.FULL: ("The disk is full.", "Make room"),
    DiskFault.QUOTA: ("The quota of this account on the disk is used up.", "Make room or have the quota raised"),
    DiskFault.READ_ONLY: ("The disk is write-protected.", "Make it writable"),
    DiskFault.GONE: ("The disk is gone, damaged or over its quota.", "Connect it or make room"),
    DiskFault.BUSY: ("Another program holds the list of recordings.", "Close that program"),
    DiskFault.UNKNOWN: (
        "The list of recordings cannot be used: the disk is full or gone, or the list is damaged.",
        "Make room or run vbdesk doctor",
    ),
}


def disk_fault(error: BaseException | None) -> DiskFault | None:
    """The disk fault that `error` means; None if it is no disk error."""
    if isinstance(error, sqlite3.Error):
        name = getattr(error, "sqlite_errorname", None) or ""
        return next((fault for prefix, fault in _BY_SQLITE if name.startswith(prefix)), DiskFault.UNKNOWN)
    return _BY_ERRNO.get(error.errno or 0) if isinstance(error, OSError) else None


def waiting_sentence(error: BaseException) -> str:
    """What to say while recordings wait for the disk."""
    what, remedy = _WORDS[disk_fault(error) or DiskFault.UNKNOWN]
    return f"{what} Nothing is lost. {remedy}, and the recordings go on automatically."


def refused_sentence(fault: DiskFault) -> str:
    """What to say when the disk refused one operation."""
    what, remedy = _WORDS[fault]
    return f"{what} {remedy}, then try again."


def stopped_sentence(fault: DiskFault) -> str:
    """What to say when a command stopped because of the disk."""
    what, remedy = _WORDS[fault]
    return f"{what} Nothing is lost. {remedy}, then run the command again."


def file_sentence(error: OSError) -> str:
    """What is wrong with a file, a folder or the network, and what to do; by the kind of error."""
    fault = disk_fault(error)
    if fault is not None:
        return refused_sentence(fault)
    match error:
        case FileNotFoundError():
            return "A file or folder is missing. Check whether it was moved or its drive was removed, then try again."
        case PermissionError():
            return (
                "This account of the computer may not read or write there. Change the permissions, or choose another "
                "folder, then try again."
            )
        case FileExistsError():
            return "A file of this name is there already. Choose another name, then try again."
        case NotADirectoryError() | IsADirectoryError():
            return "A folder was expected and a file is there, or the reverse. Choose another place, then try again."
        case TimeoutError() | ConnectionError() | socket.gaierror() | ssl.SSLError():
            return "The network did not answer. Check the connection, then try again."
    if error.errno in _NETWORK:
        return "This computer has no way to the network. Check the connection, then try again."
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "Too many files are open on this computer. Close other programs, then try again."
    cause = error.strerror or type(error).__name__
    return f"The computer refused to use a file ({cause}). Try again; if it happens again, run vbdesk doctor."
