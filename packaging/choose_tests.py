"""Tests that a change may make fail."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# `check` leaves these out: they start clusters, foreign programs or real windows, or run for minutes.
LONG_FOLDERS = ("e2e", "soak", "benchmarks", "service/cluster", "service/conformance", "service/generated")
ALWAYS_CHECKED = ("tests/test_architecture.py", "tests/test_house.py")


def tests_of(changed: list[str]) -> list[str]:
    """List the unit tests of changed files: tests in the same place, and those that import a changed package."""
    packages, folders, chosen = set(), set(), set(ALWAYS_CHECKED)
    for name in map(Path, changed):
        if name.parts[:2] == ("src", "vbdesk") and name.suffix == ".py" and len(name.parts) > 3:
            packages.add(".".join(name.parts[1:-1]))
            folders.add(Path("tests", *name.parts[2:-1]))
        elif name.parts[:2] == ("src", "vbdesk") and name.suffix == ".py":
            packages.add(f"vbdesk.{name.stem}")
        elif name.suffix == ".md":
            chosen.add("tests/test_documents.py")
        elif name.parts[0] == "resources" and len(name.parts) > 2:
            folders.add(Path("tests", name.parts[1]))
        elif name.parts[0] == "tests" and not name.name.startswith("test_"):
            folders.add(name.parent)
        elif name.parts[0] == "tests" and name.suffix == ".py":
            chosen.add(str(name))
    for file in (ROOT / "tests").rglob("test_*.py"):
        test = file.relative_to(ROOT)
        if test.parent in folders or imported_packages(file) & packages:
            chosen.add(str(test))
    long = [Path("tests", folder) for folder in LONG_FOLDERS]
    return sorted(
        test
        for test in chosen
        if (ROOT / test).exists() and not any(Path(test).is_relative_to(place) for place in long)
    )


def imported_packages(file: Path) -> set[str]:
    """List the packages of vbdesk from which a file imports a module or a name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("vbdesk"):
            found |= {node.module, node.module.rpartition(".")[0]}
    return found - {"vbdesk", ""}
