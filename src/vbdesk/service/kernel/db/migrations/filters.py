"""Filter that limits Alembic to our tables."""

from typing import Any

from vbdesk.service.kernel.db import metadata


def is_ours(_object: Any, name: str | None, kind: str, reflected: bool, _compare_to: Any) -> bool:
    """Exclude the job engine's tables, which are in the same database."""
    return not (kind == "table" and reflected and name not in metadata.tables)
