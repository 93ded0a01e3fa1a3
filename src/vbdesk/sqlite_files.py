"""Files of an SQLite database."""

from pathlib import Path


def orphaned_log(database: Path) -> Path | None:
    """The write-ahead log of a database that is missing or empty; None in every other case.

    After a kill the log holds the newest transactions. SQLite deletes it when it opens an empty database beside it.
    """
    log = database.with_name(f"{database.name}-wal")
    return log if _size(log) > 0 and _size(database) == 0 else None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
