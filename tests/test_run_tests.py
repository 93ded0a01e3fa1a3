"""The runner of the whole suite, with small suites that fail in every way."""

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from patience import HANGS_S, until

sys.path.append(str(Path(__file__).parents[1] / "packaging"))

import run_tests

PYTEST = shlex.quote(str(run_tests.BIN / "pytest"))

PACKAGING = Path(run_tests.__file__).parent
DRIVER = """
import sys
from pathlib import Path
from types import SimpleNamespace
sys.path.append({packaging!r})
import run_tests
from run_tests import Run, Step, TestGroup

run_tests.ROOT = Path({suite!r})
run = Run()
run.together([{steps}])
sys.exit(run.summary())
"""
COUNTS = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")

FAILING = """
import logging
import pytest

def test_passes():
    pass

def test_fails():
    print("printed by the test")
    logging.getLogger("x").warning("logged by the test")
    assert 1 + 1 == 3

@pytest.fixture
def broken_at_the_end():
    yield
    raise ValueError("not cleaned up")

def test_passes_and_is_not_cleaned_up(broken_at_the_end):
    pass

@pytest.mark.parametrize("number", [1, 2])
def test_of_another_system(number):
    pytest.skip("only on another system")

@pytest.mark.xfail(reason="known fault", strict=True)
def test_known_fault():
    assert False
"""
UNIMPORTABLE = "import a_module_that_is_not_there"
OTHER_GROUP = """
import pytest
pytest.importorskip("a_module_that_is_not_there", reason="needs a module")
"""
CRASHING = """
import os

def test_before():
    pass

def test_crashes():
    os._exit(3)

def test_after():
    pass
"""
HANGING = """
import threading
import pytest
from PySide6.QtCore import QEventLoop
from patience import until

@pytest.fixture
def held():
    wait_in_vain()

@pytest.fixture
def left():
    yield
    wait_in_vain()

def test_hangs_in_qt(qapp):
    QEventLoop().exec()

def test_hangs_in_a_wait_of_qt(qtbot):
    qtbot.waitUntil(lambda: False, timeout=1_000_000)

def test_hangs_in_a_thread():
    thread = threading.Thread(target=wait_in_vain, daemon=True)
    thread.start()
    thread.join()

def test_hangs_in_a_set_up(held):
    pass

def test_hangs_in_a_clean_up(left):
    pass

def test_fails_and_hangs_in_its_clean_up(left):
    assert False

def test_waits_in_vain():
    until(lambda: False, "the end of job 7")

def test_goes_on():
    pass

def wait_in_vain():
    threading.Event().wait()
"""
LIMIT_S = 5
LIMITED = f"""
import sys
sys.path.append({str(Path(__file__).parent)!r})
import patience
patience.HANGS_S = patience.NAMED_BEFORE_S + 1
from hanging_tests import pytest_runtest_protocol, pytest_runtest_teardown
"""
WAITING = """
import subprocess, sys, threading
from pathlib import Path
from types import SimpleNamespace
import pytest

def test_passes():
    pass

@pytest.fixture
def service():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    Path("child").write_text(str(child.pid))
    Path("started").touch()
    yield
    child.kill()
    child.wait()
    Path("cleaned-up").touch()

def test_waits(service):
    threading.Event().wait()
"""


