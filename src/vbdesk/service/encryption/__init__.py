"""Encryption at rest of recordings and of database texts that contain results."""
