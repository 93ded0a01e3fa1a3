"""Run pytest and write one line of JSON per finished test: `python pytest_events.py FILE [--plan=FILE] [PYTEST ARGS]`.

A line is one of these:

    {"collected": 9553}
    {"test": "tests/x.py::test_y", "outcome": "failed", "seconds": 0.1, "reason": "...", "text": "...", "worker": "gw0"}
    {"ended": 1}                                             exit status of pytest; missing if the process died

An outcome is `passed`, `failed` or `skipped`. A file that cannot be imported counts as one failed test. With several
processes (`-n`) only the one that hands out tests writes.

A plan is `{"order": ["tests/x.py::test_y", ...], "seconds": 15}`: of a file that it names only these tests run, in this
order, and after this time the rest of them is skipped. Tests of other files run after them in any case.
"""

import json
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PLAN = "--plan="
PARAMETERS_APART = 10  # tests that come between two cases of one test


class EventWriter:
    """Writes what becomes of each test, at the moment at which it is known."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", buffering=1)
        self._pending: dict[str, dict[str, object]] = {}
        self._written: set[str] = set()
        self._collected = 0

    def _write(self, **event: object) -> None:
        self._file.write(json.dumps(event) + "\n")

    def _write_collected(self, count: int) -> None:
        if count and not self._collected:  # each process of pytest-xdist collects the same tests
            self._collected = count
            self._write(collected=count)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the tests of this process."""
        self._write_collected(len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Count the tests that a process of pytest-xdist found."""
        self._write_collected(len(ids))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take a file without tests as one test."""
        if report.failed or report.skipped:
            self._add(report)
            self._finish(report.nodeid, collected=1)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write a test after its last phase."""
        self._add(report)
        if report.when not in ("setup", "call"):  # the process of a test that crashes has no teardown
            self._finish(report.nodeid)

    def _add(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        event = self._pending.setdefault(report.nodeid, {"outcome": "passed", "seconds": 0.0})
        event["seconds"] = round(event["seconds"] + getattr(report, "duration", 0), 3)
        event["worker"] = getattr(report, "worker_id", "")
        if report.failed:
            captured = [f"---- {title} ----\n{text}" for title, text in report.sections]
            event["text"] = "\n".join([*filter(None, [event.get("text")]), report.longreprtext, *captured])
            event.setdefault("reason", last_line(report))
            event["outcome"] = "failed"
        elif report.skipped and event["outcome"] == "passed":
            event |= {"outcome": "skipped", "reason": skip_reason(report)}

    def _finish(self, test: str, **more: object) -> None:
        event = self._pending.pop(test)
        if test not in self._written:
            self._written.add(test)
            self._write(test=test, **event, **more)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Write the tests that failed and were interrupted after that."""
        for test in [test for test, event in self._pending.items() if event["outcome"] == "failed"]:
            self._finish(test)

    def end(self, status: int) -> None:
        """Write that pytest came to its end."""
        self._write(ended=status)
        self._file.close()


class Plan:
    """Runs the tests of a plan first and in its order, as long as there is time."""

    def __init__(self, path: Path) -> None:
        plan = json.loads(path.read_text(encoding="utf-8"))
        self._rank = {test: rank for rank, test in enumerate(plan["order"])}
        self._files = {test.partition("::")[0] for test in self._rank}
        self._seconds = plan["seconds"]
        self._ends_at = time.monotonic() + self._seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
        """Order the tests; of one with many parameters, the others wait for tests of about the same rank."""
        yield
        places: dict[pytest.Item, float] = {}
        repeated: Counter[str] = Counter()
        for item in items:
            file, name = item.nodeid.split("::")[0], item.nodeid.split("[")[0]
            if name in self._rank:
                places[item] = self._rank[name] + PARAMETERS_APART * repeated[name]
                repeated[name] += 1
            elif file not in self._files:
                places[item] = math.inf
        config.hook.pytest_deselected(items=[item for item in items if item not in places])
        items[:] = sorted(places, key=lambda item: places[item])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Leave out a test of the plan that comes too late."""
        if time.monotonic() > self._ends_at and item.nodeid.split("[")[0] in self._rank:
            pytest.skip(f"not tried: the {self._seconds:.0f} s for the chosen tests were over")


def last_line(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return the line that says what is wrong, for the summary."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else report.longreprtext
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def skip_reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Return why a test was skipped, or why its failure is expected."""
    if hasattr(report, "wasxfail"):
        return f"expected to fail: {report.wasxfail}"
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    return text.removeprefix("Skipped: ")


def main(path: str, *arguments: str) -> int:
    """Run pytest; return its exit status."""
    writer, plans = EventWriter(Path(path)), []
    if arguments and arguments[0].startswith(PLAN):
        plans, arguments = [Plan(Path(arguments[0].removeprefix(PLAN)))], arguments[1:]
    status = int(pytest.main(list(arguments), plugins=[writer, *plans]))
    writer.end(status)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