def driver(folder, steps, **files):
    """Write a suite and a program that runs it; returns the program's command."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    program = folder / "drive.py"
    program.write_text(DRIVER.format(packaging=str(PACKAGING), suite=str(folder), steps=steps))
    return [sys.executable, str(program)]


def surroundings(folder):
    """With a place of its own for temporary folders: pytest closes the usual one to other users, as PostgreSQL is."""
    return os.environ | {"PYTEST_DEBUG_TEMPROOT": str(folder)}


def run(folder, steps, **files):
    """Run a suite; returns the exit status and what was printed."""
    done = subprocess.run(
        driver(folder, steps, **files),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=surroundings(folder),
        check=False,
    )
    return done.returncode, done.stdout


def counts(output):
    """Passed, failed and skipped, from the last line."""
    return tuple(map(int, COUNTS.fullmatch(output.splitlines()[-1]).groups()))


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    folder = tmp_path_factory.mktemp("failing")
    complain = [sys.executable, "-c", "print('line 7 is wrong'); raise SystemExit(2)"]
    steps = (
        "*(TestGroup(name, [f'test_{name}.py'], 77) for name in ('fails', 'imports', 'other')),"
        f"Step('style', {complain!r}), Step('types', [sys.executable, '-c', 'print(123454321)'])"
    )
    return run(folder, steps, test_fails=FAILING, test_imports=UNIMPORTABLE, test_other=OTHER_GROUP)


@pytest.fixture(scope="module")
def crashing(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crashing")
    return run(folder, "TestGroup('pytest', ['-p', 'no:randomly', 'test_crash.py'], 1)", test_crash=CRASHING)


def test_each_test_counts_once_in_all_groups_and_so_does_a_check_that_failed(failing):
    status, output = failing
    assert (status, counts(output)) == (1, (1, 4, 4))
    assert "8 tests and 2 checks in " in output


def test_a_failure_comes_with_its_traceback_what_it_printed_and_the_command_that_repeats_it(failing):
    _, output = failing
    text = output[output.index("FAILED test_fails.py::test_fails\n") :]
    text = text[: text.index("\n\n\n")]
    assert "assert 1 + 1 == 3" in text and "printed by the test" in text and "logged by the test" in text
    assert text.splitlines()[-1] == f"repeat: {PYTEST} test_fails.py::test_fails --randomly-seed=77"


def test_the_summary_names_what_failed_with_reason_and_command(failing):
    _, output = failing
    summary = output[output.index("\nFailed, 4:") :]
    assert re.search(
        r"  test_fails.py::test_fails: assert .+ == 3\n    \S.*pytest'? test_fails.py::test_fails --", summary
    )
    assert "  test_fails.py::test_passes_and_is_not_cleaned_up: ValueError: not cleaned up\n" in summary
    assert "  test_imports.py: ImportError while importing test module" in summary


def test_a_check_shows_its_output_and_its_command_only_if_it_fails(failing):
    _, output = failing
    assert "FAILED style: ended with status 2\nline 7 is wrong\nrepeat: " in output
    command = shlex.split(output.split("line 7 is wrong\nrepeat: ")[1].splitlines()[0])
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2
    assert "\n123454321" not in output


def test_skipped_tests_are_grouped_by_their_reason(failing):
    _, output = failing
    skipped = output[output.index("\nSkipped, 4:") : output.index("\nFailed, 4:")]
    assert "  only on another system\n    test_fails.py (2)\n" in skipped
    assert "  needs a module\n    test_other.py\n" in skipped
    assert "  expected to fail: known fault\n    test_fails.py\n" in skipped


def test_a_process_of_pytest_that_dies_is_a_failure(crashing):
    status, output = crashing
    assert (status, counts(output)) == (1, (1, 1, 0))
    assert "FAILED pytest: pytest died with status 3; 2 tests did not run" in output
    assert f"repeat: {PYTEST} -p no:randomly test_crash.py" in output


def test_a_crash_in_one_of_several_processes_is_the_failure_of_its_test(tmp_path):
    status, output = run(tmp_path, "TestGroup('pytest', ['-n', '1', 'test_crash.py'], 1)", test_crash=CRASHING)
    assert (status, counts(output)) == (1, (2, 1, 0))
    assert "  test_crash.py::test_crashes: " in output


def test_tests_that_hang_are_ended_one_by_one_and_show_where_they_waited(tmp_path):
    limit = ["-o", f"faulthandler_timeout={LIMIT_S}", "-o", "faulthandler_exit_on_timeout=true"]
    process = ["-n", "1", "--max-worker-restart", "9"]
    steps = f"TestGroup('pytest', {[*limit, *process, '-p', 'no:randomly', 'test_hanging.py']}, 1)"
    status, output = run(tmp_path, steps, test_hanging=HANGING, conftest=LIMITED)
    assert (status, counts(output)) == (1, (1, 7, 0))
    _, *failures = output.partition("\nFailed, ")[0].split("FAILED test_hanging.py::")
    shown = dict(failure.split("\n", 1) for failure in failures)
    assert "waited in vain for the end of job 7" in shown.pop("test_waits_in_vain")
    assert all(f"Timeout (0:00:0{LIMIT_S})!" in text for text in shown.values())
    waits = {test: set(re.findall(r"\S+\.py\", line \d+ in (\w+)", text)) for test, text in shown.items()}
    assert waits.keys() == {
        name for name in re.findall(r"def (test_\w+)", HANGING) if name not in ("test_waits_in_vain", "test_goes_on")
    }
    assert "test_hangs_in_qt" in waits["test_hangs_in_qt"]
    assert {"waitUntil", "test_hangs_in_a_wait_of_qt"} <= waits["test_hangs_in_a_wait_of_qt"]
    assert {"wait_in_vain", "test_hangs_in_a_thread"} <= waits["test_hangs_in_a_thread"]
    assert {"wait_in_vain", "held"} <= waits["test_hangs_in_a_set_up"]
    assert {"wait_in_vain", "left"} <= waits["test_hangs_in_a_clean_up"]
    assert {"wait_in_vain", "left"} <= waits["test_fails_and_hangs_in_its_clean_up"]


@pytest.mark.parametrize("arguments", [["-k", "of_no_test", "test_crash.py"], ["test_missing.py"], ["--unknown"]])
def test_a_run_without_tests_is_a_failure_that_shows_what_pytest_says(tmp_path, arguments):
    status, output = run(tmp_path, f"TestGroup('pytest', {arguments!r}, 1)", test_crash=CRASHING)
    assert (status, counts(output)) == (1, (0, 1, 0))
    assert re.search("deselected|file or directory not found|unrecognized arguments", output)


def interrupted(folder, steps, times=1, **files):
    """Interrupt a run, after its test has started, as Ctrl+C does; returns the exit status and what was printed."""
    with (folder / "output").open("w") as output:
        child = subprocess.Popen(
            driver(folder, steps, **files),
            stdout=output,
            stderr=output,
            env=surroundings(folder),
            start_new_session=True,
        )
    until((folder / "started").exists, "the test")
    child.send_signal(signal.SIGINT)
    if times > 1:
        until(lambda: "interrupted; " in (folder / "output").read_text(), "the first interrupt")
        child.send_signal(signal.SIGINT)
    return child.wait(timeout=HANGS_S), (folder / "output").read_text()


@pytest.mark.skipif(os.name != "posix", reason="Windows has no sessions and signals")
@pytest.mark.parametrize("processes", [[], ["-n", "1"]], ids=["in one process", "with pytest-xdist"])
def test_an_interrupt_lets_the_tests_clean_up_and_ends_with_130(tmp_path, processes):
    arguments = [*processes, "-p", "no:randomly", "test_waits.py"]
    status, output = interrupted(tmp_path, f"TestGroup('pytest', {arguments!r}, 1)", test_waits=WAITING)
    assert (status, counts(output)) == (130, (1, 0, 0)), output
    assert "\n1 tests did not run\n" in output
    until(lambda: not is_running(int((tmp_path / "child").read_text())), "the end of what the test started")


@pytest.mark.skipif(os.name != "posix", reason="Windows has no sessions and signals")
def test_a_second_interrupt_ends_what_does_not_stop(tmp_path):
    stubborn = f"import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n{WAITING}"
    steps = "TestGroup('pytest', ['-p', 'no:randomly', 'test_waits.py'], 1)"
    status, output = interrupted(tmp_path, steps, times=2, test_waits=stubborn)
    os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)  # the test had no chance to do so
    assert (status, counts(output)) == (130, (1, 0, 0)), output


def is_running(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_middle_of_a_long_text_is_left_out():
    lines = [str(number) for number in range(1000)]
    short = run_tests.shortened("\n".join(lines), 40).splitlines()
    assert (short[:10], short[11:]) == (lines[:10], lines[-30:])
    assert short[10] == "... 960 lines left out ..."


class Screen(io.StringIO):
    encoding = "ascii"

    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


def test_the_line_of_progress_is_rewritten_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stdout", screen := Screen(terminal=True))
    console = run_tests.Console()
    console.progress("1 of 2 tests")
    console.progress("1 of 2 tests")
    console.print("FAILED")
    console.progress("2 of 2 tests")
    assert screen.getvalue() == "\r\x1b[K1 of 2 tests\r\x1b[KFAILED\n\r\x1b[K2 of 2 tests"


def test_a_log_gets_a_line_of_progress_now_and_then(monkeypatch):
    monkeypatch.setattr(sys, "stdout", screen := Screen(terminal=False))
    moments = iter([0, 29, 30, 30, 31])
    monkeypatch.setattr(run_tests, "time", SimpleNamespace(monotonic=lambda: next(moments)))
    console = run_tests.Console()
    console.progress("10 tests")
    console.progress("20 tests")
    console.progress("30 tests")
    assert screen.getvalue() == "20 tests\n"


class Group(run_tests.TestGroup):
    """A process of pytest that runs and is never started."""

    runs = True

    def __init__(self, *events):
        super().__init__("pytest", [], seed=1)
        self._path.write_text("".join(f"{json.dumps(event)}\n" for event in events) + '{"half a li', encoding="utf-8")


def test_the_progress_counts_all_groups_once_each_has_collected():
    run = run_tests.Run()
    style = run_tests.Step("style", [])
    first = Group({"collected": 2}, {"test": "a", "outcome": "passed", "seconds": 1})
    run.steps = [first, silent := Group(), style]
    run._take_events(run.steps)
    assert run.progress() == "1 of ? tests, 0 failed, 0 skipped; 1 of 1 checks, 0 failed; 0.0 min"
    run.steps = [
        first,
        second := Group({"collected": 5}, {"test": "b", "outcome": "skipped", "seconds": 0, "reason": ""}),
        style,
    ]
    run._take_events(run.steps)
    assert run.progress() == "2 of 7 tests, 0 failed, 1 skipped; 1 of 1 checks, 0 failed; 0.0 min"
    for step in (first, second, silent, style):
        step.close()
