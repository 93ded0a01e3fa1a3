"""What the program offers, read from the program, and which tests name it; `behaviours.toml` is the list.

    .venv/bin/python tests/behaviours.py

It adds what is new, with tests that seem to hold it, and drops what is gone.
A person decides which tests hold a behaviour: entries that are in the list stay as they are.
"""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import typer

TESTS = Path(__file__).parent
ROOT = TESTS.parent
DESK = ROOT / "src" / "vbdesk" / "desk"
LIST = TESTS / "behaviours.toml"
MOST = 3  # tests that are proposed for one behaviour
_BUTTONS = {
    "Button",
    "primary_button",
    "quiet_button",
    "secondary_button",
    "NoticeAction",
    "addAction",
    "QAction",
    "TickBox",
}
_TEXTS = {"_": 0, "N_": 0, "pgettext": 1}
_SHARED_BY = 10  # an option of so many commands is one behaviour

Behaviours = dict[str, dict[str, list[str]]]


# What the program offers


def commands() -> Iterator[tuple[str, str | None]]:
    """Every command, and each option of it."""
    from vbdesk.cli.main import app

    def walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, str | None]]:
        if hasattr(command, "commands"):
            for name, below in command.commands.items():
                yield from walk(below, (*words, name))
            return
        yield " ".join(words), None
        for parameter in command.params:
            for option in getattr(parameter, "opts", []):
                if option.startswith("--"):
                    yield " ".join(words), option

    yield from walk(typer.main.get_command(app), ())


def routes() -> Iterator[str]:
    """Every route of the service's API and of its console, with its method."""
    from vbdesk.service.composition.app import described_app
    from vbdesk.service.console import app as console

    for path, methods in described_app().openapi()["paths"].items():
        yield from (f"{method.upper()} {path}" for method in methods)
    for module in vars(console).values():
        for route in module.router.routes if hasattr(module, "router") else ():
            yield from (f"{method} {route.path}" for method in sorted(route.methods - {"HEAD"}))


def pages() -> Iterator[str]:
    """Every page of the desk."""
    from vbdesk.desk.shell.all_pages import PAGES

    yield from (page.key for page in PAGES)
    yield from ("first-start", "unlock", "help")


@cache
def page_actions() -> dict[str, set[str]]:
    """The labels of buttons, menu entries and messages, by the folder of their page, and their names in code."""
    found: dict[str, set[str]] = {}
    for file in sorted(DESK.rglob("*.py")):
        folder, tree = file.relative_to(DESK).parts[0], ast.parse(file.read_text(encoding="utf-8"))
        named = {
            id(value): _name(target)
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target, value in _pairs(node)
        }
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and _name(node.func) in _BUTTONS
                and node.args
                and (label := _label(node.args[0]))
            ):
                found.setdefault(f"{folder}: {label}", set()).add(named.get(id(node), ""))
    return found


def _pairs(node: ast.Assign | ast.AnnAssign) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Targets and values, also of several at once."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        elif node.value is not None:
            yield target, node.value


def _label(value: ast.AST) -> str:
    """The text that a person reads, if it is one for translation."""
    if not isinstance(value, ast.Call) or _name(value.func) not in _TEXTS:
        return ""
    text = value.args[_TEXTS[_name(value.func)]]
    return text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""


def shortcuts() -> Iterator[str]:
    """Names of the keys of the desk."""
    from vbdesk.desk.ui import shortcuts as module

    yield from module._KEYS


def settings() -> Iterator[str]:
    """Settings of the service, an organisation's policy, and what a person can set on the desk and for a library."""
    from vbdesk.desk.preferences import Preferences
    from vbdesk.outbox.library.managed_policy import ManagedPolicy
    from vbdesk.outbox.library.settings import ConsentRules, LibrarySettings
    from vbdesk.service.kernel.settings import Settings

    yield from (f"service.{name}" for name in Settings.model_fields)
    for place, values in (
        ("policy", ManagedPolicy),
        ("desk", Preferences),
        ("library", LibrarySettings),
        ("library.consent", ConsentRules),
    ):
        yield from (f"{place}.{each.name}" for each in fields(values))


