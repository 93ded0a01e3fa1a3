"""Alembic's entry: migrates the connection it is handed, and sees our tables only."""

from typing import Any

from alembic import context

from vbdesk.service.db import metadata


def _is_ours(_object: Any, name: str | None, kind: str, reflected: bool, _compare_to: Any) -> bool:
    """The job engine keeps tables in the same database; they are not ours to compare or drop."""
    return not (kind == "table" and reflected and name not in metadata.tables)


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    include_object=_is_ours,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
