"""Count lines of code by package: `python packaging/code_size.py [FOLDER]`.

Blank lines, comments and docstrings do not count.
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IGNORED = (
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
)  # fmt: skip
DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)


def lines_of_code(source: str) -> int:
    """Count the lines of a Python source that hold code."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docstrings |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in IGNORED:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def package_of(file: str) -> str | None:
    """Name the package that a file counts for: `vbdesk/desk`, `packaging`, `tests`; None for other files."""
    parts = Path(file).parts
    if not file.endswith(".py"):
        return None
    if parts[0] == "src":
        return "/".join(parts[1:3]) if len(parts) > 3 else parts[1]
    return parts[0] if parts[0] in ("packaging", "tests") else None


def sizes(root: Path) -> Counter[str]:
    """Count the lines of code of each package below a folder."""
    found: Counter[str] = Counter()
    for folder in ("src", "packaging"):
        for path in (root / folder).rglob("*.py"):
            file = path.relative_to(root).as_posix()
            found[package_of(file) or ""] += lines_of_code(path.read_text(encoding="utf-8"))
    return found


def main(folder: str = str(ROOT)) -> None:
    """Print the packages, the largest first."""
    found = sizes(Path(folder))
    for package, lines in found.most_common():
        print(f"{package:24}{lines:8,}")
    print(f"{'together':24}{found.total():8,}")


if __name__ == "__main__":
    main(*sys.argv[1:])
