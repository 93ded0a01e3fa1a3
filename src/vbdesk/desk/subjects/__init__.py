"""Subjects: the list of all subjects."""
