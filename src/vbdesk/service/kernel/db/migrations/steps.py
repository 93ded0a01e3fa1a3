"""Migration steps that do not block a busy database."""

import sqlalchemy as sa
from alembic import op


def create_index(name: str, table: str, columns: list[str], *, where: str | None = None) -> None:
    """Create an index; on PostgreSQL while others write to the table.

    It must be alone in its migration, because it cannot be rolled back. It waits for running transactions without a
    time limit and blocks nobody. An invalid index of an interrupted attempt is replaced. `where` is the condition of a
    partial index.
    """
    condition = None if where is None else sa.text(where)
    if op.get_bind().dialect.name != "postgresql":
        op.create_index(name, table, columns, sqlite_where=condition)
        return
    with op.get_context().autocommit_block():
        connection = op.get_bind()
        bound = connection.execute(sa.text("SHOW lock_timeout")).scalar_one()
        connection.execute(sa.text("SET lock_timeout = 0"))
        op.drop_index(name, table, postgresql_concurrently=True, if_exists=True)
        op.create_index(name, table, columns, postgresql_where=condition, postgresql_concurrently=True)
        connection.execute(sa.select(sa.func.set_config("lock_timeout", bound, False)))
