"""Where signs of a lab's own are looked for. Apart from the rest, so that who only passes it on loads nothing."""

from dataclasses import dataclass
from pathlib import Path

ENTRY_POINTS = "vbdesk.signs"
"""Group of the entry points by which installed packages name their signs."""


@dataclass(frozen=True, slots=True)
class PluginSource:
    """Where to look, besides the entry points of installed packages.

    Attributes:
        folder: of `NAME.toml` files, each with its model file beside it; None, or one that is absent, holds none.
        allow_pickles: whether estimators may be opened that run code while they are.
    """

    folder: Path | None = None
    allow_pickles: bool = False
