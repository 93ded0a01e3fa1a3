"""The rules of the architecture that import-linter cannot check; docs/architecture.md lists the rules.

Some rules are not fulfilled everywhere yet. A number that ends with `AT_MOST` counts the
exceptions. It may only shrink.
"""

import ast
import itertools
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

from vbdesk.language.formats import is_number_format

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "vbdesk"
DESK = SOURCES / "desk"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCES.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in SOURCES.rglob("*.py")}
PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py"}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def short(path: Path) -> str:
    return path.relative_to(SOURCES).as_posix()


# Rule 1: no import cycle. Imports in functions and for type checking count too.


def imported(tree: ast.Module) -> Iterator[str]:
    """Names of imported modules; `from a import b` is `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def import_graph() -> Mapping[str, set[str]]:
    graph = {}
    for name, path in MODULES.items():
        targets = imported(tree_of(path))
        graph[name] = {t if t in MODULES else t.rpartition(".")[0] for t in targets} & MODULES.keys() - {name}
    return graph


def package_graph(parent: str) -> dict[str, set[str]]:
    """Imports between the packages that lie directly in one package."""
    depth = parent.count(".") + 2
    graph: dict[str, set[str]] = {name: set() for name in PACKAGES if name.rpartition(".")[0] == parent}
    for source, targets in import_graph().items():
        importer = ".".join(source.split(".")[:depth])
        if importer in graph:
            graph[importer] |= {".".join(target.split(".")[:depth]) for target in targets} & graph.keys() - {importer}
    return graph


def cycles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Groups of nodes that reach each other (Kosaraju's algorithm)."""
    reversed_graph = defaultdict(set)
    for node, targets in graph.items():
        for target in targets:
            reversed_graph[target].add(node)
    order: list[str] = []
    seen: set[str] = set()
    for node in graph:
        order += reach(graph, node, seen)
    seen = set()
    groups = [set(reach(reversed_graph, node, seen)) for node in reversed(order)]
    return [group for group in groups if len(group) > 1]


def reach(graph: Mapping[str, set[str]], start: str, seen: set[str]) -> list[str]:
    """Nodes not `seen` before that `start` reaches, the farthest first."""
    found: list[str] = []
    stack = [(start, False)]
    while stack:
        node, left = stack.pop()
        if left:
            found.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack += [(target, False) for target in graph.get(node, ()) if target not in seen]
    return found


def test_files_do_not_import_each_other_in_a_cycle():
    assert cycles(import_graph()) == []


def test_packages_do_not_import_each_other_in_a_cycle():
    found = itertools.chain.from_iterable(cycles(package_graph(parent)) for parent in PACKAGES)
    assert list(found) == []


def test_cycles_are_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}, "g": set()}
    assert sorted(map(sorted, cycles(graph))) == [["a", "b", "c"], ["d", "e"]]


# Rule 2: one place in the desk makes threads.


def makes_thread(node: ast.AST) -> bool:
    if isinstance(node, ast.ClassDef):
        return any(name_of(base) in ("QThread", "Thread", "QRunnable") for base in node.bases)
    return isinstance(node, ast.Call) and name_of(node.func) in ("QThread", "Thread", "moveToThread", "Timer")


def name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def test_only_the_task_module_of_the_desk_makes_threads():
    users = {path.name for path in DESK.rglob("*.py") if any(map(makes_thread, ast.walk(tree_of(path))))}
    assert users == {"tasks.py"}


# Rule 3: signals of workers reach slots of QObjects only.

RECEIVERS_AFTER = {"connect": 0, "start": 1, "run": 1}
"""Methods that take receivers of signals, and how many arguments come before these."""


def unmarked_receivers(cls: ast.ClassDef) -> Iterator[str]:
    """Methods of the class that receive a signal and are no slots."""
    methods = {item.name: item for item in cls.body if isinstance(item, ast.FunctionDef)}
    for call in ast.walk(cls):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        if call.func.attr not in RECEIVERS_AFTER:
            continue
        receivers = [*call.args[RECEIVERS_AFTER[call.func.attr] :], *(keyword.value for keyword in call.keywords)]
        for receiver in receivers:
            method = methods.get(receiver.attr) if isinstance(receiver, ast.Attribute) else None
            if method is None or not ast.unparse(receiver).startswith("self."):
                continue
            if not any("Slot" in ast.unparse(decorator) for decorator in method.decorator_list):
                yield f"{cls.name}.{method.name}"