def offered() -> dict[str, list[str]]:
    """Everything, by kind, each once and in the program's order."""
    found = list(commands())
    shared = Counter(option for _command, option in found if option is not None)
    return {
        kind: list(dict.fromkeys(names))
        for kind, names in (
            ("commands", [command for command, option in found if option is None]),
            ("options", [_option(command, option, shared) for command, option in found if option is not None]),
            ("routes", routes()),
            ("pages", pages()),
            ("actions", list(page_actions())),
            ("shortcuts", shortcuts()),
            ("settings", settings()),
        )
    }


def _option(command: str, option: str, shared: Counter[str]) -> str:
    """An option by its command, or one that many commands have by itself."""
    return f"* {option}" if shared[option] >= _SHARED_BY else f"{command} {option}"


# Which tests name it


@dataclass(slots=True)
class Mention:
    """What a function of the tests writes down."""

    sequences: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)  # called function, words in a row
    texts: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)

    def add(self, other: "Mention") -> None:
        """What a helper writes down counts too."""
        self.sequences += other.sequences
        self.texts |= other.texts
        self.names |= other.names


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _text(node: ast.AST) -> str | None:
    """A constant text; other parts of a formatted one are `{}`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def _mention(function: ast.AST) -> Mention:
    found = Mention()
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute):
            found.names.add(node.attr)
        elif isinstance(node, ast.Name | ast.arg):
            found.calls.add(node.id if isinstance(node, ast.Name) else node.arg)
        elif isinstance(node, ast.keyword) and node.arg:
            found.names.add(node.arg)
        elif (text := _text(node)) is not None:
            found.texts.add(text)
        if isinstance(node, ast.Call | ast.List | ast.Tuple):
            parts = node.args if isinstance(node, ast.Call) else node.elts
            inner = [
                each for part in parts for each in (part.elts if isinstance(part, ast.List | ast.Tuple) else [part])
            ]
            words = tuple(word for part in inner for word in (_text(part) or "?").split())
            found.sequences.append((_name(node.func) if isinstance(node, ast.Call) else "", words))
    return found


@cache
def texts() -> dict[str, str]:
    """The text of every file of tests."""
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in sorted(TESTS.rglob("*.py"))}


@cache
def test_functions() -> dict[str, Mention]:
    """What every test writes down, with the helpers and fixtures of its file and of the files beside and above it."""
    functions: dict[str, dict[str, Mention]] = {}
    for file, text in texts().items():
        if Path(file).name.startswith(("test_", "conftest")):
            body = ast.parse(text).body
            made = {
                each.name: _mention(each) for each in body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            }
            functions[file] = made
    found: dict[str, Mention] = {}
    for file, own in functions.items():
        known: dict[str, Mention] = {}
        for folder in reversed(Path(file).parents):
            known |= functions.get((folder / "conftest.py").as_posix(), {})
        known |= own
        for name in own:
            if name.startswith("test_"):
                found[f"{file}::{name}"] = _with_helpers(name, known)
    return found


def _with_helpers(name: str, known: dict[str, Mention]) -> Mention:
    whole, seen, waiting = Mention(), {name}, [name]
    while waiting:
        mention = known[waiting.pop()]
        whole.add(mention)
        whole.calls |= mention.calls
        for helper in mention.calls & known.keys() - seen:
            seen.add(helper)
            waiting.append(helper)
    return whole


def _has_row(words: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return any(words[start : start + len(wanted)] == wanted for start in range(len(words)))


def _runs(test: str, mention: Mention, command: str, option: str | None = None) -> bool:
    """Whether a test runs a command; a helper may add its first words."""
    wanted = tuple(command.split())
    text = texts()[test.partition("::")[0]]
    rows = [wanted]
    if command != wanted[0] and (f"cli.{wanted[0]}" in text or f'"{wanted[0]}"' in text):
        rows.append(wanted[1:])
    if len(wanted) == 3 and f"cli.{wanted[0]}_{wanted[1]}" in text:
        rows.append(wanted[2:])
    return any(
        any(_has_row(words, row) for row in rows) and (option is None or option in words or option in mention.texts)
        for _called, words in mention.sequences
    )


def _asks(mention: Mention, route: str) -> bool:
    method, _, path = route.partition(" ")
    shape = re.compile(re.sub(r"\\\{[^}]*\\\}", r"[^/?]+", re.escape(path)) + r"(\?.*)?$")
    asked = any(shape.search(text) for text in mention.texts)
    return asked and (method.lower() in mention.names or method in mention.texts)


def _sets(mention: Mention, name: str) -> bool:
    word = re.compile(rf"\b{re.escape(name)}\b")
    return name in mention.names or any(word.search(text) for text in mention.texts)


def _speaks_of(test: str, folder: str) -> bool:
    """Whether a file of tests is about a folder of the desk."""
    file = test.partition("::")[0]
    return file.startswith("tests/desk") and (
        re.search(rf"\bdesk\.{folder}\b|\b(build|open)_{folder}\b|\b{folder}_page\b", texts()[file]) is not None
        or f"/{folder}/" in file
        or folder in Path(file).stem
    )


def _presses(test: str, mention: Mention, action: str) -> bool:
    folder, _, label = action.partition(": ")
    if not _speaks_of(test, folder):
        return False
    return bool((page_actions()[action] - {""}) & mention.names) or label in mention.texts


def proposed(kind: str, name: str) -> list[str]:
    """Tests that seem to hold a behaviour: those in a file or with a name that speaks of it first."""
    command, _, option = name.partition(" --")
    fits = {
        "commands": lambda test, mention: _runs(test, mention, name),
        "options": lambda test, mention: (
            f"--{option}" in mention.texts if command == "*" else _runs(test, mention, command, f"--{option}")
        ),
        "routes": lambda test, mention: _asks(mention, name),
        "pages": lambda test, mention: _speaks_of(test, name.replace("-", "_")),
        "actions": lambda test, mention: _presses(test, mention, name),
        "shortcuts": lambda test, mention: test.startswith("tests/desk") and name in mention.texts,
        "settings": lambda test, mention: _sets(mention, name.rpartition(".")[2]),
    }[kind]
    words = set(re.findall(r"[a-z]{4,}", name.lower()))
    tests = [test for test, mention in test_functions().items() if fits(test, mention)]
    return sorted(tests, key=lambda test: (-len(words & set(re.findall(r"[a-z]{4,}", test))), test))[:MOST]


# The list


def read_list() -> Behaviours:
    """The list as it is."""
    return tomllib.loads(LIST.read_text(encoding="utf-8")) if LIST.exists() else {}


def missing_tests(names: Iterable[str]) -> set[str]:
    """Those of the tests that do not exist."""

    def exists(name: str) -> bool:
        file, _, test = name.partition("::")
        path = ROOT / file
        found = path.is_file() and re.search(rf"^ *(?:async )?def {test}\(", path.read_text("utf-8"), re.MULTILINE)
        return bool(found)

    return {name for name in set(names) if not exists(name)}


def write_list(listed: Behaviours) -> None:
    """Write the list: one behaviour a line, or one test a line where there are several."""

    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

    lines = [
        "# What vbdesk offers, and tests that use it: found by search, or chosen by a person. See tests/behaviours.py."
    ]
    for kind, entries in listed.items():
        lines += ["", f"[{kind}]"]
        for name, tests in entries.items():
            row = f"{quoted(name)} = [{', '.join(map(quoted, tests))}]"
            if len(row) <= 120:
                lines.append(row)
            else:
                lines += [f"{quoted(name)} = [", *(f"    {quoted(test)}," for test in tests), "]"]
    LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")


def update_list() -> None:
    """Take in what is new, drop what is gone."""
    listed = read_list()
    fresh = {
        kind: {name: listed[kind][name] if name in listed.get(kind, {}) else proposed(kind, name) for name in names}
        for kind, names in offered().items()
    }
    write_list(fresh | {kind: entries for kind, entries in listed.items() if kind not in fresh})


if __name__ == "__main__":
    update_list()
