"""Disk faults: which errors mean full, write-protected or gone, and what to tell a person."""

import errno
import socket
import sqlite3
import ssl
from enum import StrEnum

from vbdesk.language import N_, joined, message


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
_TEXTS = {
    DiskFault.FULL: N_("The disk is full."),
    DiskFault.QUOTA: N_("The quota of this account on the disk is used up."),
    DiskFault.READ_ONLY: N_("The disk is write-protected."),
    DiskFault.GONE: N_("The disk is gone, damaged or over its quota."),
    DiskFault.BUSY: N_("Another program holds the list of recordings."),
    DiskFault.UNKNOWN: N_("The list of recordings cannot be used: the disk is full or gone, or the list is damaged."),
}
_NOTHING_LOST = N_("Nothing is lost.")
_THEN_GOES_ON = {
    DiskFault.FULL: N_("Make room, and the recordings go on automatically."),
    DiskFault.QUOTA: N_("Make room or have the quota raised, and the recordings go on automatically."),
    DiskFault.READ_ONLY: N_("Make it writable, and the recordings go on automatically."),
    DiskFault.GONE: N_("Connect it or make room, and the recordings go on automatically."),
    DiskFault.BUSY: N_("Close that program, and the recordings go on automatically."),
    DiskFault.UNKNOWN: N_("Make room or run vbdesk doctor, and the recordings go on automatically."),
}
_THEN_TRY_AGAIN = {
    DiskFault.FULL: N_("Make room, then try again."),
    DiskFault.QUOTA: N_("Make room or have the quota raised, then try again."),
    DiskFault.READ_ONLY: N_("Make it writable, then try again."),
    DiskFault.GONE: N_("Connect it or make room, then try again."),
    DiskFault.BUSY: N_("Close that program, then try again."),
    DiskFault.UNKNOWN: N_("Make room or run vbdesk doctor, then try again."),
}
_THEN_RUN_AGAIN = {
    DiskFault.FULL: N_("Make room, then run the command again."),
    DiskFault.QUOTA: N_("Make room or have the quota raised, then run the command again."),
    DiskFault.READ_ONLY: N_("Make it writable, then run the command again."),
    DiskFault.GONE: N_("Connect it or make room, then run the command again."),
    DiskFault.BUSY: N_("Close that program, then run the command again."),
    DiskFault.UNKNOWN: N_("Make room or run vbdesk doctor, then run the command again."),
}


def disk_fault(error: BaseException | None) -> DiskFault | None:
    """The disk fault that `error` means; None if it is no disk error."""
    if isinstance(error, sqlite3.Error):
        name = getattr(error, "sqlite_errorname", None) or ""
        return next((fault for prefix, fault in _BY_SQLITE if name.startswith(prefix)), DiskFault.UNKNOWN)
    return _BY_ERRNO.get(error.errno or 0) if isinstance(error, OSError) else None


def waiting_sentence(error: BaseException) -> str:
    """What to say while recordings wait for the disk."""
    fault = disk_fault(error) or DiskFault.UNKNOWN
    return joined(_TEXTS[fault], _NOTHING_LOST, _THEN_GOES_ON[fault])


def refused_sentence(fault: DiskFault) -> str:
    """What to say when the disk refused one operation."""
    return joined(_TEXTS[fault], _THEN_TRY_AGAIN[fault])


def stopped_sentence(fault: DiskFault) -> str:
    """What to say when a command stopped because of the disk."""
    return joined(_TEXTS[fault], _NOTHING_LOST, _THEN_RUN_AGAIN[fault])


def file_sentence(error: OSError) -> str:
    """What is wrong with a file, a folder or the network, and what to do; by the kind of error."""
    fault = disk_fault(error)
    if fault is not None:
        return refused_sentence(fault)
    match error:
        case FileNotFoundError():
            return message(
                "A file or folder is missing. Check whether it was moved or its drive was removed, then try again."
            )
        case PermissionError():
            return message(
                "This account of the computer may not read or write there. Change the permissions, or choose another "
                "folder, then try again."
            )
        case FileExistsError():
            return message("A file of this name is there already. Choose another name, then try again.")
        case NotADirectoryError() | IsADirectoryError():
            return message(
                "A folder was expected and a file is there, or the reverse. Choose another place, then try again."
            )
        case TimeoutError() | ConnectionError() | socket.gaierror() | ssl.SSLError():
            return message("The network did not answer. Check the connection, then try again.")
    if error.errno in _NETWORK:
        return message("This computer has no way to the network. Check the connection, then try again.")
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return message("Too many files are open on this computer. Close other programs, then try again.")
    cause = error.strerror or type(error).__name__
    return message(
        "The computer refused to use a file ({cause}). Try again; if it happens again, run vbdesk doctor.", cause=cause
    )
