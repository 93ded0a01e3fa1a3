"""Table that says how old the code may be that still serves this schema."""

import sqlalchemy as sa

from vbdesk.service.kernel.db.metadata import metadata

schema_floor = sa.Table(
    "schema_floor",
    metadata,
    sa.Column("oldest_revision", sa.String(32), primary_key=True),
)
"""One row: the revision below which code must not start here.

A migration that takes away or changes what older code leans on raises it; one that only adds leaves it. So processes of
the release before can start, and start again, beside those of the new one.
"""
