"""The tables of docs/security.md name places and tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECTIONS = {
    "The service": (ROOT / "src/vbdesk/service", ROOT / "tests/service"),
    "The laptop": (ROOT / "src/vbdesk", ROOT / "tests"),
}


@pytest.mark.parametrize("section", SECTIONS)
def test_every_place_and_test_that_a_threat_names_exists(section):
    source, tests = SECTIONS[section]
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) > 10
    for row in rows:
        for name in re.findall(r"`([\w./]+)(?:::\w+)?`", row[2]):
            assert (source / name).exists(), name
        for path, function in re.findall(r"`([\w./]+\.py)(?:::(\w+))?`", row[3]):
            file = next((file for file in (tests / path, ROOT / path) if file.exists()), None)
            assert file is not None, path
            assert f"def {function}" in file.read_text(encoding="utf-8"), function
