"""Run the static checks and the whole suite: `.venv/bin/python packaging/run_tests.py [PYTEST ARGS]`.

A line says how far the run is: on a terminal it is rewritten, in a log it is printed every 30 s. What fails is printed
at once with the one command that repeats it. The summary names what failed, and what was skipped and why. The last line
counts: `9553 passed, 0 failed, 14 skipped`; a failed check, or a process of pytest that dies, counts as one failed.
Ends with 0, with 1 if anything failed or no test ran, and with 130 after Ctrl+C. No test is retried.
"""

import json
import math
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
PACKAGING = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
# Tests of these folders drive real windows and microphones, where most of the time is waiting.
WAITING_FOLDERS = ("tests/capture", "tests/e2e")
# Both groups run at the same time: the second leaves the processors idle most of the time.
PROCESSORS = os.cpu_count() or 1
SHARING = ("-n", str(PROCESSORS + 2), "--dist", "worksteal")  # each waits some of its time
WAITING = ("-n", "2", "--dist", "load", "--maxschedchunk", "1")

POLL_S = 0.2
LOG_LINE_EVERY_S = 30
GRACE_S = 30  # for fixtures to stop what they started, after Ctrl+C
LONGEST_TEXT = 400  # lines of one failure or of the output of one check
SHOWN_IN_FULL = 30  # failures; a log with thousands of them helps nobody
MOST_PLACES = 12  # files with tests that one reason skips
FILES_SKIPPED = 5  # status of pytest if all files were skipped while they were imported, or there were none
INTERRUPTED = 128
CRASHED, STACKS = " crashed while running ", "Timeout ("  # pytest-xdist and faulthandler, of a test that hung
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def program(name: str) -> str:
    """Return the path of a program of this environment, as a person types it in the project's folder."""
    path = BIN / (f"{name}.exe" if os.name == "nt" else name)
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


class Step:
    """A command that runs beside others; its output is shown only if it fails.

    A step that does not count prepares others, which fail where it fails.
    """

    def __init__(self, name: str, command: Sequence[str | Path], counts: bool = True) -> None:
        self.name = name
        self.command = [str(part) for part in command]
        self.counts = counts
        self.failed = False
        self._output: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._child: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the command in the project's folder."""
        self._child = subprocess.Popen(
            self.command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=os.name == "posix",  # Ctrl+C reaches it through `interrupt`, once
        )

    @property
    def status(self) -> int | None:
        """Exit status; negative for a signal, None before the end."""
        return self._child.poll() if self._child else None

    @property
    def runs(self) -> bool:
        """Whether the command has started and not ended."""
        return self._child is not None and self._child.poll() is None

    def send(self, number: int) -> None:
        """Send a signal to the command and to what it started, even if that outlives it."""
        if self._child is None:
            return
        if os.name == "posix":
            with suppress(ProcessLookupError):
                os.killpg(self._child.pid, number)
        elif number != signal.SIGINT:  # the console of Windows sends that to all
            self._child.kill()

    def repeat(self) -> str:
        """Return the command that runs this step alone."""
        return shlex.join(self.command)

    def close(self) -> None:
        """Delete the output."""
        self._output.close()

    def output(self) -> str:
        """Return all that the command printed."""
        self._output.seek(0)
        return self._output.read().strip()

    def stacks(self) -> str:
        """Return what faulthandler printed last; the command goes on writing at its own place."""
        if not hasattr(os, "pread"):
            return ""
        number = self._output.fileno()
        printed = os.pread(number, os.fstat(number).st_size, 0).decode(errors="replace")
        return "".join(printed.rpartition(STACKS)[1:]) if STACKS in printed else ""

    def problem(self) -> str | None:
        """Say what is wrong with a step that has ended; None if nothing is."""
        return f"ended with {ending(self.status)}" if self.status else None


@dataclass
class Tests:
    """What became of the tests of all groups, so far."""

    collected: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[str, str, str]] = field(default_factory=list)  # test, reason, command
    skips: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """Number of tests whose outcome is known."""
        return self.outcomes.total()


