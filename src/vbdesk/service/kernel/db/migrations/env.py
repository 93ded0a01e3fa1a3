"""Alembic's entry point: migrates the given connection and ignores tables of others."""

from alembic import context

from vbdesk.service.kernel.db import metadata
from vbdesk.service.kernel.db.migrations.filters import is_ours

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    include_object=is_ours,
    render_as_batch=True,
    compare_type=True,
    transaction_per_migration=True,  # where the connection has no transaction
)
with context.begin_transaction():
    context.run_migrations()
