"""Tables of the object store: which one belongs to this database, what is quarantined there, what must still go."""

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
"""One row: the random id that the object store of this database holds too."""

quarantined_objects = sa.Table(
    "quarantined_objects",
    metadata,
    sa.Column("object_key", sa.String(KEY_LENGTH), primary_key=True),
    sa.Column("noted_at", UtcDateTime, nullable=False),
    sa.Column("seen_at", UtcDateTime, nullable=False),
    sa.Column("days_seen", sa.Integer, nullable=False),
)
"""How long each object has been in quarantine; the listing of the store says which objects are there.

`object_key` is the key from before the quarantine. `days_seen` counts the sweeps that saw it, a day apart: a clock that
jumps makes nothing older.
"""

erased_objects = sa.Table(
    "erased_objects",
    metadata,
    sa.Column("object_key", sa.String(KEY_LENGTH), primary_key=True),
    sa.Column("erased_at", UtcDateTime, nullable=False),
)
"""Objects of erased jobs that the store still has to remove; a row goes when its object is gone.

`erased_at` lies in the future for an upload whose address is still open: a file may yet be put there, and is removed
again.
"""
