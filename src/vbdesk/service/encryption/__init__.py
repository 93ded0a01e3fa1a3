"""Encryption at rest: recordings in files, and texts of the database from which a result can be read."""
