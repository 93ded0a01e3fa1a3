"""How quick `bootstrap.py check` is and what it finds: `python tests/benchmarks/check_figures.py`.

Makes changes of one line in src/vbdesk, one after the other, in a clone: a comparison, a number, a truth value, `and`
or `or`, an arithmetic sign, or a returned value of the same type; no texts. Each is given to `check`. A failure counts
if the test that failed passes without the change.

What `check` finds, the whole suite finds, too. Of what it does not find, the suite finds what one of the tests finds
that execute the changed line. These are recorded once, with coverage's contexts, in a run of the whole suite that
traces only the files concerned, in child processes too (`--truth`). `--truth tests/voice ...` records only these
folders; then the share found is an upper bound. Changes that no test finds do not count.

The time for the chosen tests is scaled by how much longer than its processor time a calculation takes on this machine:
other programs must not decide what is found. Results are kept in FOLDER; a second run goes on with them.
"""

import argparse
import ast
import json
import os
import random
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "packaging"))

from check_changes import SECONDS  # noqa: E402

COMPARED = {
    "Lt": "<=", "LtE": "<", "Gt": ">=", "GtE": ">", "Eq": "!=", "NotEq": "==",
    "Is": "is not", "IsNot": "is", "In": "not in", "NotIn": "in",
}  # fmt: skip
CALCULATED = {"Add": "-", "Sub": "+", "Mult": "/", "Div": "*"}
LEFT_OUT = ("migrations/versions",)


@dataclass
class Change:
    """One line that is changed, and what became of it."""

    file: str
    line: int
    old: str
    new: str
    seconds: float = 0.0
    processor_seconds: float = 0.0
    slowness: float = 0.0
    found_by: list[str] = field(default_factory=list)
    suite_finds: list[str] | None = None


def changes_of(file: str) -> Iterator[Change]:
    """Yield every change of one line of a file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    lines = text.splitlines()
    seen = set()
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in (each for statement in function.body for each in ast.walk(statement)):
            new = returned(node, function) if isinstance(node, ast.Return) else changed(node)
            if new is None or node.lineno != node.end_lineno or (node.lineno, node.col_offset, new) in seen:
                continue
            seen.add((node.lineno, node.col_offset, new))
            line = lines[node.lineno - 1].encode()
            result = (line[: node.col_offset] + new.encode() + line[node.end_col_offset :]).decode()
            yield Change(file, node.lineno, lines[node.lineno - 1], result)


def returned(node: ast.Return, function: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    """Return another statement that returns a value of the same type."""
    kind = ast.unparse(function.returns) if function.returns else ""
    value = ast.unparse(node.value) if node.value else "None"
    if kind == "bool":
        return f"return not ({value})"
    if kind in ("int", "float"):
        return f"return ({value}) + 1"
    for ending, empty in (("| None", "None"), ("]", "[]" if kind.startswith("list[") else None)):
        if kind.endswith(ending) and empty is not None and value != empty:
            return f"return {empty}"
    return None


def changed(node: ast.AST) -> str | None:
    """Return the changed code of an expression or statement; None if there is none."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        sign = COMPARED[type(node.ops[0]).__name__]
        return f"({ast.unparse(node.left)} {sign} {ast.unparse(node.comparators[0])})"
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return str(not node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return str(node.value + 1)
    if isinstance(node, ast.BoolOp):
        sign = " or " if isinstance(node.op, ast.And) else " and "
        return "(" + sign.join(f"({ast.unparse(value)})" for value in node.values) + ")"
    if isinstance(node, ast.BinOp) and type(node.op).__name__ in CALCULATED and not is_text(node):
        return f"(({ast.unparse(node.left)}) {CALCULATED[type(node.op).__name__]} ({ast.unparse(node.right)}))"
    return None


def is_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(isinstance(side, ast.JoinedStr) or isinstance(getattr(side, "value", 0), str) for side in sides)


def drawn(count: int, seed: int) -> list[Change]:
    """Draw changes of different lines; a file is as likely as it has changes."""
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "src" / "vbdesk").rglob("*.py"))
    possible = [each for file in files if not any(part in file for part in LEFT_OUT) for each in changes_of(file)]
    return random.Random(seed).sample(possible, count)


def slowness() -> float:
    """Time that a calculation takes over its processor time."""
    began, used = time.perf_counter(), time.process_time()
    while time.process_time() - used < 0.5:
        sum(range(1000))
    return (time.perf_counter() - began) / (time.process_time() - used)


