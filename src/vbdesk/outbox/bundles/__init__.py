"""Waiting recordings in one sealed file, for another computer to send."""
