"""Data files that a lab writes: a file appears whole, and only if the service could read it."""

from collections.abc import Callable
from pathlib import Path

from vbdesk.privacy import set_export_mode


def write_checked(path: Path, text: str, read: Callable[[Path], object]) -> None:
    """Write a data file atomically, after `read` has read a draft of it.

    Raises:
        DataFileError: `read` refuses it, which is a bug.
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_text(text, encoding="utf-8")
        set_export_mode(draft)
        read(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
