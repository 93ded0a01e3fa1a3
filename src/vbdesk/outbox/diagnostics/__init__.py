"""Diagnostics of this computer, without personal data."""
