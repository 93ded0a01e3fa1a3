"""Whether a window can be shown here."""

import os
import sys


def has_display() -> bool:
    """Whether there is a screen. On Linux and its kin the session says so; elsewhere there always is one."""
    if sys.platform in {"win32", "darwin"}:
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
