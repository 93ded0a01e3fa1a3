"""Which tables are ours."""

from typing import Any

from vbdesk.service.kernel.db import metadata


def is_ours(_object: Any, name: str | None, kind: str, reflected: bool, _compare_to: Any) -> bool:
    """The job engine keeps tables in the same database; they are not ours to compare or drop."""
    return not (kind == "table" and reflected and name not in metadata.tables)
