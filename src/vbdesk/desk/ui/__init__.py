"""Widgets that any feature may use. They know nothing of recordings, results or subjects."""
