"""Outbox: every recording made here, from the first check to the result."""
