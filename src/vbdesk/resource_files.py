"""Where the data files that a person may edit are found."""

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parent


@cache
def _root() -> Path:
    shipped = _PACKAGE / "resources"
    return shipped if shipped.is_dir() else _PACKAGE.parents[1] / "resources"


@cache
def resource(*parts: str) -> Path:
    """Path of a data file or folder: inside the installed package, else in the source checkout.

    The disk is asked once for each: the GUI thread may ask again at any time.

    Raises:
        FileNotFoundError: there is no such file; the installation is incomplete.
    """
    path = _root().joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(f"The data file {'/'.join(parts)} is missing. Install vbdesk again.")
    return path
