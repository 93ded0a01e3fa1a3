"""The list of behaviours is whole, and its tests exist; tests from outside stay outside."""

import ast
from collections import Counter

import pytest

from behaviours import LIST, ROOT, missing_tests, offered, read_list

# Entries to which no test is named yet; a new one has a test, and these become fewer.
WITHOUT_TEST = {"commands": 0, "options": 61, "routes": 0, "pages": 0, "actions": 19, "shortcuts": 14, "settings": 4}
GUIDE = ROOT / "docs" / "guide"


@pytest.fixture(scope="module")
def listed():
    return read_list()


def test_everything_that_the_program_offers_is_listed_and_nothing_else(listed):
    for kind, names in offered().items():
        differing = set(names) ^ listed[kind].keys()
        assert differing == set(), f"{kind}: run .venv/bin/python tests/behaviours.py, then look at {LIST.name}"


def test_every_named_test_exists(listed):
    named = [
        test for kind, entries in listed.items() if kind != "black_box" for each in entries.values() for test in each
    ]
    assert missing_tests(named) == set()


def test_no_behaviour_loses_its_last_test(listed):
    without = Counter(kind for kind, entries in listed.items() for tests in entries.values() if not tests)
    assert {kind: without[kind] for kind in WITHOUT_TEST} == WITHOUT_TEST
    assert without.keys() <= WITHOUT_TEST.keys()


def test_every_promise_stands_in_the_guide(listed):
    for promise in listed["promises"]:
        page, _, sentence = promise.partition(": ")
        assert sentence in " ".join((GUIDE / page).read_text(encoding="utf-8").split()), promise


def test_tests_from_outside_import_nothing_of_vbdesk(listed):
    for patterns in listed["black_box"].values():
        for pattern in patterns:
            files = sorted(ROOT.glob(pattern))
            assert files, pattern
            for file in files:
                for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                    modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                    assert not [name for name in modules if name.split(".")[0] == "vbdesk"], file