class TestGroup(Step):
    """A process of pytest, of which each test is known when it ends."""

    def __init__(self, name: str, arguments: Sequence[str], seed: int, plan: Path | None = None) -> None:
        self.seed = [] if any("randomly" in argument for argument in arguments) else [f"--randomly-seed={seed}"]
        self.arguments = [*arguments, *self.seed]
        descriptor, path = tempfile.mkstemp(suffix=".jsonl")
        self._events = os.fdopen(descriptor, encoding="utf-8")
        self._path = Path(path)
        self._rest = ""
        self.collected = self.done = self.failures = 0
        self.is_collected = False
        self.ended: int | None = None
        planned = [f"--plan={plan}"] if plan else []
        events = PACKAGING / "pytest_events.py"
        super().__init__(name, [sys.executable, "-P", events, path, *planned, *self.arguments])

    def repeat(self) -> str:
        """Return the command that runs the group in the same order."""
        return shlex.join([program("pytest"), *self.arguments])

    def repeat_test(self, test: str) -> str:
        """Return the command that runs a test with the same random numbers; several tests keep their order."""
        return shlex.join([program("pytest"), test, *self.seed])

    def events(self) -> Iterator[dict]:
        """Yield what pytest wrote since the last call."""
        *lines, self._rest = (self._rest + self._events.read()).split("\n")
        for line in lines:
            event = json.loads(line)
            self.collected += event.get("collected", 0)
            self.is_collected |= "test" not in event
            self.done += "test" in event
            self.failures += event.get("outcome") == "failed"
            self.ended = event.get("ended", self.ended)
            yield event

    def close(self) -> None:
        """Delete the output and the events."""
        super().close()
        self._events.close()
        self._path.unlink(missing_ok=True)

    def problem(self) -> str | None:
        """Say what is wrong beyond the tests that failed; None if nothing is."""
        if self.ended is None:
            return f"pytest died with {ending(self.status)}; {max(0, self.collected - self.done)} tests did not run"
        if not self.done:
            return "no test ran"
        if self.ended not in (0, FILES_SKIPPED) and not self.failures:
            return f"pytest ended with {ending(self.ended)}"
        if not self.failures and self.done < self.collected:
            return f"{self.collected - self.done} tests did not run"
        return None


def ending(status: int | None) -> str:
    """Name how a process ended."""
    if status is not None and status < 0:
        return f"signal {signal.Signals(-status).name}"
    return f"status {status}"


def shortened(text: str, most: int = LONGEST_TEXT) -> str:
    """Leave out the middle of a long text."""
    lines = text.splitlines()
    if len(lines) <= most:
        return text
    head = most // 4
    left_out = f"... {len(lines) - most} lines left out ..."
    return "\n".join([*lines[:head], left_out, *lines[head - most :]])


