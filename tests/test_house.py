"""What imports without Qt, where colours are defined, and that no test measures time."""

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "src" / "vbdesk"
PACKAGES_WITHOUT_QT = [
    "contract", "voice", "signs", "longitudinal", "lab", "service", "client", "capture", "outbox", "report",
    "cli",
]  # fmt: skip

WITHOUT_QT = """
import importlib, pkgutil, sys
class NoQt:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"PySide6", "shiboken6", "pyqtgraph"}:
            raise ImportError(name + " is not installed")
sys.meta_path.insert(0, NoQt())
import vbdesk
count = 0
for name in sys.argv[1:]:
    package = importlib.import_module("vbdesk." + name)
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if "migrations.versions" not in module.name and not module.name.endswith("migrations.env"):
            importlib.import_module(module.name)
            count += 1
print(count)
"""


def test_everything_but_the_desk_imports_without_qt():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_QT, *PACKAGES_WITHOUT_QT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


def test_only_the_theme_defines_colours():
    colour = re.compile(r"[\"']#[0-9A-Fa-f]{6}\b")
    users = [path.name for path in (SOURCES / "desk").rglob("*.py") if colour.search(path.read_text())]
    assert set(users) <= {"theme.py", "tokens.py"}


CLOCKS = {
    f"{name}{unit}"
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time")
    for unit in ("", "_ns")
}
MEASURING = {TESTS / "benchmarks", TESTS / "soak"}
MEASURED_TIMES = {
    "desk/test_desk_tasks.py": "counts events against the time that passed: more of it only permits more",
    "e2e/microphone_on_rig.py": "there cannot be more sound than time passed",
    "outbox/processes.py": "a figure that the soak prints",
    "patience.py": "how long a wait may still take",
    "service/support/hostile_audio.py": "a figure that the soak prints",
    "service/health/test_readiness.py": "sets a moment in the past",
    "service/http/test_slow_clients.py": "a lower bound: nobody is cut off too early",
}
"""Tests that measure time, and why no machine is too slow for them."""


def test_no_test_measures_how_long_something_took():
    """Times differ between machines: benchmarks measure them, tests wait for conditions and count."""
    measuring = {
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("*.py")
        if not MEASURING & set(path.parents) and measures_time(parsed(path))
    }
    assert measuring == set(MEASURED_TIMES)


TIMES_OF_DAY = {
    "time": {"time", "time_ns", "clock_gettime", "clock_gettime_ns", "ctime", "localtime", "gmtime", "strftime"},
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
    "QDate": {"currentDate"},
    "QTime": {"currentTime"},
    "QDateTime": {"currentDateTime", "currentDateTimeUtc", "currentMSecsSinceEpoch", "currentSecsSinceEpoch"},
}
GIVEN_A_TIME = {"ctime": 1, "localtime": 1, "gmtime": 1, "strftime": 2}
SYSTEM_TIMES = {
    "client/test_network_errors.py": "makes certificates, whose days OpenSSL compares with the system's time",
    "service/http/test_storage_origin.py": "sets the time of a file, which the kernel's clock gives to others",
    "service/kernel/test_sqlite_functions.py": "compares with what SQLite and DBOS read",
    "shifted_clock/sitecustomize.py": "shifts what others read",
}
"""Tests that read the system's time of day, and why they need not the clock of vbdesk."""


def test_only_the_clock_asks_the_system_for_the_time_of_day():
    """With one place that asks, a run can shift the time of day of the whole program."""
    asking = {str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.py") if asks_for_time_of_day(parsed(path))}
    assert asking == {"clock.py", "boot_clock.py"}


def test_tests_read_the_time_of_day_of_vbdesk():
    asking = {
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("*.py")
        if not MEASURING & set(path.parents) and asks_for_time_of_day(parsed(path))
    }
    assert asking == set(SYSTEM_TIMES)


@pytest.mark.parametrize(
    ("code", "asks"),
    [
        ("now = datetime.now(UTC)", True),
        ("now = datetime.datetime.now()", True),
        ("field(default_factory=time.time)", True),
        ("from time import time_ns", True),
        ("day = QDate.currentDate()", True),
        ("time.strftime('%Y')", True),
        ("time.strftime('%Y', time.gmtime(record.created))", False),
        ("now = clock.now()", False),
        ("now = utc_now()", False),
        ("time.monotonic()", False),
    ],
)
def test_what_asks_for_the_time_of_day_is_known(code, asks):
    assert asks_for_time_of_day(ast.parse(code)) == asks


def asks_for_time_of_day(module: ast.Module) -> bool:
    """Whether code calls, passes on or imports a function that reads the system's time of day."""
    given = {
        id(node.func)
        for node in ast.walk(module)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and len(node.args) >= GIVEN_A_TIME.get(node.func.attr, len(node.args) + 1)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and id(node) not in given:
            owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            if node.attr in TIMES_OF_DAY.get(owner, ()):
                return True
        elif isinstance(node, ast.ImportFrom) and TIMES_OF_DAY.get(node.module or "", set()) & {
            alias.name for alias in node.names
        }:
            return True
    return False


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("code", "measures"),
    [
        ("begun = time.monotonic()\nwork()\nassert time.monotonic() - begun < 5", True),
        ("begun = time.process_time()\nended = time.process_time()\ntook = ended - begun", True),
        ("from time import perf_counter\nassert perf_counter() - begun < 1", True),
        ("took = timeit.timeit(work)", True),
        ("def test_x(benchmark): benchmark(work)\nbenchmark.stats", True),
        ("deadline = time.monotonic() + 60\nassert time.monotonic() < deadline", False),
        ("clock.advance(3)\nassert clock.monotonic() - at == 3", False),
        ("os.utime(path, (time.time() - 7200,) * 2)", False),
    ],
)
def test_what_measures_time_is_known(code, measures):
    assert measures_time(ast.parse(code)) == measures


def measures_time(module: ast.Module) -> bool:
    """Whether code subtracts two readings of a system clock, or calls a library that does."""
    read = {
        target.id
        for node in ast.walk(module)
        if isinstance(node, ast.Assign) and reads_clock(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def is_reading(node: ast.expr) -> bool:
        return reads_clock(node) or (isinstance(node, ast.Name) and node.id in read)

    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in ("timeit", "benchmark"):
                return True
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            sides = (node.left, node.right)
            if any(map(is_reading, sides)) and not any(isinstance(side, ast.Constant) for side in sides):
                return True
    return False


def reads_clock(node: ast.expr) -> bool:
    """Whether an expression calls a function of `time` that reads a clock."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    if isinstance(called, ast.Attribute):
        return called.attr in CLOCKS and isinstance(called.value, ast.Name) and called.value.id == "time"
    return isinstance(called, ast.Name) and called.id in CLOCKS
