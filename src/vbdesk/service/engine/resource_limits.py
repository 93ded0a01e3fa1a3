"""Resource limits of a child process."""

import sys
from pathlib import Path

from vbdesk.privacy import disable_core_dumps

MEMORY_SIZE = Path("/proc/self/statm")


def limit_resources(memory_bytes: int | None) -> bool:
    """Limit this process's memory, and disable core dumps, which would write its memory to the disk.

    Past the limit an allocation fails: Python code sees `MemoryError`, native code usually crashes. Windows has no such
    limit and macOS does not enforce it: there only a timeout limits a task.

    Args:
        memory_bytes: memory in addition to current use; None sets no limit.

    Returns:
        Whether the memory is limited from now on.
    """
    if sys.platform == "win32":
        return False
    import resource

    disable_core_dumps()
    if memory_bytes is None or not MEMORY_SIZE.exists():
        return False
    pages = int(MEMORY_SIZE.read_text().split()[0])
    limit = pages * resource.getpagesize() + memory_bytes
    _, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
    if hard_limit != resource.RLIM_INFINITY and hard_limit < limit:
        return True  # a lower limit is already set
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return True
