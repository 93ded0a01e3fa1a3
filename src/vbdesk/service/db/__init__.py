"""Tables, engines, transactions and migrations. Importing it registers every table."""

from vbdesk.service.db import accounts, credits, uploads
from vbdesk.service.db.metadata import metadata

__all__ = ["accounts", "credits", "metadata", "uploads"]
