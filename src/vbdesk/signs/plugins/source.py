"""Where to look for plug-in signs; a module of its own, so that it can be imported without the extractor."""

from dataclasses import dataclass
from pathlib import Path

ENTRY_POINTS = "vbdesk.signs"
"""Entry point group in which installed packages register their signs."""


@dataclass(frozen=True, slots=True)
class PluginSource:
    """Where to look, in addition to the entry points of installed packages.

    Attributes:
        folder: holds `NAME.toml` files and their model files; None or a missing folder holds none.
        allow_pickles: whether pickled estimators, which can run code, may be loaded.
    """

    folder: Path | None = None
    allow_pickles: bool = False
