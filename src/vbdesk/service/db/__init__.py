"""Tables, engines, transactions and migrations. Importing it registers every table."""

from vbdesk.service.db import (
    accounts,
    console,
    counting,
    credits,
    encryption,
    erasures,
    groups,
    jobs,
    schema,
    stores,
    uploads,
    webhooks,
)
from vbdesk.service.db.metadata import metadata

__all__ = [
    "accounts",
    "console",
    "counting",
    "credits",
    "encryption",
    "erasures",
    "groups",
    "jobs",
    "metadata",
    "schema",
    "stores",
    "uploads",
    "webhooks",
]
