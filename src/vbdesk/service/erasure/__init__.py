"""Erasure of a person's data: jobs, recordings, groups and accounts."""