def test_receivers_of_signals_are_slots():
    """A task refuses a receiver that is no method of a QObject when it starts (tests/desk)."""
    classes = (
        node for path in DESK.rglob("*.py") for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)
    )
    assert [name for cls in classes for name in unmarked_receivers(cls)] == []


# Rule 4: the audio callback copies a block and counts overflows.

AUDIO_CALLBACK_ARGUMENTS = ["self", "data", "frames", "when", "status"]
CALLS_OF_AUDIO_CALLBACK = {"_sink", "Block", "copy", "bool"}


def arguments_of(function: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in function.args.args]


def test_the_audio_callback_only_hands_on_a_copy():
    callbacks = [
        node
        for path in (SOURCES / "capture").rglob("*.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef) and arguments_of(node) == AUDIO_CALLBACK_ARGUMENTS
    ]
    assert callbacks
    for callback in callbacks:
        calls = {name_of(node.func) for node in ast.walk(callback) if isinstance(node, ast.Call)}
        assert len(callback.body) == 1
        assert calls <= CALLS_OF_AUDIO_CALLBACK


# Rule 5: ports have a real and an in-memory implementation; one clock, one reader of TOML, one of JSON lines.

PORTS = {
    "Clock": ("SystemClock", "ManualClock"),
    "DeviceLister": ("PortAudioLister", "FileMicrophone"),
    "Microphone": ("PortAudioMicrophone", "FileMicrophone"),
    "Network": ("SystemNetwork", "ManualNetwork"),
    "ObjectStore": ("RemoteObjectStore", "LocalObjectStore"),
    "Player": ("PortAudioPlayer", "SilentPlayer"),
    "RateWindows": ("SharedRateWindows", "MemoryRateWindows"),
    "Vault": ("KeyringVault", "MemoryVault"),
}
"""The real implementation of each port, and the one that needs nothing beyond the process."""


@cache
def classes_by_name() -> Mapping[str, ast.ClassDef]:
    nodes = (node for path in MODULES.values() for node in ast.walk(tree_of(path)))
    return {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}


def members(cls: ast.ClassDef) -> set[str]:
    """Names of the public methods and attributes of a class and its bases."""
    found = {item.name for item in cls.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)}
    for node in ast.walk(cls):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {name_of(target) for target in targets if node in cls.body or isinstance(target, ast.Attribute)}
    for base in cls.bases:
        if name_of(base) != "Protocol" and name_of(base) in classes_by_name():
            found |= members(classes_by_name()[name_of(base)])
    return {name for name in found if not name.startswith("_")}


@pytest.mark.parametrize("port", PORTS)
def test_every_port_has_a_real_and_an_in_memory_implementation(port):
    protocol = classes_by_name()[port]
    assert [name_of(base) for base in protocol.bases] == ["Protocol"]
    for implementation in PORTS[port]:
        assert members(protocol) <= members(classes_by_name()[implementation]), implementation


SYSTEM_CLOCKS = {("time", "monotonic")}
FILES_THAT_READ_THE_CLOCK_AT_MOST = 23
READERS_OF_TOML = {"data_files.py", "service/kernel/settings.py"}
READERS_OF_JSON_LINES = {"json_lines.py"}


def reads_system_clock(tree: ast.Module) -> bool:
    called = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any((name_of(func.value), func.attr) in SYSTEM_CLOCKS for func in called if isinstance(func, ast.Attribute))


def reads_json_lines(tree: ast.Module) -> bool:
    """Whether a loop over lines parses each as JSON."""
    loops = (node for node in ast.walk(tree) if isinstance(node, ast.For | ast.GeneratorExp | ast.ListComp))
    return any(re.search(r"json\.loads\(line\)", ast.unparse(loop)) for loop in loops)


def test_the_system_clock_is_read_in_few_files():
    files = [short(path) for path in MODULES.values() if reads_system_clock(tree_of(path))]
    assert len(files) <= FILES_THAT_READ_THE_CLOCK_AT_MOST, files


def test_toml_has_one_reader_for_data_and_one_for_settings():
    assert {short(path) for path in MODULES.values() if "tomllib" in imports_at_top(path)} == READERS_OF_TOML


def test_json_lines_have_one_reader():
    assert {short(path) for path in MODULES.values() if reads_json_lines(tree_of(path))} == READERS_OF_JSON_LINES


