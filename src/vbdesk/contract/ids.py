"""Time-sortable identifiers (UUID version 7, RFC 9562)."""

import secrets
import threading
import uuid
from datetime import UTC, datetime, timedelta

from vbdesk.clock import utc_now

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """Create a UUIDv7 that is greater than every earlier one of this process.

    The 12 bits after the milliseconds are a counter within one millisecond, so ids of one process sort by age.
    """
    global _last
    with _lock:
        ticks = max(((utc_now() - _EPOCH) // timedelta(milliseconds=1)) << 12, _last + 1)
        _last = ticks
    milliseconds, sequence = ticks >> 12, ticks & 0xFFF
    value = milliseconds << 80 | 0x7 << 76 | sequence << 64 | 0b10 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=value))


def id_timestamp(identifier: str) -> datetime:
    """The creation time of an id, to the millisecond.

    Raises:
        ValueError: `identifier` is not a UUIDv7.
    """
    value = uuid.UUID(identifier)
    if value.version != 7:
        raise ValueError("This id does not contain its creation time.")
    return datetime.fromtimestamp((value.int >> 80) / 1000, UTC)
