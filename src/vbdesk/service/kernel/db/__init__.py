"""Tables, engines, transactions and migrations; importing it registers every table."""

from vbdesk.service.kernel.db import (
    accounts,
    console,
    count_triggers,
    credits,
    encryption,
    erasures,
    groups,
    jobs,
    schema_floor,
    stores,
    uploads,
    webhooks,
)
from vbdesk.service.kernel.db.metadata import metadata

__all__ = [
    "accounts",
    "console",
    "count_triggers",
    "credits",
    "encryption",
    "erasures",
    "groups",
    "jobs",
    "metadata",
    "schema_floor",
    "stores",
    "uploads",
    "webhooks",
]
