"""Catalogs of a test in place of the shipped ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from vbdesk.language import catalogs


@contextmanager
def catalogs_in(folder: Path) -> Iterator[None]:
    """Read catalogs from `folder`, also in threads that go on meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogs, "_folder", lambda: folder)
        _read_again()
        yield
    _read_again()  # only now, or a thread that asks in between keeps the languages of `folder`


def _read_again() -> None:
    catalogs.available_languages.cache_clear()
    catalogs.catalog.cache_clear()