def imports_at_top(path: Path) -> Iterator[str]:
    """The top-level packages that a file imports."""
    return (name.partition(".")[0] for name in imported(tree_of(path)))


# Rule 6: view models know QtCore only; what has widgets does no input or output.

INPUT_OUTPUT_MODULES = {
    "aiohttp", "httpcore", "httpx", "keyring", "requests", "shutil", "socket", "sounddevice", "soundfile", "sqlite3",
    "subprocess", "tempfile", "urllib",
}  # fmt: skip
INPUT_OUTPUT_CALLS = {
    "glob", "iterdir", "mkdir", "read_bytes", "read_text", "rglob", "rmdir", "touch", "unlink", "write_bytes",
    "write_text",
}  # fmt: skip
READERS_OF_SHIPPED_PICTURES = {"icons.py", "protocol_picture.py"}


def is_view_model(path: Path) -> bool:
    """Whether a module of a feature, or of what features share, defines a QObject that is no widget."""
    if path.parent == DESK or path.relative_to(DESK).parts[0] in {"charts", "shell", "ui"}:
        return False
    classes = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)]
    return any(name_of(base) == "QObject" for node in classes for base in node.bases)


def qt_modules(path: Path) -> set[str]:
    names = (name.split(".") for name in imported(tree_of(path)))
    return {parts[1] for parts in names if parts[0] == "PySide6"}


def does_input_output(path: Path) -> bool:
    calls = {node.func for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)}
    opens = any(isinstance(func, ast.Name) and func.id == "open" for func in calls)
    touches = any(isinstance(func, ast.Attribute) and func.attr in INPUT_OUTPUT_CALLS for func in calls)
    return opens or touches or not INPUT_OUTPUT_MODULES.isdisjoint(imports_at_top(path))


def test_view_models_import_only_qtcore():
    models = [path for path in DESK.rglob("*.py") if is_view_model(path)]
    assert len(models) > 20
    found = {path.name for path in models if qt_modules(path) - {"QtCore"}}
    assert found == set()


def test_view_models_import_no_view():
    views = {name for name, path in MODULES.items() if DESK in path.parents and "QtWidgets" in qt_modules(path)}
    models = [path for path in DESK.rglob("*.py") if is_view_model(path)]
    found = {path.name for path in models if import_graph()[module_name(path)] & views}
    assert found == set()


def test_views_do_no_input_or_output():
    views = [path for path in DESK.rglob("*.py") if "QtWidgets" in qt_modules(path)]
    assert len(views) > 20
    found = {path.name for path in views if does_input_output(path)}
    assert found <= READERS_OF_SHIPPED_PICTURES


# Rule 7: texts are marked for translation.

UNMARKED_TEXTS_AT_MOST = 5
SENTENCE = re.compile(r"[A-Z][a-z]+(?: [\w'-]+)+|[a-z]+(?: [\w'-]+){2,}")


MARKS = {"_", "N_", "ngettext", "pgettext", "npgettext", "message", "plural_message"} | {"tr", "translate"}
SHOWN_AT_ONCE = {"_", "ngettext", "pgettext", "npgettext", "translated"}


def texts_of_import_time(tree: ast.Module) -> Iterator[str]:
    """Calls that translate while a module is imported: they would keep the language of that moment."""
    inside = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
    later = {node for function in inside for part in bodies_of(function) for node in ast.walk(part)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func) in SHOWN_AT_ONCE and node not in later:
            yield ast.unparse(node)


def bodies_of(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.AST]:
    """What runs when the function is called; its default values do not."""
    return list(function.body) if isinstance(function.body, list) else [function.body]


def test_no_text_is_translated_while_a_module_is_imported():
    """The commands are the exception: their language is chosen before they are imported."""
    found = {
        short(path): list(texts_of_import_time(tree_of(path)))
        for path in MODULES.values()
        if not path.is_relative_to(SOURCES / "cli")
    }
    assert {name: texts for name, texts in found.items() if texts} == {}


