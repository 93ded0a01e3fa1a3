"""One sum over all rows of each table: a row that was changed, added, removed or put back in an older form is noticed.

Each row counts as a MAC under the library's key, so the sum of a table is kept up to date by the rows that change, and
nobody without the key can make rows that have the same sum. A row of `recordings` keeps its MAC, and so proves itself
as well; it speaks for its rows in `pending` and `results` too (`rows`). The small tables are proved as a whole.

Not proved: `requests`, which paces our own requests, and answers of the service in `reads` and `trajectories`, which
are sealed with their time and are read again.
"""

import hmac
import json
import sqlite3
from collections.abc import Callable, Mapping

from vbdesk.outbox.library.column_encryption import MAC_BYTES, ColumnSeal

PROVED_TABLES = {
    "jobs": ("job_id", "take_id"),
    "removed": ("take_id", "version"),
    "settings": ("name", "sealed"),
    "subjects": ("group_id", "sealed"),
    "opened": ("take_id",),
    "bundles": ("bundle_id", "made_at", "settled", "sealed"),
}
"""Columns of the tables that are proved as a whole; the first is the key."""
RECORDINGS = "recordings"

Rows = Callable[[str], list[sqlite3.Row]]
Sums = dict[str, int]
_MODULUS = 1 << (8 * MAC_BYTES)
_to_json = json.JSONEncoder(separators=(",", ":"), default=lambda value: {"hex": value.hex()}).encode


def sums_of(rows: Rows, seal: ColumnSeal) -> Sums:
    """The sums of the tables as they are; `rows` reads."""
    sums = {RECORDINGS: sum(_number(row["mac"]) for row in rows("SELECT mac FROM recordings")) % _MODULUS}
    for table, columns in PROVED_TABLES.items():
        found = rows(f"SELECT {', '.join(columns)} FROM {table}")  # noqa: S608 - names are ours
        sums[table] = sum(_number(table_row_mac(seal, table, tuple(row))) for row in found) % _MODULUS
    return sums


def table_row_mac(seal: ColumnSeal, table: str, values: tuple[object, ...]) -> bytes:
    """MAC of a whole row of a table."""
    return seal.mac_of(f"{table}/{_to_json(values)}")


def move(sums: Sums, table: str, before: object, after: object) -> None:
    """Bring a sum up to date once the MAC of a row changes; None stands for no row."""
    sums[table] = (sums[table] - _number(before) + _number(after)) % _MODULUS


def seal_sums(seal: ColumnSeal, sums: Mapping[str, int], version: int) -> bytes:
    """The sums as they are kept at `version` of the library."""
    text = _to_json({table: f"{total:x}" for table, total in sums.items()})
    return seal.mac_of(f"sums/{version}/{text}") + text.encode()


def open_sums(seal: ColumnSeal, kept: object, version: int) -> Sums | None:
    """The sums at `version`; None if somebody else wrote them."""
    if not isinstance(kept, bytes):
        return None
    try:
        text = kept[MAC_BYTES:].decode()
        if not hmac.compare_digest(kept[:MAC_BYTES], seal.mac_of(f"sums/{version}/{text}")):
            return None
        return {table: int(total, 16) for table, total in json.loads(text).items()}
    except ValueError:
        return None


def _number(mac: object) -> int:
    """A MAC as a number; 0 for no row, and for what somebody else put in its place."""
    return int.from_bytes(mac, "big") if isinstance(mac, bytes) else 0
