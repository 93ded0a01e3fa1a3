"""A disk under the database that fails on demand, with SQLite's errors, at any write."""

import sqlite3
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from vbdesk.outbox.library import encrypted_sqlite

WRITES = ("BEGIN", "INSERT", "UPDATE", "DELETE", "COMMIT")


def sqlite_error(name="SQLITE_FULL"):
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorname = name
    return error


@dataclass
class FailingDisk:
    """A disk under the database that fails from its n-th write on, until there is room again.

    Attributes:
        fails_at: the first write to fail; None for none.
        undoes: whether SQLite rolls the transaction back itself, as it may on a full disk.
        keeps: whether a COMMIT that reports failure has reached the disk anyway.
    """

    fails_at: int | None = None
    undoes: bool = False
    keeps: bool = False
    error: str = "SQLITE_FULL"
    full: bool = False
    writes: int = 0
    refused: Counter = field(default_factory=Counter)

    def connection(self):
        disk = self

        class FailingConnection(encrypted_sqlite.Connection):
            def execute(self, statement, *values):
                if not statement.startswith(WRITES):
                    return super().execute(statement, *values)
                if disk.takes_write():
                    return super().execute(statement, *values)
                disk.refused[statement.split()[0]] += 1
                if statement == "COMMIT" and disk.keeps:
                    super().execute(statement)
                elif self.in_transaction and disk.undoes:
                    super().execute("ROLLBACK")
                raise sqlite_error(disk.error)

        return FailingConnection

    def takes_write(self):
        self.writes += 1
        self.full = self.full or self.writes - 1 == self.fails_at
        return not self.full

    def make_room(self):
        self.full, self.fails_at = False, None

    def under_databases(self, monkeypatch):
        """Use this disk for every database that is opened from now on."""
        monkeypatch.setattr(encrypted_sqlite, "Connection", self.connection())
        return self


def fill(folder):
    """Leave no room on a real disk; returns the file that fills it."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for piece in (64 * 1024, 4096, 1):
            with suppress(OSError):
                while True:
                    file.write(bytes(piece))
    return filler
