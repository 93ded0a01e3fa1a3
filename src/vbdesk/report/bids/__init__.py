"""Subjects as a research folder in BIDS style."""

from vbdesk.report.bids.dataset import AudioFile, bids_files

__all__ = ["AudioFile", "bids_files"]
