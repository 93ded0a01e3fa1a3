"""Logs, metrics and traces. They never name an account, a group or a person."""
