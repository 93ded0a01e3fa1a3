"""Why the system refused a file, in the reader's language."""

import errno

from vbdesk.language.messages import Message, literal, message


def system_reason(error: OSError) -> Message:
    """The system's reason, such as "No such file or directory"; a rare one stays in the system's language."""
    match error.errno:
        case errno.ENOENT:
            return message("No such file or directory")
        case errno.EACCES | errno.EPERM:
            return message("Permission denied")
        case errno.EISDIR:
            return message("Is a directory")
        case errno.ENOTDIR:
            return message("Not a directory")
        case errno.EEXIST:
            return message("File exists")
        case errno.ENOSPC | errno.EDQUOT:
            return message("No space left on device")
        case errno.EROFS:
            return message("Read-only file system")
        case errno.EIO:
            return message("Input/output error")
    return literal(error.strerror or type(error).__name__)
