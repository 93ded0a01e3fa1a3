"""vbdesk: the voice biomarker desk."""

__version__ = "0.1.0"
