"""Break single lines of the rules, and count how many of the breaks the tests of their package find.

    python tests/soak/broken_lines.py [PACKAGE ...] [--count N] [--seed TEXT] [--again] [--results FOLDER]

Works in a copy of the repository. Runs the tests of a package once, to learn which of them run each line, and then
breaks one line at a time and runs the tests of this line, the quickest ones first. If no test runs the line, as with
a constant of a module, all tests of the package run, the likely ones first. Results are kept, so that a run that was
stopped goes on; `--again` tries the breaks once more that no test found. Fails if too few are found in a package.
"""

import argparse
import ast
import contextlib
import hashlib
import importlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

import coverage

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "packaging"))
import pytest_events  # noqa: E402
from choose_tests import choose_tests  # noqa: E402

PACKAGES = {
    "contract": ("contract",),
    "signs": ("signs",),
    "longitudinal": ("longitudinal",),
    "outbox/library": ("outbox/library",),
    "service/jobs": ("service/jobs", "service/credits"),
    "report": ("report",),
}
TESTS = {  # where the tests of the rules are, if not in the folders of the same names
    "contract": ("contract", "report/test_narrative.py", "signs/test_signs_narrative.py"),
    "outbox/library": ("outbox",),
}
DRAWINGS = tuple(f"src/vbdesk/report/{name}" for name in ("drawing/", "trajectory_chart.py", "chart_legend.py"))
"""Their numbers are looks, not rules."""
BREAKS = 60
LEAST_SHARE = 0.85
MOST_SECONDS = 300.0  # for the tests of one break
LEFT_OUT = (".git", ".venv", "node_modules", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis")
LARGE = ("schemathesis", "hypothesis", "numpy", "pydantic", "httpx", "sqlalchemy", "fastapi", "PySide6.QtWidgets")
QUIET = ("-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")  # for what is imported before
SAME = (
    "min",
    "max",
    "minimum",
    "maximum",
    "and_",
    "or_",
    "where",
    "compare_digest",
)  # their first two arguments may be swapped
NO_RULES = ("log", "logger", "logging", "N_")  # calls without a rule in their arguments

FLIPPED = {
    ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.Lt: [ast.LtE, ast.GtE], ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE], ast.GtE: [ast.Gt, ast.Lt], ast.Is: [ast.IsNot], ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn], ast.NotIn: [ast.In], ast.Add: [ast.Sub], ast.Sub: [ast.Add], ast.Mult: [ast.Div],
    ast.Div: [ast.Mult], ast.And: [ast.Or], ast.Or: [ast.And],
}  # fmt: skip


@dataclass(frozen=True)
class Break:
    """A changed line; `statement` is the first line of its statement."""

    file: str
    line: int
    statement: int
    before: str
    after: str

    def order(self, seed: str) -> str:
        """Place in the draw; it stays the same when other lines change."""
        return hashlib.sha256(f"{seed} {self.file} {self.before} {self.after}".encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}\n    - {self.before.strip()}\n    + {self.after.strip()}"


def breaks_of(file: str, source: str) -> Iterator[Break]:
    """Yield all breaks of a file."""
    lines, tree = source.encode().splitlines(), ast.parse(source)
    simple = [each for each in ast.walk(tree) if isinstance(each, ast.stmt) and not hasattr(each, "body")]
    starts = {line: each.lineno for each in simple for line in range(each.lineno, (each.end_lineno or 0) + 1)}
    for node, after in changes(tree):
        line = node.lineno
        is_looks = isinstance(node, ast.Constant) and file.startswith(DRAWINGS)
        if line == node.end_lineno and not is_looks:
            before = lines[line - 1]
            changed = before[: node.col_offset] + after.encode() + before[node.end_col_offset :]
            yield Break(file, line, starts.get(line, line), before.decode(), changed.decode())


def changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield parts of a tree, each with a text that changes what it does; leaves out types, texts and logging."""
    if isinstance(node, ast.keyword) and node.arg == "strict":  # it raises an error that nothing raises
        return
    called = node.func if isinstance(node, ast.Call) else None
    name = called.value if isinstance(called, ast.Attribute) else called
    if isinstance(node, ast.JoinedStr) or (isinstance(name, ast.Name) and name.id in NO_RULES):
        return
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list", "slice" if is_type(node) else ""):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from changes(child)
    match node:
        case ast.Compare(left, [operation], [right]):
            for other in FLIPPED[type(operation)]:
                yield node, f"({ast.unparse(ast.Compare(left, [other()], [right]))})"
        case ast.BoolOp(operation, values):
            yield node, f"({ast.unparse(ast.BoolOp(FLIPPED[type(operation)][0](), values))})"
        case ast.BinOp(left, operation, right) if type(operation) in FLIPPED and not (is_text(left) or is_text(right)):
            yield node, f"({ast.unparse(ast.BinOp(left, FLIPPED[type(operation)][0](), right))})"
        case ast.UnaryOp(ast.Not(), operand):
            yield node, f"({ast.unparse(operand)})"
        case ast.Constant(bool(value)):
            yield node, repr(not value)
        case ast.Constant(int(value)):
            yield node, repr(value + 1)
        case ast.Constant(float(value)):
            yield node, repr(value * 1.1 or 0.1)
        case ast.Call(_, [first, second, *_]) if (
            not isinstance(first, ast.Starred)
            and not isinstance(second, ast.Starred)
            and ast.unparse(node.func).rpartition(".")[2] not in SAME
        ):
            swapped = [second, first, *node.args[2:]]
            yield node, ast.unparse(ast.Call(node.func, swapped, node.keywords))
        case ast.If(_, [ast.Return() | ast.Raise() | ast.Continue() as end], []):
            yield end, "pass"


def is_type(node: ast.AST) -> bool:
    """Whether it is the use of a generic type, such as `Literal[1]`."""
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id[0].isupper()


def is_text(node: ast.expr) -> bool:
    """Whether it is surely a text."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def drawn(package: str, seed: str, count: int) -> list[Break]:
    """Draw breaks of a package, at most one of a line."""
    first: dict[tuple[str, int], Break] = {}
    for folder in PACKAGES[package]:
        for path in sorted((ROOT / "src" / "vbdesk" / folder).rglob("*.py")):
            file = path.relative_to(ROOT).as_posix()
            for each in sorted(breaks_of(file, path.read_text(encoding="utf-8")), key=lambda found: found.order(seed)):
                first.setdefault((file, each.line), each)
    return sorted(first.values(), key=lambda found: found.order(seed))[:count]


class Copy:
    """A copy of the repository, in which the tests of a package run."""

    def __init__(self, folder: Path, package: str) -> None:
        self.root, self._folder = folder / "copy", folder
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns(*LEFT_OUT))
        self._tests = [f"tests/{name}" for name in TESTS.get(package, PACKAGES[package])]
        self.seconds: dict[str, float] = {}  # of each test that passes
        self.run_by: dict[tuple[str, int], set[str]] = {}

    def _pytest(self, *arguments: str, limit: float | None = None) -> list[dict[str, object]] | None:
        """Run pytest; return its events, or None if it had to be stopped."""
        events = self._folder / "events.jsonl"
        events.unlink(missing_ok=True)
        run = multiprocessing.get_context("fork").Process(
            target=self._run, args=(str(events), *arguments, "-q", *QUIET)
        )
        run.start()
        run.join(limit)
        if run.exitcode is not None:
            return [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines()]
        os.killpg(run.pid, signal.SIGKILL)
        run.join()
        return None

    def _run(self, *arguments: str) -> None:
        """Run pytest in a process of its own, whose parent has imported the large packages."""
        os.setsid()
        os.chdir(self.root)
        os.environ |= {"PYTHONPATH": str(self.root / "src"), "COVERAGE_FILE": str(self._folder / "coverage")}
        sys.path[:] = [str(self.root / "src"), *sys.path]
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nowhere, stream)
        os._exit(pytest_events.main(*arguments))

    def learn(self, package: str) -> None:
        """Run all tests of the package, and note which of them run each line, and their time."""
        covered = [f"--cov={self.root / 'src' / 'vbdesk' / folder}" for folder in PACKAGES[package]]
        for event in self._pytest(*self._tests, *covered, "--cov-context=test", "--cov-report=") or ():
            if event.get("outcome") == "passed":
                test = str(event["test"]).partition("[")[0]
                self.seconds[test] = self.seconds.get(test, 0.0) + float(str(event["seconds"]))
            elif event.get("outcome") == "failed":
                print(f"  fails without a break, left out: {event['test']}", flush=True)
                self.seconds[str(event["test"]).partition("[")[0]] = float("inf")
        self.seconds = {test: seconds for test, seconds in self.seconds.items() if seconds < float("inf")}
        data = coverage.CoverageData(str(self._folder / "coverage"))
        data.read()
        for file in data.measured_files():
            for line, contexts in data.contexts_by_lineno(file).items():
                tests = {context.partition("|")[0].partition("[")[0] for context in contexts} & self.seconds.keys()
                self.run_by[Path(file).relative_to(self.root).as_posix(), line] = tests

    def outcome(self, each: Break) -> str:
        """Break a line and run its tests; return `found ...`, or why it was not."""
        lines = range(each.statement, each.line + 1)
        running = set().union(*(self.run_by.get((each.file, line), ()) for line in lines))
        tests = sorted(running, key=self.seconds.__getitem__)
        note = "not noticed by the tests that run it"
        if not tests:
            likely = choose_tests({each.file: [each.line]})
            tests = list(dict.fromkeys(test for test in [*likely, *self.seconds] if test in self.seconds))
            note = "no test runs it"
        plan = self._folder / "plan.json"
        plan.write_text(json.dumps({"order": tests, "seconds": MOST_SECONDS}), encoding="utf-8")
        usual = min(MOST_SECONDS, sum(self.seconds[test] for test in tests))
        path = self.root / each.file
        source, times = path.read_bytes(), path.stat()
        changed = source.splitlines(keepends=True)
        changed[each.line - 1] = each.after.encode() + b"\n"
        try:
            path.write_bytes(b"".join(changed))
            compiled_anew = times.st_mtime - 3600 - each.line  # or what the break before it left is taken for its own
            os.utime(path, (times.st_atime, compiled_anew))
            files = dict.fromkeys(test.partition("::")[0] for test in tests)
            events = self._pytest(f"--plan={plan}", "-x", *files, limit=5 * usual + 120)
        finally:
            path.write_bytes(source)
            os.utime(path, (times.st_atime, times.st_mtime))
        if events is None:
            return "found: the tests do not end"
        failed = [str(event["test"]) for event in events if event.get("outcome") == "failed"]
        if failed:
            return f"found by {failed[0]}"
        if events[-1:] != [{"ended": 0}]:
            return "found: pytest does not start"
        late = any(str(event.get("reason", "")).startswith("not tried") for event in events)
        return note + (", not all tried in time" if late else "")


