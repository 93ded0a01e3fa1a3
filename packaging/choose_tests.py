"""Tests that a change may make fail, the likely ones first.

The choice walks over names. Code that is changed has a name; the functions that mention this name use it; they have
names, too; and so on until tests mention one. Each step is less certain than the one before, and less certain still
if many things have the name or if the file of the user does not import that of the used. Tests of the same folder, and
tests whose file is named like the changed one, come next: a route is used by its address, not by its name.
"""

import ast
import heapq
import pickle
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".pytest_cache" / "names.pickle"
# `check` leaves these out: they start clusters, foreign programs or real windows, or run for minutes.
LONG_FOLDERS = ("e2e", "soak", "benchmarks", "service/cluster", "service/conformance", "service/generated")
# These start whole programs: of two tests that are as likely to notice a change, the other one comes first.
SLOW = ("cli/test_client_guide", "cli/test_demo", "outbox/test_key_leaks", "service/composition", "service/maintenance")
SLOW_SHARE = 0.2
# Rules for the code. The others of tests/test_house.py are about tests, imports and new files.
RULES = ("tests/test_architecture.py", "tests/test_house.py::test_only_the_theme_defines_colours")
ALL_RULES = ("tests/test_architecture.py", "tests/test_house.py")

STEP = 0.7  # certainty that a user of something uncertain matters
WITHOUT_IMPORT = 0.4  # the same if its file does not import that of the used
LEAST = 0.002
SAME_FOLDER = 0.03
SAME_NAME = 0.2
NAMED_LIKE_TEXT = re.compile(r"[\w./-]{3,60}")


@dataclass(frozen=True)
class Unit:
    """A function, method, class or constant, with the names that its code mentions."""

    file: str
    name: str
    owner: str  # class of a method
    first: int
    last: int
    mentions: frozenset[str]

    @property
    def is_test(self) -> bool:
        """Whether pytest runs it."""
        return self.name.startswith("test") and Path(self.file).name.startswith("test_")

    @property
    def test_id(self) -> str:
        """Id of a test without the values of its parameters."""
        return "::".join(filter(None, (self.file, self.owner, self.name)))


@dataclass(frozen=True)
class Source:
    """Units of a file, and the modules that it imports."""

    units: tuple[Unit, ...]
    imports: frozenset[str]


def read_source(file: str) -> Source:
    """Find the units and imports of a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    imports = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imports |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return Source(tuple(units_in(file, tree.body, "")), frozenset(imports))


def units_in(file: str, body: Iterable[ast.stmt], owner: str) -> Iterator[Unit]:
    """Yield the units of a module or class; a class is a unit without its methods."""
    for node in body:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        if isinstance(node, ast.ClassDef):
            yield from units_in(file, node.body, node.name)
            rest = [*node.bases, *node.decorator_list, *(each for each in node.body if not is_function(each))]
            yield Unit(file, node.name, "", first, node.end_lineno or first, mentions(rest))
        elif is_function(node):
            yield Unit(file, node.name, owner, first, node.end_lineno or first, mentions([node]))
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for name in [target.id for target in targets if isinstance(target, ast.Name)] or [""]:
                yield Unit(file, name, owner, first, node.end_lineno or first, mentions([node]))


def is_function(node: ast.stmt) -> bool:
    """Whether a statement defines a function."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def mentions(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names in code: variables, attributes, parameters (fixtures, in a test), keywords, and short texts (files)."""
    found = set()
    for node in (each for top in nodes for each in ast.walk(top)):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.arg | ast.keyword) and node.arg:
            found.add(node.arg)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and NAMED_LIKE_TEXT.fullmatch(node.value):
            found |= {node.value, re.split(r"[./]", node.value)[-1], node.value.rpartition("/")[2]}
    return frozenset(found)


