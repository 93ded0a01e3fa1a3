"""Tables of the object store: its identity, quarantined objects, objects to remove."""

import sqlalchemy as sa

from vbdesk.service.kernel.db.metadata import ID_LENGTH, UtcDateTime, metadata

KEY_LENGTH = 120

store_identity = sa.Table(
    "store_identity",
    metadata,
    sa.Column("only_row", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("store_id", sa.String(ID_LENGTH), nullable=False),
    sa.CheckConstraint("only_row = 1", name="one_row"),
)
"""One row: the random id that the database and its object store share."""

quarantined_objects = sa.Table(
    "quarantined_objects",
    metadata,
    sa.Column("object_key", sa.String(KEY_LENGTH), primary_key=True),
    sa.Column("noted_at", UtcDateTime, nullable=False),
    sa.Column("seen_at", UtcDateTime, nullable=False),
    sa.Column("days_seen", sa.Integer, nullable=False),
)
"""How long each object has been in quarantine; the store's listing says which objects are there.

`object_key` is the key from before the quarantine. `days_seen` counts the sweeps that found it, a day apart, so that a
jump of the clock does not make it older.
"""

erased_objects = sa.Table(
    "erased_objects",
    metadata,
    sa.Column("object_key", sa.String(KEY_LENGTH), primary_key=True),
    sa.Column("erased_at", UtcDateTime, nullable=False),
)
"""Objects of erased jobs that the store still has to remove; the row is deleted after its object.

`erased_at` is in the future for an upload whose address is still valid: a file may still arrive there, and is then
removed again.
"""
