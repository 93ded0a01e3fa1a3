"""Importing the modules of a command."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quick_imports() -> Iterator[None]:
    """Collect no garbage in the block, and never look through what it made: modules stay.

    Looking through them takes a fifth of the time in which a service starts.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
