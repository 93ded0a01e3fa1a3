"""SQL functions that the SQLite of some systems lacks.

DBOS stamps its rows with `unixepoch('subsec')` from Python 3.12 on. SQLite answers that since 3.42; older ones, such as
the 3.40 of Debian 12, take `subsec` for a time that they cannot read and answer NULL. There, this module answers it on
every connection of the process, also on those that DBOS opens. Databases move between both without a change.
"""

import sqlite3
from typing import Any

from sqlalchemy import event
from sqlalchemy.pool import Pool

from vbdesk.clock import SystemClock

KNOWS_SUBSEC = (3, 42, 0)
_SUBSECOND = {"subsec", "subsecond"}


def supply_functions(connection: Any, _record: object = None) -> None:
    """Add the missing functions to a new connection; does nothing for another database or a newer SQLite."""
    if isinstance(connection, sqlite3.Connection) and sqlite3.sqlite_version_info < KNOWS_SUBSEC:
        connection.create_function("unixepoch", 1, _unixepoch)


def _unixepoch(modifier: object) -> float:
    """Seconds since 1970, to the millisecond. This replaces SQLite's own function of one argument.

    Raises:
        ValueError: another argument than `subsec`; nothing in this service asks for one.
    """
    if modifier not in _SUBSECOND:
        raise ValueError(f"unixepoch({modifier!r}) is not supplied.")
    return round(SystemClock().now().timestamp(), 3)


event.listen(Pool, "connect", supply_functions)
