"""A hook of hatch: compiles the translation catalogs for wheels and for editable installs."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

from translations import compile_catalogs


class CompileCatalogs(BuildHookInterface[Any]):
    """Compiles the catalogs before files are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile what is missing or older than its source."""
        compile_catalogs()