def texts_with_f_strings(tree: ast.Module) -> Iterator[str]:
    """Marked texts that no tool can find: f-strings, variables, sums and `.format` inside of the call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func) in MARKS - {"tr", "translate", "_"}:
            first = node.args[0] if node.args else None
            if not (isinstance(first, ast.Constant) and isinstance(first.value, str)):
                yield ast.unparse(node)


def test_marked_texts_are_constants():
    """`_` may also translate a variable that holds a text marked with `N_`."""
    users = (path for path in MODULES.values() if not path.is_relative_to(SOURCES / "language"))
    found = [text for path in users for text in texts_with_f_strings(tree_of(path))]
    assert found == []


TEMPLATES = {"_": (0, 0), "message": (0, 0), "pgettext": (1, 1), "ngettext": (0, 1), "plural_message": (0, 1)}
"""Where a function that fills fields has its first and its last template."""


def wrong_fields(tree: ast.Module) -> Iterator[str]:
    """Texts whose fields are not those that the call gives, or have a format that numbers of a region do not have.

    A page would show them as `{name}`, since templates are never allowed to fail where people read.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or name_of(node.func) not in TEMPLATES:
            continue
        first, last = TEMPLATES[name_of(node.func)]
        texts = [text.value for text in node.args[first : last + 1] if isinstance(text, ast.Constant)]
        given = {keyword.arg for keyword in node.keywords}
        if None in given or len(texts) <= last - first:
            continue
        counts = {"count"} if last > first else set()
        used = [field for text in texts for field in Formatter().parse(text) if field[1] is not None]
        names = {field[1] for field in used}
        formats_fit = all(is_number_format(field[2] or "") for field in used)
        whole = names - counts <= given <= names | counts and formats_fit
        if (given or counts) and not whole:  # without any field, the text is shown as it is
            yield ast.unparse(node)


def test_marked_texts_get_their_fields():
    users = (path for path in MODULES.values() if not path.is_relative_to(SOURCES / "language"))
    assert [text for path in users for text in wrong_fields(tree_of(path))] == []


def unmarked_texts(tree: ast.Module) -> Iterator[str]:
    """Texts of several words that are neither docstrings nor in `tr()`."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        marks = isinstance(node, ast.Call) and name_of(node.func) in MARKS
        if marks or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            skipped.update(ast.walk(node))
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in skipped)
    return (node.value for node in texts if isinstance(node.value, str) and SENTENCE.match(node.value.strip()))


def test_texts_of_the_desk_are_marked_for_translation():
    found = [text for path in DESK.rglob("*.py") for text in unmarked_texts(tree_of(path))]
    assert len(found) <= UNMARKED_TEXTS_AT_MOST, found[:20]


# Rule 8: a class name means one thing.

HTTP_ERRORS = {"Conflict", "InsufficientCredits", "InvalidRequest", "NotFound", "RateLimited", "Unauthorized"}
"""Errors that the service raises and the client raises again from its answer, under the same name."""


def test_no_two_public_classes_have_the_same_name():
    homes = defaultdict(list)
    for path in MODULES.values():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(short(path))
    repeated = {name: files for name, files in homes.items() if len(files) > 1}
    assert {name: repeated[name] for name in repeated.keys() - HTTP_ERRORS} == {}


# Rule 10: numbers live in resources/.

NUMBERS_OF_A_TABLE = 20
TABLES_IN_CODE = {"tokens.py", "syscalls.py"}
"""Colours of the desk, and numbers of system calls of the kernel."""


def numbers_in(node: ast.stmt) -> int:
    constants = (item.value for item in ast.walk(node) if isinstance(item, ast.Constant))
    return sum(isinstance(value, int | float) and not isinstance(value, bool) for value in constants)


def test_tables_of_numbers_are_in_resources():
    assignments = (
        (path, node)
        for path in MODULES.values()
        for node in tree_of(path).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
    )
    found = {path.name for path, node in assignments if numbers_in(node) >= NUMBERS_OF_A_TABLE}
    assert found <= TABLES_IN_CODE


# Rule 13: only desk/flow knows that time passes. Elsewhere in the desk, nobody starts work, asks which work has ended,
# compares an answer with what is shown by now, or keeps a cache. What cannot do without is listed with its reason.

WORK = {"TaskOwner", "SerialTasks", "Task"}
NAME_OF_ID = re.compile(r"(_id|recording|token|asked\w*)$")
FILES_THAT_START_WORK = {
    "playback.py": "calls to the loudspeaker, which has one user at a time; nothing that is stored changes",
    "record/view_model.py": "calls to the microphone, in the order of the buttons; a take comes from its own thread",
}
CACHES = {"subject_data/levels.py": "remembers the value of a pure function of stored bytes, which never gets old"}


@cache
def makers_of_actions() -> frozenset[str]:
    """What makes something that a button does: commands, notices, and calls for later."""
    names, grown = {"Command"}, True
    classes = [
        (node.name, {name_of(base) for base in node.bases})
        for path in DESK.rglob("*.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef)
    ]
    while grown:
        found = {name for name, bases in classes if bases & names}
        grown, names = not found <= names, names | found
    return frozenset(names | {"partial", "Notice", "NoticeAction"})


def remembers_actions(tree: ast.Module) -> Iterator[str]:
    """Attributes of objects that hold what a button will do."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name("self"), attr=attribute)], value=value):
                used = {name_of(each.func) for each in ast.walk(value) if isinstance(each, ast.Call)}
            case ast.AnnAssign(target=ast.Attribute(value=ast.Name("self"), attr=attribute), annotation=annotation):
                used = {each.id for each in ast.walk(annotation) if isinstance(each, ast.Name)}
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(value=ast.Name("self"), attr=attribute), attr="append")
            ):
                used = {name_of(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)}
            case _:
                continue
        if used & makers_of_actions():
            yield attribute


