"""Maintenance: orphans, retention, store identity, copies, encryption of existing data."""
