"""Maintenance of stored data: orphans, retention, store identity, copies, encryption of existing data, resealing."""
