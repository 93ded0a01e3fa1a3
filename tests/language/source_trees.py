"""The syntax trees of the package, for tests of its texts."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "vbdesk"


def trees(folder: Path, having: str = "") -> Iterator[tuple[str, ast.Module]]:
    """Every module of a folder with a certain text in it, by its path."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if having in text:
            yield path.relative_to(folder).as_posix(), ast.parse(text)


def name_of(node: ast.expr) -> str:
    """`f` of `f` and of `module.f`; nothing of other expressions."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
