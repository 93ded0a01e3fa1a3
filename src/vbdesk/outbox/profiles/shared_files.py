"""Small files that several threads and programs read while one writes them.

Windows refuses to replace a file that is open, and to open one that is being replaced. Both take milliseconds, so what
is refused is tried again.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_TRIES = 100
_PAUSE_S = 0.02  # two seconds in all


def replace_shared(new: Path, target: Path) -> None:
    """Replace `target` with `new`, also while somebody reads it.

    Raises:
        OSError: it is still refused after two seconds, or fails otherwise; `target` is as it was.
    """
    _patiently(lambda: new.replace(target))


def read_shared(path: Path) -> str:
    """The text of a file, also while somebody replaces it.

    Raises:
        OSError: it is still refused after two seconds, or fails otherwise.
        UnicodeDecodeError: it is not UTF-8.
    """
    return _patiently(lambda: path.read_text(encoding="utf-8"))


def _patiently(call: Callable[[], T]) -> T:
    for _ in range(_TRIES - 1):
        try:
            return call()
        except PermissionError:
            time.sleep(_PAUSE_S)
    return call()
