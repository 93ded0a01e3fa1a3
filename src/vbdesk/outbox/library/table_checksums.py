"""One checksum over all rows of each table: detects rows that were changed, added, removed or replaced by older ones.

Each row counts as a MAC under the library's key. So a change updates the sum from its own rows, and nobody without the
key can make rows with the same sum. A row of `recordings` stores its MAC, which also covers its rows in `pending` and
`results` (`rows`). The small tables are covered as a whole.

Not covered: `requests`, which only paces our requests, and the answers cached in `reads` and `trajectories`, which are
encrypted with their time and can be read again.
"""

import hmac
import json
from collections.abc import Callable, Mapping

from vbdesk.outbox.library.column_encryption import MAC_BYTES, ColumnCipher
from vbdesk.outbox.library.encrypted_sqlite import DatabaseRow

PROVED_TABLES = {
    "jobs": ("job_id", "take_id"),
    "removed": ("take_id", "version"),
    "settings": ("name", "sealed"),
    "subjects": ("group_id", "sealed"),
    "opened": ("take_id",),
    "bundles": ("bundle_id", "made_at", "settled", "sealed"),
    "corrections_due": ("number", "sealed"),
    "subject_keys": ("key_id", "subject", "sealed"),
    "audit": ("seq", "at", "who", "what", "take_id", "detail", "subject_keys", "sealed", "mac"),
}
"""Columns of the tables that are covered as a whole; the first is the key. Of `audit` the events of subjects are."""
_CONDITIONS = {"audit": "WHERE subject_keys IS NOT NULL"}
RECORDINGS = "recordings"

Rows = Callable[[str], list[DatabaseRow]]
Sums = dict[str, int]
_MODULUS = 1 << (8 * MAC_BYTES)
_to_json = json.JSONEncoder(separators=(",", ":"), default=lambda value: {"hex": value.hex()}).encode


def sums_of(rows: Rows, cipher: ColumnCipher, tables: Mapping[str, tuple[str, ...]] = PROVED_TABLES) -> Sums:
    """The sums of the present rows; `rows` runs a query."""
    sums = {RECORDINGS: sum(_number(row["mac"]) for row in rows("SELECT mac FROM main.recordings")) % _MODULUS}
    for table, columns in tables.items():
        found = rows(f"SELECT {', '.join(columns)} FROM main.{table} {_CONDITIONS.get(table, '')}")  # noqa: S608 - names are ours
        sums[table] = sum(_number(table_row_mac(cipher, table, tuple(row))) for row in found) % _MODULUS
    return sums


def table_row_mac(cipher: ColumnCipher, table: str, values: tuple[object, ...]) -> bytes:
    """MAC of a whole row of a table."""
    return cipher.mac_of(f"{table}/{_to_json(values)}")


def move(sums: Sums, table: str, before: object, after: object) -> None:
    """Update a sum when the MAC of a row changes; None means no row."""
    sums[table] = (sums[table] - _number(before) + _number(after)) % _MODULUS


def seal_sums(cipher: ColumnCipher, sums: Mapping[str, int], version: int) -> bytes:
    """The sums as stored at `version` of the library."""
    text = _to_json({table: f"{total:x}" for table, total in sums.items()})
    return cipher.mac_of(f"sums/{version}/{text}") + text.encode()


def open_sums(cipher: ColumnCipher, kept: object, version: int) -> Sums | None:
    """The sums at `version`; None if somebody else wrote them."""
    if not isinstance(kept, bytes):
        return None
    try:
        text = kept[MAC_BYTES:].decode()
        if not hmac.compare_digest(kept[:MAC_BYTES], cipher.mac_of(f"sums/{version}/{text}")):
            return None
        return {table: int(total, 16) for table, total in json.loads(text).items()}
    except ValueError:
        return None


def _number(mac: object) -> int:
    """A MAC as a number; 0 for no row, and for an invalid value."""
    return int.from_bytes(mac, "big") if isinstance(mac, bytes) else 0
