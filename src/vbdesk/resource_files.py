"""Paths of the resource files."""

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parent


@cache
def _root() -> Path:
    shipped = _PACKAGE / "resources"
    return shipped if shipped.is_dir() else _PACKAGE.parents[1] / "resources"


@cache
def resource(*parts: str) -> Path:
    """Path of a resource file or folder, in the installed package or in the source checkout.

    The path is cached, so that the GUI thread can call this at any time.

    Raises:
        FileNotFoundError: the file does not exist; the installation is incomplete.
    """
    path = _root().joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(f"The data file {'/'.join(parts)} is missing. Install vbdesk again.")
    return path
