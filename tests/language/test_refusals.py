"""Every error that a person may read is made of a message, with its template and its fields."""

import ast
from collections.abc import Iterator
from functools import cache

from source_trees import SOURCES, name_of, trees

MARKS = {"N_", "joined", "literal", "message", "message_of", "plural_message"}
RAISED_BY_SYSTEM = {"BaseException", "Exception", "LookupError", "OSError", "RuntimeError", "TypeError", "ValueError"}

FOR_PROGRAMS = {
    "InvalidRequest": "of the API alone: the client tells it in its own words",
    "InvalidUseCase": "of the API alone",
    "NotReady": "a code of the health check",
    "IllegalStateChange": "a fault of the program",
    "LanguageMissing": "below the messages; commands name the languages that there are",
    "PickleRefused": "a fault of the program",
    "SlotClosed": "ends a job, whose answer holds no reason",
    "TaskFailed": "ends a job",
    "TaskTimedOut": "ends a job",
}
"""Errors of ours that no person reads as they are."""

WITHIN = ("service/catalog/", "service/http/", "service/jobs/", "service/legacy/")
"""Routes of the API alone."""


@cache
def own_errors() -> frozenset[str]:
    """Names of the exceptions that the package defines."""
    bases = {
        node.name: {name_of(base) for base in node.bases}
        for _name, tree in trees(SOURCES)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = set(RAISED_BY_SYSTEM)
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return frozenset(found - RAISED_BY_SYSTEM - FOR_PROGRAMS.keys())


def unmarked(tree: ast.Module) -> Iterator[str]:
    """Errors of ours that are raised with an English text, or with that of another error, which loses its fields."""
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func) in own_errors() and node.args:
            text = node.args[0]
            if isinstance(text, ast.Name):
                text = constants.get(text.id, text)
            if is_plain(text):
                yield ast.unparse(node)


def is_plain(text: ast.expr) -> bool:
    """Whether a text was not marked where it was written."""
    match text:
        case ast.Constant(value=str(words)):
            return " " in words
        case ast.JoinedStr() | ast.BinOp():
            return True
        case ast.Call():
            return name_of(text.func) in {"str", "format", "join"}
        case ast.IfExp():
            return is_plain(text.body) or is_plain(text.orelse)
        case ast.BoolOp():
            return any(map(is_plain, text.values))
    return False


def test_every_error_of_ours_is_made_of_a_message():
    found = {
        name: texts for name, tree in trees(SOURCES) if not name.startswith(WITHIN) and (texts := list(unmarked(tree)))
    }
    assert found == {}


def test_errors_without_a_message_are_found():
    assert "LibraryUnreadable" in own_errors()
    lines = '_FULL = "It is full."\nraise LibraryUnreadable(_FULL)\nraise LibraryUnreadable(str(error))'
    assert len(list(unmarked(ast.parse(lines)))) == 2
    assert list(unmarked(ast.parse('raise LibraryUnreadable(message("It is full."))'))) == []


SHOWING = ("cli/", "desk/", "lab/commands/")
TOLD_IN_ENGLISH = {"desk/shell/smoke_test.py": "a report for who builds the program"}


def read_in_english(tree: ast.Module) -> Iterator[str]:
    """Caught errors that are written into an f-string or made a plain text, which is English."""
    for handler in ast.walk(tree):
        if isinstance(handler, ast.ExceptHandler) and handler.name is not None:
            for node in ast.walk(handler):
                written = node.value if isinstance(node, ast.FormattedValue) else None
                if isinstance(node, ast.Call) and name_of(node.func) == "str" and node.args:
                    written = node.args[0]
                if isinstance(written, ast.Name) and written.id == handler.name:
                    yield f"{node.lineno}: {ast.unparse(node)}"


def test_no_caught_error_is_shown_in_english():
    found = {
        name: texts
        for name, tree in trees(SOURCES)
        if name.startswith(SHOWING) and name not in TOLD_IN_ENGLISH and (texts := list(read_in_english(tree)))
    }
    assert found == {}, "use `translated`, or give the error as a field of a message"


def test_caught_errors_in_english_are_found():
    lines = 'try:\n    pass\nexcept NotAllowed as refusal:\n    fail(f"{take}: {refusal}")\n    fail(str(refusal))'
    assert len(list(read_in_english(ast.parse(lines)))) == 2
