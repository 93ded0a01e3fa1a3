"""Erasing what was kept of a person: the right of whoever was recorded."""
