"""Fit a plug-in sign to labelled recordings, and measure its validity."""
