"""Table of the oldest code revision that may use this schema."""

import sqlalchemy as sa

from vbdesk.service.kernel.db.metadata import metadata

schema_floor = sa.Table(
    "schema_floor",
    metadata,
    sa.Column("oldest_revision", sa.String(32), primary_key=True),
)
"""One row: code older than this revision must not start on this schema.

A migration raises it when it removes or changes something that older code uses; a migration that only adds leaves it.
So processes of the previous release can start and restart while those of the new release run.
"""
