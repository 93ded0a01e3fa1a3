"""Subjects as a folder for research in the style of BIDS."""

from vbdesk.report.bids.dataset import AudioFile, bids_files

__all__ = ["AudioFile", "bids_files"]
