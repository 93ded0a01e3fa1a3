"""Texts that the desk shows are marked for translation, and are made when they are shown."""

import ast
import re
from collections.abc import Iterator

from source_trees import SOURCES, name_of, trees

DESK = SOURCES / "desk"

SHOWS = {
    "AdviceCard", "Breadcrumb", "Button", "ButtonCell", "Card", "ChipStyle", "ChoiceField", "ElidedText", "EmptyState",
    "Field", "LabelCell", "LineField", "RoundButton", "SegmentedChoice", "TagsField", "Text", "TwoLineCell",
    "addAction", "addItem", "addItems", "announce", "card_with_header", "primary_button", "quiet_button", "say",
    "secondary_button", "setAccessibleDescription", "setAccessibleName", "setPlaceholderText", "setPlainText",
    "setText", "setTitle", "setToolTip", "setWindowTitle", "set_fault", "set_help", "set_label", "show_action",
}  # fmt: skip
"""Calls that show a text: widgets, setters of Qt, and cells of tables."""
NAMED = {"action", "help_text", "other", "placeholder", "sentence", "title"}
LETTERS = re.compile(r"[A-Z][a-z]|[a-z] [a-z]")
TRANSLATES = {"_", "ngettext", "pgettext", "npgettext", "translated"}


def hard_coded(tree: ast.AST) -> Iterator[str]:
    """Literals, also in f-strings, sums and choices, that a call shows."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and name_of(call.func) in SHOWS:
            for given in (*call.args, *(keyword.value for keyword in call.keywords if keyword.arg in NAMED)):
                yield from (f"{call.lineno}: {text}" for text in literals(given) if LETTERS.search(text))


def literals(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (*literals(node.body), *literals(node.orelse))
    elif isinstance(node, ast.JoinedStr | ast.BinOp):
        for part in ast.iter_child_nodes(node):
            yield from literals(part)


def test_no_call_shows_a_hard_coded_text():
    found = {name: list(hard_coded(tree)) for name, tree in trees(DESK)}
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_hard_coded_texts_are_found():
    lines = (
        'Text("Not marked"), box.setText(f"{n} are on it"), say(tone, _("Marked"), action="Close" if a else _("No"))'
    )
    assert list(hard_coded(ast.parse(lines))) == ["1: Not marked", "1:  are on it", "1: Close"]


TOLD = [("service/health/", {"ok", "note", "action_needed"}), ("service/kernel/settings.py", {"ValueError"})]
"""Where the service makes texts that its commands show, and by which calls."""


def test_no_finding_and_no_refused_setting_has_a_hard_coded_text():
    """The commands show them in the reader's language; a message has its template inside of another call."""
    told = [
        (name, call)
        for place, calls in TOLD
        for name, tree in trees(SOURCES)
        if name.startswith(place)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and name_of(call.func) in calls
    ]
    assert {name for name, _call in told} >= {"service/health/queue_checks.py", "service/kernel/settings.py"}
    assert [f"{name}: {text}" for name, call in told for given in call.args for text in literals(given)] == []


CACHES = re.compile(r"(functools\.)?(lru_)?cache\b")


def test_no_cached_function_translates():
    """Its text would stay in the language of the first call. A cached property goes with its object."""
    found = [
        f"{name}: {function.name}"
        for name, tree in trees(SOURCES, having="cache")
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        and any(CACHES.match(ast.unparse(decorator)) for decorator in function.decorator_list)
        and any(isinstance(node, ast.Call) and name_of(node.func) in TRANSLATES for node in ast.walk(function))
    ]
    assert found == []
