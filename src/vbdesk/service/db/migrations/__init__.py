"""Migrations of the database, in order; applied by `vbdesk.service.db.migrate`."""
