"""Table of the console's sessions."""

import sqlalchemy as sa

from vbdesk.service.kernel.db.metadata import UtcDateTime, account_reference, metadata

console_sessions = sa.Table(
    "console_sessions",
    metadata,
    sa.Column("token_hash", sa.LargeBinary(32), primary_key=True),
    account_reference(),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("last_seen_at", UtcDateTime, nullable=False),
)
"""Sign-in sessions of the console. Only the browser has the token itself."""
