"""Check what differs from `main`: `.venv/bin/python packaging/check_changes.py [PATH]`.

Runs style, types and import rules, and the unit tests of the changed files below PATH.
"""

import random
import subprocess
import sys
from pathlib import Path

from choose_tests import tests_of
from run_tests import PROCESSORS, ROOT, Run, TestGroup, static_checks


def main(path: str = ".") -> int:
    """Run the static checks and the unit tests of the changed files below `path`."""
    changed = [name for name in changed_files() if Path(name).is_relative_to(path)]
    tests = tests_of(changed)
    run = Run()
    run.say(f"{len(changed)} changed files, {len(tests)} test files")
    seed = random.SystemRandom().getrandbits(32)
    group = TestGroup("pytest", ["-n", str(PROCESSORS), "--dist", "worksteal", *tests], seed)
    run.together([*static_checks(), group])
    return run.summary()


def changed_files() -> list[str]:
    """List files that differ from where this branch left `main`, committed or not."""
    base = git("merge-base", "HEAD", "main") or ["HEAD"]
    return sorted({*git("diff", "--name-only", base[0]), *git("ls-files", "--others", "--exclude-standard")})


def git(*arguments: str) -> list[str]:
    """Return the lines that git prints; none if the command fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