class Console:
    """Prints texts, and below them one line that says how far the run is."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._next_line_at = time.monotonic() + LOG_LINE_EVERY_S
        self._drawn = ""

    def print(self, text: str) -> None:
        """Print above the line of progress."""
        if self._drawn:
            sys.stdout.write("\r\x1b[K")
            self._drawn = ""
        print(text.encode(sys.stdout.encoding, "backslashreplace").decode(sys.stdout.encoding), flush=True)

    def progress(self, line: str) -> None:
        """Rewrite the line on a terminal; in a log, print it now and then."""
        if self._terminal:
            line = line[: shutil.get_terminal_size().columns - 1]
            if line != self._drawn:
                sys.stdout.write(f"\r\x1b[K{line}")
                sys.stdout.flush()
                self._drawn = line
        elif time.monotonic() >= self._next_line_at:
            self._next_line_at = time.monotonic() + LOG_LINE_EVERY_S
            print(line, flush=True)


class Run:
    """Runs steps beside each other and prints what becomes of them."""

    def __init__(self) -> None:
        self.tests = Tests()
        self.steps: list[Step] = []
        self.failed_steps: list[tuple[Step, str]] = []
        self.interrupted_by = self._interrupts = 0
        self._console = Console()
        self._began_at = time.monotonic()

    def _interrupt(self, number: int, _frame: FrameType | None) -> None:
        self.interrupted_by = number
        self._interrupts += 1

    def say(self, text: str) -> None:
        """Print a text above the line of progress."""
        self._console.print(text)

    def together(self, steps: Sequence[Step]) -> None:
        """Run steps at the same time until all have ended; after an interrupt nothing is started."""
        if self.interrupted_by:
            return
        self.say(f"running {', '.join(step.name for step in steps)}")
        self.steps += steps
        for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background job ignores SIGINT otherwise
            signal.signal(number, self._interrupt)
        for step in steps:
            step.start()
        running, handled, kill_at = list(steps), 0, math.inf
        while running:
            if handled < self._interrupts:
                handled, kill_at = self._interrupts, self._stop(running)
            if time.monotonic() >= kill_at:
                for step in running:
                    step.send(KILL)
            ended = [step for step in running if not step.runs]
            self._take_events(running)
            for step in ended:
                running.remove(step)
                self._end(step)
            self._console.progress(self.progress())
            if not ended:
                time.sleep(POLL_S)

    def _stop(self, steps: Sequence[Step]) -> float:
        """Let steps clean up as after Ctrl+C; return when to kill what still runs: at once after a second interrupt."""
        if self._interrupts > 1:
            return -math.inf
        self.say("interrupted; waiting for the tests to clean up")
        for step in steps:
            step.send(signal.SIGINT)
        return time.monotonic() + GRACE_S

    def _take_events(self, steps: Sequence[Step]) -> None:
        for group in (step for step in steps if isinstance(step, TestGroup)):
            for event in group.events():
                self.tests.collected += event.get("collected", 0)
                if "test" in event:
                    self._take_test(group, event)

    def _take_test(self, group: TestGroup, event: dict) -> None:
        test, outcome = event["test"], event["outcome"]
        self.tests.outcomes[outcome] += 1
        self.tests.seconds[test] = event["seconds"]
        if outcome == "skipped":
            self.tests.skips[event["reason"]][test.partition("::")[0]] += 1
        if outcome == "failed":
            command = group.repeat_test(test)
            self.tests.failures.append((test, event["reason"], command))
            stacks = f"{group.stacks()}\n" if CRASHED in event["text"] else ""
            text = shortened(stacks + event["text"], LONGEST_TEXT if len(self.tests.failures) <= SHOWN_IN_FULL else 1)
            self.say(f"\nFAILED {test}\n{text}\nrepeat: {command}\n")

    def _end(self, step: Step) -> None:
        problem = None if self.interrupted_by else step.problem()
        if problem and step.counts:
            step.failed = True
            self.failed_steps.append((step, problem))
            self.say(f"\nFAILED {step.name}: {problem}\n{shortened(step.output())}\nrepeat: {step.repeat()}\n")
        step.send(KILL)  # what it started and did not end
        step.close()

    @property
    def minutes(self) -> str:
        """Time since the start, as a text."""
        return f"{(time.monotonic() - self._began_at) / 60:.1f} min"

    @property
    def checks(self) -> list[Step]:
        """The steps that run no tests, so far."""
        return [step for step in self.steps if step.counts and not isinstance(step, TestGroup)]

    def progress(self) -> str:
        """Say how far the run is."""
        tests, checks = self.tests, self.checks
        ended = [step for step in checks if not step.runs]
        known = all(group.is_collected or not group.runs for group in self.steps if isinstance(group, TestGroup))
        total = f"{tests.collected:,}" if known and tests.collected else "?"
        return (
            f"{tests.done:,} of {total} tests, {tests.outcomes['failed']} failed, {tests.outcomes['skipped']} skipped; "
            f"{len(ended)} of {len(checks)} checks, {sum(step.failed for step in ended)} failed; {self.minutes}"
        )

    def summary(self) -> int:
        """Print what failed, what was skipped and why, and the line that counts; return the exit status."""
        tests = self.tests
        if tests.skips:
            self.say(f"\nSkipped, {tests.outcomes['skipped']}:")
            for reason, files in sorted(tests.skips.items(), key=lambda each: -each[1].total()):
                counted = [file if count == 1 else f"{file} ({count})" for file, count in sorted(files.items())]
                places = ", ".join([*counted[:MOST_PLACES], *(["..."] if len(counted) > MOST_PLACES else [])])
                self.say(f"  {reason}\n    {places}")
        if tests.failures or self.failed_steps:
            self.say(f"\nFailed, {len(tests.failures) + len(self.failed_steps)}:")
        for step, problem in self.failed_steps:
            self.say(f"  {step.name}: {problem}\n    {step.repeat()}")
        for test, reason, command in tests.failures:
            self.say(f"  {test}: {reason[:200]}\n    {command}")
        failed = len(tests.failures) + len(self.failed_steps)
        self.say(f"\n{tests.done:,} tests and {len(self.checks)} checks in {self.minutes}")
        if tests.done < tests.collected:
            self.say(f"{tests.collected - tests.done:,} tests did not run")
        self.say(f"{tests.outcomes['passed']} passed, {failed} failed, {tests.outcomes['skipped']} skipped")
        if self.interrupted_by:
            return INTERRUPTED + self.interrupted_by
        return 1 if failed else 0


def static_checks() -> list[Step]:
    """List the checks of style, types and imports."""
    return [
        Step("ruff check", [program("ruff"), "check", "."]),
        Step("ruff format", [program("ruff"), "format", "--check", "."]),
        Step("mypy", [program("mypy"), "--strict"]),
        Step("import-linter", [program("lint-imports")]),
    ]


def main(arguments: list[str]) -> int:
    """Run every check and all tests, or those that the arguments choose, even if one fails."""
    run, seed = Run(), random.SystemRandom().getrandbits(32)
    if arguments:
        run.together([*static_checks(), TestGroup("pytest", arguments, seed)])
        return run.summary()
    # compile all tests once, before several processes would do it at the same time
    compiling = Step("collection of the tests", [program("pytest"), "--collect-only", "-qq"], counts=False)
    run.together([*static_checks(), compiling])
    run.together(
        [
            TestGroup("pytest", [*SHARING, *(f"--ignore={folder}" for folder in WAITING_FOLDERS)], seed),
            TestGroup("pytest of real windows and microphones", [*WAITING, *WAITING_FOLDERS], seed),
            Step("types on other platforms", [program("python"), "packaging/platform_types.py"]),
        ]
    )
    return run.summary()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
