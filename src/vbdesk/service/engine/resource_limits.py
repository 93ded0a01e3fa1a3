"""What a child process may take of this computer."""

import sys
from pathlib import Path

from vbdesk.privacy import disable_core_dumps

MEMORY_SIZE = Path("/proc/self/statm")


def limit_resources(memory_bytes: int | None) -> bool:
    """Bound this process's memory, and let no crash write what is in it to the disk.

    Past the limit an allocation fails, which Python code sees as `MemoryError` and native code rarely survives. Windows
    has no such limit and macOS does not keep it: there only time bounds a task.

    Args:
        memory_bytes: how much more it may take than it has now; None does not bound it.

    Returns:
        Whether the memory is bounded from now on.
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
        return True  # somebody has set a lower one
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return True
