"""Detect a display."""

import os
import sys


def has_display() -> bool:
    """Whether there is a display: on Linux by the session's variables; elsewhere always."""
    if sys.platform in {"win32", "darwin"}:
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
