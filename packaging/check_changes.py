"""Check what differs from `main`: `.venv/bin/python packaging/check_changes.py [PATH] [--seconds N]`.

Runs style, types and import rules, and at the same time the tests that the changed lines below PATH may make fail: the
likely ones first, until their time is over, then the tests of the rules for the code. Prints the growth of the change
in lines of code.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from choose_tests import choose_tests, rules_for
from code_size import lines_of_code, package_of
from run_tests import PROCESSORS, ROOT, Run, TestGroup, static_checks

SECONDS = 15.0  # for the chosen tests, from the start of their process; then come the tests of rules
MOST_TESTS = 120  # more are hardly reached in this time, and reading their files takes some of it
MOST_PROCESSES = 4
HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def main(arguments: Sequence[str]) -> int:
    """Run the static checks and the likely tests of the changed files below a path."""
    parser = argparse.ArgumentParser(prog="bootstrap.py check", description="Check what differs from main.")
    parser.add_argument("path", nargs="?", default=".", help="check only what changed below this folder")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time for the chosen tests")
    options = parser.parse_args(arguments)
    base = (git("merge-base", "HEAD", "main").split() or ["HEAD"])[0]
    changed = {file: lines for file, lines in changed_lines(base).items() if Path(file).is_relative_to(options.path)}
    run, tests = Run(), choose_tests(changed)
    run.say(f"{len(changed)} changed files; {len(tests)} tests may notice, {min(len(tests), MOST_TESTS)} are tried")
    for package, lines in sorted(growth(base, changed).items()):
        run.say(f"{package}: {lines:+} lines of code")
    with tempfile.TemporaryDirectory() as folder:
        groups = test_groups(tests[:MOST_TESTS], rules_for(changed), options.seconds, Path(folder))
        run.together([*static_checks(), *groups])
    return run.summary()


def test_groups(tests: Sequence[str], rules: Sequence[str], seconds: float, folder: Path) -> list[TestGroup]:
    """Share the tests between one process of pytest per processor, whole files each; the best ones come first.

    The first process runs the tests of the rules, too; meanwhile the others go on with the chosen ones.
    """
    seed = random.SystemRandom().getrandbits(32)
    groups: list[list[str]] = [[] for _ in range(min(PROCESSORS, MOST_PROCESSES))]
    home: dict[str, list[str]] = {}
    for test in tests:
        home.setdefault(test.partition("::")[0], min(groups, key=len)).append(test)
    made = []
    for number, order in enumerate(groups):
        if number and not order:
            continue
        plan = folder / f"{number}.json"
        plan.write_text(json.dumps({"order": order, "seconds": seconds * 1.6 if number else seconds}))
        files = dict.fromkeys([*(test.partition("::")[0] for test in order), *([] if number else rules)])
        made.append(TestGroup(f"pytest {number + 1}", list(files), seed, plan))
    return made


def changed_lines(base: str) -> dict[str, list[int]]:
    """Return the changed lines of each file that differs from `base`, committed or not; none for a whole new file."""
    changed: dict[str, list[int]] = {file: [] for file in git("ls-files", "--others", "--exclude-standard").split("\n")}
    file = ""
    for line in git("diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-renames", base).splitlines():
        if line.startswith("+++ "):
            file = line[6:]
            changed.setdefault(file, [])
        elif hunk := HUNK.match(line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            changed[file] += range(first, first + count) if count else (first, first + 1)
    return {file: lines for file, lines in changed.items() if (ROOT / file).is_file()}


def growth(base: str, files: Sequence[str] | dict[str, list[int]]) -> Counter[str]:
    """Count by package how many lines of code more than in `base` the files have."""
    grown: Counter[str] = Counter()
    removed = git("diff", "--name-only", "--no-renames", "--diff-filter=D", base).split("\n")
    for file in {*files, *removed}:
        package = package_of(file)
        if package:
            now = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).is_file() else ""
            grown[package] += lines_of_code(now) - lines_of_code(git("show", f"{base}:{file}"))
    return Counter({package: lines for package, lines in grown.items() if lines})


def git(*arguments: str) -> str:
    """Return what git prints; nothing if the command fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.rstrip("\n") if done.returncode == 0 else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
