"""Tables, engines, transactions and migrations; importing it registers every table."""

from vbdesk.service.kernel.db import count_triggers, jobs, tables
from vbdesk.service.kernel.db.metadata import metadata

__all__ = ["count_triggers", "jobs", "metadata", "tables"]