class Clone:
    """A clone of the present commit, with the environment of this one."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "clone"
        self.environment = os.environ | {"PYTHONPATH": str(self.root / "src")}
        if not self.root.exists():
            subprocess.run(["git", "clone", "-q", str(ROOT), str(self.root)], check=True)
            (self.root / ".venv").symlink_to(ROOT / ".venv")
            shutil.copytree(ROOT / "packaging", self.root / "packaging", dirs_exist_ok=True)
            for path in (ROOT / "resources" / "translations").glob("*.mo"):
                shutil.copy(path, self.root / "resources" / "translations")
            if (ROOT / ".mypy_cache").exists():
                shutil.copytree(ROOT / ".mypy_cache", self.root / ".mypy_cache")
            self.git("add", "-A")
            self.git("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost", "commit", "-qm", "start")
            self.git("checkout", "-q", "-B", "main")

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.root, check=True)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command],
            cwd=self.root,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )

    def make(self, change: Change) -> None:
        """Make a change, and no other."""
        self.git("checkout", "-q", ".")
        path = self.root / change.file
        lines = path.read_text(encoding="utf-8").split("\n")
        assert lines[change.line - 1] == change.old
        lines[change.line - 1] = change.new
        path.write_text("\n".join(lines), encoding="utf-8")
        for arguments in (["check", "--fix-only", "-q"], ["format", "-q"]):  # style must not find it
            subprocess.run([ROOT / ".venv" / "bin" / "ruff", *arguments, path], cwd=self.root, check=True)

    def confirmed(self, tests: list[str]) -> list[str]:
        """Return which of the failed tests pass without the change."""
        self.git("checkout", "-q", ".")
        return [test for test in tests if self.run("-m", "pytest", "-q", test).returncode == 0]


def failed_in(output: str) -> list[str]:
    """Names of what failed, from the summary of the runner."""
    _, _, summary = output.partition("\nFailed, ")
    return re.findall(r"^  (\S.*?): ", summary, re.MULTILINE)


def check(clone: Clone, change: Change, log: Path, first: bool) -> None:
    """Give a change to `check`; with `first`, interrupt it at the first failure."""
    change.slowness = round(slowness(), 2)
    clone.make(change)
    began, used = time.perf_counter(), sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    command = [sys.executable, "packaging/check_changes.py", "--seconds", str(SECONDS * change.slowness)]
    output = ""
    with subprocess.Popen(
        command, cwd=clone.root, env=clone.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        for line in running.stdout:
            if first and line.startswith("FAILED ") and "\nFAILED " not in output:
                running.send_signal(signal.SIGINT)
            output += line
    change.seconds = round(time.perf_counter() - began, 1)
    change.processor_seconds = round(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - used, 1)
    with log.open("a") as file:
        file.write(f"#### {change}\n{output}\n")
    failed = failed_in(output)
    steps = [name for name in failed if "::" not in name and "/" not in name]
    change.found_by = steps or clone.confirmed([name for name in failed if name not in steps][:3])


def executing_tests(clone: Clone, changes: list[Change], folder: Path, places: list[str]) -> dict[str, list[str]]:
    """Record the tests that execute the changed lines; returns them by change."""
    from coverage import CoverageData

    clone.git("checkout", "-q", ".")
    data = folder / "coverage"
    settings = folder / "settings.ini"  # coverage erases what begins with the name of its data
    files = "".join(f"\n    {clone.root / change.file}" for change in changes)
    settings.write_text(f"[run]\ndata_file = {data}\nparallel = true\npatch = subprocess\ninclude ={files}\n")
    options = ["--cov", f"--cov-config={settings}", "--cov-context=test", "--cov-report="]
    ran = clone.run("-m", "pytest", "-q", "-n", "2", *options, *places).stdout.splitlines()
    print(f"recorded: {ran[-1]}", flush=True)
    found = CoverageData(str(data))
    found.read()
    if not any("::" in context for context in found.measured_contexts()):
        raise SystemExit("\n".join(["Nothing was recorded.", *ran[-40:]]))
    executing = {}
    for change in changes:
        contexts = found.contexts_by_lineno(str(clone.root / change.file)).get(change.line, [])
        executing[f"{change.file}:{change.line}"] = sorted({name.split("|")[0] for name in contexts if "::" in name})
    return executing


def main(arguments: list[str]) -> int:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", action="store_true", help="only what is found: interrupt at the first failure")
    parser.add_argument("--folder", type=Path, default=ROOT / ".benchmarks" / "check")
    parser.add_argument(
        "--truth", nargs="*", help="find out what the suite finds, with the tests of these folders or all"
    )
    options = parser.parse_args(arguments)
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = options.folder / f"changes-{options.seed}.jsonl"
    lines = results.read_text().splitlines() if results.exists() else []
    changes = [Change(**json.loads(line)) for line in lines]
    clone = Clone(options.folder)
    for change in drawn(options.changes, options.seed)[len(changes) :]:
        check(clone, change, options.folder / "output.log", options.first)
        changes.append(change)
        with results.open("a") as file:
            file.write(json.dumps(asdict(change)) + "\n")
        print(
            f"{change.seconds:6.1f} s {change.file}:{change.line} {change.new.strip()}: {change.found_by[:1]}",
            flush=True,
        )
    missed = [change for change in changes if not change.found_by]
    if options.truth is not None:
        executing = executing_tests(clone, missed, options.folder, options.truth)
        for change in missed:
            tests = executing[f"{change.file}:{change.line}"]
            clone.make(change)
            run = clone.run("-m", "pytest", "-q", "-n", "2", "-rfE", *tests).stdout if tests else ""
            change.suite_finds = clone.confirmed(re.findall(r"^(?:FAILED|ERROR) (\S+)", run, re.MULTILINE)[:3])
            place = f"{change.file}:{change.line}"
            print(f"{place}: {len(tests)} tests execute it, {change.suite_finds} find it", flush=True)
        results.write_text("".join(json.dumps(asdict(change)) + "\n" for change in changes))
    found = len(changes) - len(missed)
    unknown = sum(change.suite_finds is None for change in missed)
    late = sum(bool(change.suite_finds) for change in missed)
    print(f"check finds {found} of the {found + late} changes that the suite finds; {unknown} not known")
    median = statistics.median
    print(f"{median(change.seconds for change in changes):.1f} s, the median")
    print(f"{median(change.seconds / change.slowness for change in changes):.1f} s if the machine did nothing else")
    print(f"{median(change.processor_seconds for change in changes):.1f} s of the processors")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
