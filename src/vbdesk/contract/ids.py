"""Time-sortable identifiers (UUID version 7, RFC 9562)."""

import secrets
import threading
import time
import uuid

_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """A new UUIDv7, greater than every earlier one of this process.

    The 12 bits behind the milliseconds count on within one millisecond, so ids of one process sort by age.
    """
    global _last
    with _lock:
        ticks = max((time.time_ns() // 1_000_000) << 12, _last + 1)
        _last = ticks
    milliseconds, sequence = ticks >> 12, ticks & 0xFFF
    value = milliseconds << 80 | 0x7 << 76 | sequence << 64 | 0b10 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=value))