class Names:
    """All units of the project, and who mentions them."""

    def __init__(self) -> None:
        self.sources: dict[str, Source] = {}
        try:
            known = pickle.loads(CACHE.read_bytes())
        except (OSError, ValueError, EOFError, pickle.UnpicklingError, AttributeError):
            known = {}
        read = {}
        for folder in ("src", "tests"):
            for path in sorted((ROOT / folder).rglob("*.py")):
                file, changed_at = path.relative_to(ROOT).as_posix(), path.stat().st_mtime_ns
                at, source = known.get(file, (0, None))
                read[file] = (changed_at, source if at == changed_at else read_source(file))
                self.sources[file] = read[file][1]
        if read != known:
            CACHE.parent.mkdir(exist_ok=True)
            CACHE.write_bytes(pickle.dumps(read))

    @cached_property
    def users(self) -> Mapping[str, list[Unit]]:
        """Units by each name that they mention."""
        users = defaultdict(list)
        for source in self.sources.values():
            for unit in source.units:
                for name in unit.mentions:
                    users[name].append(unit)
        return users

    @cached_property
    def meanings(self) -> Mapping[str, int]:
        """Number of units with each name."""
        meanings: dict[str, int] = defaultdict(int)
        for source in self.sources.values():
            for unit in source.units:
                meanings[unit.name] += 1
        return meanings

    def tests(self) -> list[Unit]:
        """All tests that `check` may run."""
        long = tuple(f"tests/{folder}/" for folder in LONG_FOLDERS)
        return [
            unit
            for file, source in self.sources.items()
            if file.startswith("tests/") and not file.startswith((*long, *ALL_RULES))
            for unit in source.units
            if unit.is_test
        ]

    def sees(self, user: str, used: str) -> bool:
        """Whether a file is, imports, or as a test gets fixtures from another."""
        if user == used or (used.endswith("/conftest.py") and user.startswith(used.removesuffix("conftest.py"))):
            return True
        return not self.sources[user].imports.isdisjoint(module_names(used))

    def certainties(self, changed: Iterable[Unit]) -> dict[Unit, float]:
        """How certain it is that each unit runs code of the changed ones, from 0 to 1."""
        certain: dict[Unit, float] = {}
        queue = [(-1.0, number, unit) for number, unit in enumerate(changed)]
        while queue:
            minus, _, unit = heapq.heappop(queue)
            if unit in certain:
                continue
            certain[unit] = -minus
            for number, (user, share) in enumerate(self._users_of(unit), len(certain) + len(queue)):
                if user not in certain and -minus * share > LEAST:
                    heapq.heappush(queue, (minus * share, number * 100_000 + len(certain), user))
        return certain

    def _users_of(self, unit: Unit) -> Iterator[tuple[Unit, float]]:
        if unit.owner:
            for other in self.sources.get(unit.file, Source((), frozenset())).units:
                if other.name == unit.owner and not other.owner:
                    yield other, 0.95 if unit.name.startswith("__") else STEP * STEP
        if not unit.name or (unit.name.startswith("__") and unit.owner):
            return
        doubt = 1 / max(1, self.meanings[unit.name]) ** 0.5
        for user in self.users.get(unit.name, ()):
            yield user, STEP * (1.0 if self.sees(user.file, unit.file) else WITHOUT_IMPORT * doubt)


@cache
def module_names(file: str) -> set[str]:
    """Names by which a file is imported."""
    module = file.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return {module, Path(file).stem} if file.startswith("tests/") else {module}


def words_of(text: str) -> set[str]:
    """Words of a name, without plural endings."""
    return {word.removesuffix("s") for word in re.split(r"[\W_]+", text.lower()) if len(word) > 2}


def choose_tests(changed: Mapping[str, Iterable[int]], names: Names | None = None) -> list[str]:
    """List ids of tests, the likely ones first, for the changed lines of files; no lines: the whole file."""
    names = names or Names()
    units: list[Unit] = []
    for file, lines in changed.items():
        source = names.sources.get(file)
        if source is None:  # a data file; code mentions its name
            told = {Path(file).name, Path(file).stem} if file.endswith(".py") else {Path(file).name}
            units += [Unit(file, name, "", 0, 0, frozenset()) for name in told]
            continue
        numbers = set(lines)
        touched = [unit for unit in source.units if not numbers or numbers & set(range(unit.first, unit.last + 1))]
        touched = touched or list(source.units)
        owners = {unit.owner for unit in touched}
        units += [unit for unit in touched if unit.name not in owners]
    certain = names.certainties(units)
    scores = {}
    for test in names.tests():
        score = certain.get(test, 0.0)
        for file in changed:
            score += kinship(test, file)
        if test.file.removeprefix("tests/").startswith(SLOW):
            score *= SLOW_SHARE
        if score > 0:
            scores[test.test_id] = score
    return sorted(scores, key=lambda test: -scores[test])


def rules_for(changed: Mapping[str, Iterable[int]]) -> tuple[str, ...]:
    """List the tests of rules that a change may break."""
    for file, lines in changed.items():
        if file.startswith("tests/") or (file.endswith(".py") and not lines):
            return ALL_RULES
        if file.startswith("src/"):
            text = (ROOT / file).read_text(encoding="utf-8").splitlines()
            if any("import " in text[number - 1] for number in lines if number <= len(text)):
                return ALL_RULES
    return RULES


def kinship(test: Unit, file: str) -> float:
    """How much the place and the name of a test say that it is about a file."""
    top, *folders = Path(file).parts[:-1] or ("",)
    package = folders[1:] if top == "src" else folders
    here = Path(test.file).parent
    if file.endswith(".md"):
        return SAME_NAME if Path(test.file).stem == "test_documents" else 0.0
    if top not in ("src", "resources", "tests"):
        return 0.0
    if here == Path("tests", *package) or (package and here.is_relative_to(Path("tests", *package))):
        near = SAME_FOLDER
    elif package and here.is_relative_to(Path("tests", package[0])):
        near = SAME_FOLDER / 2
    else:
        return 0.0
    named, words = words_of(Path(test.file).stem), words_of(Path(file).stem)
    of_package = bool(package) and bool(words_of(package[-1]) & named)
    return near * (3 if of_package else 1) + SAME_NAME * len(words & named) / max(1, len(words))
