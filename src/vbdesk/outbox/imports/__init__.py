"""Imported files, and the check of a take before it enters the library."""
