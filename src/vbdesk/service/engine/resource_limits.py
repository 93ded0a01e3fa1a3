"""Resource limits of a child process."""

import math
import sys
import time
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


def limit_processor_time(seconds: float | None) -> None:
    """Let this process use so much processor time from now on; then the system ends it with SIGXCPU.

    The system counts whole seconds, of all threads. Windows has no such limit.

    Args:
        seconds: None removes the limit.
    """
    if sys.platform == "win32":
        return
    import resource

    _, hard_limit = resource.getrlimit(resource.RLIMIT_CPU)
    limit = hard_limit if seconds is None else math.ceil(time.process_time() + seconds)
    if hard_limit != resource.RLIM_INFINITY:
        limit = min(limit, hard_limit)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, hard_limit))


def ended_by_processor_time(exit_code: int | None) -> bool:
    """Return whether the system ended a child because of `limit_processor_time`."""
    if sys.platform == "win32":
        return False
    import signal

    return exit_code == -signal.SIGXCPU
