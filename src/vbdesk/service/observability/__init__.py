"""Logs, metrics and traces, without names of accounts, groups or people."""