def starts_work(tree: ast.Module) -> bool:
    """Whether a module has the means to start work."""
    return any(name.rpartition(".")[2] in WORK for name in imported(tree) if name.startswith("vbdesk.desk.flow.tasks."))


def guards_of_late_answers(tree: ast.Module) -> int:
    """How often a module asks who has sent a signal, or a slot compares what it got with what its object remembers."""
    asked = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and name_of(node.func) == "sender")
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    slots = [node for node in functions if any("Slot" in ast.unparse(each) for each in node.decorator_list)]
    return sum(1 for _ in asked) + sum(map(compares_with_present, slots))


def compares_with_present(slot: ast.FunctionDef) -> int:
    """How many comparisons of a slot have an id of the answer on one side, and of the object on the other."""
    found = 0
    for node in ast.walk(slot):
        if not (isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot)):
            continue
        sides = [ast.unparse(side) for side in (node.left, node.comparators[0])]
        remembered = [side.startswith("self._") or side == "self.group_id" for side in sides]
        found += sorted(remembered) == [False, True] and any(map(NAME_OF_ID.search, sides))
    return found


def outside_of_flow() -> Iterator[Path]:
    kept = {DESK / "flow", DESK / "ui", DESK / "charts"}
    return (path for path in DESK.rglob("*.py") if not kept & {path, *path.parents})


def test_work_is_started_in_flow_alone():
    found = {path.relative_to(DESK).as_posix() for path in outside_of_flow() if starts_work(tree_of(path))}
    assert found == FILES_THAT_START_WORK.keys()


@pytest.mark.parametrize("feature", ["first_start", "help", "unlock"])
def test_what_is_shown_without_a_profile_reads_and_changes_nothing_of_one(feature):
    assert not [path.name for path in (DESK / feature).rglob("*.py") if "DeskContext" in path.read_text()]


def test_no_page_guards_itself_against_late_answers():
    counted = {path.relative_to(DESK).as_posix(): guards_of_late_answers(tree_of(path)) for path in outside_of_flow()}
    assert [name for name, count in counted.items() if count] == []


def test_no_attribute_remembers_what_a_button_will_do():
    found = {
        f"{path.relative_to(DESK).as_posix()} {attribute}"
        for path in outside_of_flow()
        for attribute in remembers_actions(tree_of(path))
    }
    assert found == set()


@pytest.mark.parametrize(
    ("code", "attributes"),
    [
        ("class A:\n  def f(self):\n    self._undo = partial(self._do, 1)", ["_undo"]),
        ("class A:\n  def f(self):\n    self._left: list[MoveToTrash] = []", ["_left"]),
        ("class A:\n  def f(self):\n    self._left.append((Remove(()), 7))", ["_left"]),
        ("class A:\n  def f(self):\n    self.saved.connect(partial(self._do, Remove(())))", []),
        ("class A:\n  def f(self, take_ids):\n    self._screen.add(UndoableRead(take_ids))", []),
    ],
)
def test_attributes_that_remember_actions_are_known(code, attributes):
    assert list(remembers_actions(ast.parse(code))) == attributes


