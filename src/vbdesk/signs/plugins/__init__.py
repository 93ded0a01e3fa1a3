"""Plug-in signs: discovered, checked, and scored like the shipped signs."""