def interval(found: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z2 = 1.96**2
    middle = (found + z2 / 2) / (count + z2)
    half = 1.96 * sqrt(found * (count - found) / count + z2 / 4) / (count + z2)
    return middle - half, middle + half


def main(arguments: list[str]) -> int:
    """Break lines of the named packages, or all; 1 if the tests of one find too few."""
    parser = argparse.ArgumentParser(prog="broken_lines.py", description="Break lines, and see whether a test fails.")
    parser.add_argument("packages", nargs="*", help=f"of {', '.join(PACKAGES)}")
    parser.add_argument("--count", type=int, default=BREAKS, help="breaks of each package")
    parser.add_argument("--seed", default="1", help="another seed draws other breaks")
    parser.add_argument("--again", action="store_true", help="try again what was not found")
    parser.add_argument("--results", type=Path, default=ROOT / ".pytest_cache" / "broken_lines", help="folder to keep")
    options = parser.parse_args(arguments)
    for name in LARGE:
        importlib.import_module(name)
    too_few = []
    for package in options.packages or PACKAGES:
        kept = options.results / f"{package.replace('/', '-')}.jsonl"
        kept.parent.mkdir(parents=True, exist_ok=True)
        results: dict[str, str] = {}
        with contextlib.suppress(FileNotFoundError):
            results = dict(json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines())
        chosen = drawn(package, options.seed, options.count)
        known = {name for name, result in results.items() if result.startswith("found") or not options.again}
        missing = [each for each in chosen if each.order(options.seed) not in known]
        if missing:
            with tempfile.TemporaryDirectory() as folder, kept.open("a", encoding="utf-8") as file:
                copy = Copy(Path(folder), package)
                copy.learn(package)
                for each in missing:
                    results[each.order(options.seed)] = result = copy.outcome(each)
                    file.write(json.dumps([each.order(options.seed), result]) + "\n")
                    file.flush()
        lost = [each for each in chosen if not results[each.order(options.seed)].startswith("found")]
        share = 1 - len(lost) / len(chosen)
        low, high = interval(len(chosen) - len(lost), len(chosen))
        count = f"{len(chosen) - len(lost)} of {len(chosen)} breaks found"
        print(f"{package}: {count}, {share:.0%} (95 % interval {low:.0%} to {high:.0%})", flush=True)
        for each in lost:
            print(f"  {each}\n    {results[each.order(options.seed)]}", flush=True)
        too_few += [package] if share < LEAST_SHARE else []
    return 1 if too_few else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