def test_no_page_has_a_cache_of_its_own():
    found = {
        path.relative_to(DESK).as_posix()
        for path in outside_of_flow()
        if any(name.endswith(("OrderedDict", "lru_cache")) for name in imported(tree_of(path)))
    }
    assert found == CACHES.keys()


@pytest.mark.parametrize(
    ("code", "guards"),
    [
        ("class A:\n  @Slot()\n  def f(self):\n    if self.sender() is self._task: pass", 1),
        ("class A:\n  @Slot(object)\n  def f(self, answer):\n    if answer.group_id != self.group_id: return", 1),
        ("class A:\n  @Slot(object)\n  def f(self, read):\n    if read.recording == self._asked_for: return", 1),
        ("class A:\n  @Slot(object)\n  def f(self, reading):\n    if reading != self._reading: pass", 0),
        ("class A:\n  def f(self, group_id):\n    return group_id == self.group_id", 0),
    ],
)
def test_what_guards_against_late_answers_is_known(code, guards):
    assert guards_of_late_answers(ast.parse(code)) == guards


# Rule 11: how tests run.

PYTEST = PROJECT["tool"]["pytest"]["ini_options"]


BENIGN_WARNINGS = ["ignore:Do not use the `random` module inside strategies"]
"""Of a tool, about what another test's thread does; each with its reason in pyproject.toml."""


def test_warnings_and_qt_messages_fail_tests():
    assert PYTEST["filterwarnings"] == ["error", *BENIGN_WARNINGS]
    assert PYTEST["qt_log_level_fail"] == "WARNING"


@pytest.mark.parametrize("option", ["--disable-socket", "--allow-hosts=127.0.0.1,::1,localhost", "--strict-markers"])
def test_tests_reach_this_computer_only(option):
    assert option in PYTEST["addopts"].split()


def test_tests_run_in_random_order():
    assert any(name.startswith("pytest-randomly") for name in PROJECT["project"]["optional-dependencies"]["test"])
    assert "randomly" not in PYTEST["addopts"]


def test_types_are_checked_strictly():
    assert PROJECT["tool"]["mypy"]["strict"] is True
    assert set(PROJECT["tool"]["mypy"]) == {"strict", "packages", "mypy_path", "plugins", "overrides"}
    loosened = {key for override in PROJECT["tool"]["mypy"]["overrides"] for key in override}
    assert loosened == {"module", "ignore_missing_imports"}


def test_no_failed_test_is_retried():
    scripts = ("bootstrap", "run_tests", "check_changes", "pytest_events")
    command = "".join((ROOT / "packaging" / f"{name}.py").read_text(encoding="utf-8") for name in scripts)
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for retry in ("--last-failed", "--lf", "--reruns", "rerunfailures", "flaky"):
        assert retry not in command + settings


READS_OF_RESULTS = re.compile(r"\.jobs\.get\(|\.groups\.(trajectory|wait_trajectory|aggregate)\(")


def test_one_repository_reads_results_for_the_desk_and_its_sync_worker():
    sources = [path for package in ("desk", "outbox") for path in (SOURCES / package).rglob("*.py")]
    readers = {path.relative_to(SOURCES).as_posix() for path in sources if READS_OF_RESULTS.search(path.read_text())}
    assert readers == {"outbox/results/repository.py"}


def test_the_desk_reaches_the_store_and_its_key_in_the_composition_root_alone():
    stores = re.compile(r"library\.store\b|\bStore\(")
    users = {path.parent.name for path in (SOURCES / "desk").rglob("*.py") if stores.search(path.read_text())}
    assert users == {"shell"}


# Rule 14: properties that begin with `i` are set by their setter.


def properties_with_i(tree: ast.Module) -> Iterator[str]:
    """Properties beginning with `i` that are given to the constructor of a class of Qt."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and re.fullmatch(r"(?:\w+\.)*Q[A-Z]\w*", ast.unparse(call.func)):
            yield from (keyword.arg for keyword in call.keywords if keyword.arg and keyword.arg.startswith("i"))


def test_no_property_with_i_is_given_to_a_constructor_of_qt():
    found = {short(path): list(properties_with_i(tree_of(path))) for path in DESK.rglob("*.py")}
    assert {file: names for file, names in found.items() if names} == {}
    assert list(properties_with_i(ast.parse("QTimer(self, singleShot=True, interval=5)"))) == ["interval"]
