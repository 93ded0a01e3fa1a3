"""Migrations of the database, in order; applied by `vbdesk.service.kernel.db.migrate`."""
