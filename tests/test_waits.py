"""How long tests wait: until a condition holds, or until the one limit that ends a hang."""

import ast
import tomllib
from pathlib import Path

import pytest

import patience
from patience import HANGS_S, NAMED_BEFORE_S, until

TESTS = Path(__file__).parent
MEASURING = {TESTS / "benchmarks", TESTS / "soak"}
WITH_OTHER_LIMITS = {
    "capture/test_recorder.py": (1, "how long it looks for what must not happen"),
    "cli/test_demo.py": (1, "a moment to be interrupted in; any does"),
    "desk/pages/test_desk_bounded_work.py": (1, "looks again until nothing is painted for as long"),
    "desk/pages/test_desk_consent.py": (1, "lets a later change overtake; without that, it tests less"),
    "desk/pages/test_desk_order_of_changes.py": (1, "lets a later change overtake; without that, it tests less"),
    "desk/pages/test_desk_outbox.py": (1, "how long it looks for what must not happen"),
    "desk/record/test_desk_record_looks.py": (1, "between two looks; it looks again until the words fit"),
    "desk/test_desk_first_start.py": (1, "how long it looks for what must not happen"),
    "desk/test_desk_next_turn.py": (1, "how long it looks for what must not happen"),
    "desk/test_desk_profiles.py": (1, "lets more of the end happen; without that, it tests less"),
    "desk/test_desk_start.py": (1, "how long it looks for what must not happen"),
    "desk/test_desk_tasks.py": (3, "paces work, and lets a later task overtake; without that, it tests less"),
    "e2e/desktop.py": (1, "when a measurement begins, which a test does not make"),
    "e2e/keyring_on_rig.py": (1, "how long it looks for what must not happen"),
    "e2e/microphone_on_rig.py": (1, "how often a program writes what it has recorded"),
    "e2e/outbox_on_rig.py": (2, "before a picture"),
    "e2e/record_on_rig.py": (16, "seconds of sound, or before a picture"),
    "e2e/test_encryption_at_rest.py": (1, "how often it searches"),
    "outbox/key_request_process.py": (1, "a slow keyring; without that, it tests less"),
    "outbox/processes.py": (2, "when faults come"),
    "outbox/service_records.py": (1, "reads while another process writes; nothing holds the database for longer"),
    "outbox/test_consent_policy.py": (
        1,
        "two changes meet only if nothing keeps them apart, and else go on after the wait",
    ),
    "patience.py": (2, "the waits themselves"),
    "service/accounts/test_account_states.py": (1, "paces a stand-in, and how fast decides nothing"),
    "service/cluster/chaos_faults.py": (5, "when faults come, and how long they last"),
    "service/cluster/chaos_load.py": (5, "callers who give up and try again are what it tests"),
    "service/conformance/test_conformance_ends.py": (1, "until an address has expired by the clock"),
    "service/engine/test_dbos_engine.py": (3, "how long it looks for what must not happen"),
    "service/engine/test_job_runner.py": (3, "how long it looks for what must not happen"),
    "service/engine/test_slot.py": (1, "lets the child begin; without that, it tests less"),
    "service/engine/test_sweeper.py": (3, "at least as long as a run may take"),
    "service/generated/client.py": (2, "how often it asks; it is a program without the modules of the tests"),
    "service/http/test_request_heads.py": (1, "parts the pieces of a head; without that, it tests less"),
    "service/http/test_slow_clients.py": (1, "how often a slow caller sends"),
    "service/http/test_storage_origin.py": (1, "until an address has expired by the clock"),
    "service/jobs/test_admission.py": (1, "until the queue is looked at again"),
    "service/kernel/test_disk_space.py": (1, "how long it looks for what must not happen"),
    "service/legacy/conftest.py": (1, "paces a stand-in, and how fast decides nothing"),
    "service/storage/moods.py": (1, "a slow object store, for benchmarks"),
    "service/support/dead_receivers.py": (1, "how often it looks for the end of a test"),
    "service/support/sandbox_tasks.py": (2, "no answer is what it expects; a child that ends late"),
    "service/support/worker_tasks.py": (2, "work of a given length, under a limit of processor time"),
    "service/webhooks/test_delivery_slots.py": (1, "paces a stand-in, and how fast decides nothing"),
    "service/webhooks/test_webhooks.py": (1, "paces a stand-in, and how fast decides nothing"),
    "test_boot_clock.py": (1, "at least as long as it then reads"),
}
"""How many sleeps and limits of their own a file of tests has, and why a slow machine breaks none. Only shrinks."""


def test_every_wait_is_for_a_condition_or_until_a_hang():
    """Waits are `until` and `HANGS_S` of tests/patience.py, which cost nothing on a quiet machine."""
    found = {
        path.relative_to(TESTS).as_posix(): len(limits)
        for path in TESTS.rglob("*.py")
        if not MEASURING & set(path.parents) and (limits := own_limits(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == {name: count for name, (count, _) in WITH_OTHER_LIMITS.items()}


@pytest.mark.parametrize(
    ("code", "limits"),
    [
        ("deadline = time.monotonic() + 5", 1),
        ("def wait(seconds=30.0):\n    until = time.monotonic() + seconds", 1),
        ("ends_at = LIMIT_S + time.time()", 1),
        ("httpx.get(url, timeout=20)", 1),
        ("LIMIT_S = 10\nchild.communicate(timeout=2 * LIMIT_S)", 1),
        ("qtbot.waitUntil(done, timeout=5000)", 1),
        ("qtbot.wait(50)\nQTest.qWait(50)", 2),
        ("async with asyncio.timeout(5): pass\nsignal.alarm(5)", 2),
        ("socket.create_connection(('127.0.0.1', 80), 5)", 1),
        ("class A:\n    limit_s: float = 2 * 60\n    def f(self): event.wait(self.limit_s)", 1),
        ("rows[0] = 5\nthread.join(rows[0])", 0),
        ("self.limit_s = 5\nthread.join(self.limit_s)", 1),
        ("from time import sleep\nsleep(5)", 1),
        ("asyncio.wait_for(answer, timeout=5)\nasyncio.wait_for(answer, 5)", 2),
        ("event.wait(60)", 1),
        ("PATIENCE_S = 20\nthread.join(PATIENCE_S)", 1),
        ("time.sleep(pause)", 1),
        ("await asyncio.sleep(0.1)\nwhile not event.wait(0.1): pass", 2),
        ("await asyncio.sleep(0)", 0),
        ("condition.wait_for(lambda: done, 120)", 1),
        ("receiver.wait_for('/sent', 2)\nruns.wait_for(2)", 0),
        ("thread.join()\nevent.wait(HANGS_S)", 0),
        ("', '.join(names)\nrow.get(name, 0)\nrows.get(10)", 0),
        ("until(done)\nhttpx.get(url, timeout=HANGS_S)\nchild.wait(seconds_left())", 0),
        ("clock.sleep(5)\ntime.monotonic() - 5", 0),
    ],
)
def test_what_limits_a_wait_is_known(code, limits):
    assert len(own_limits(ast.parse(code))) == limits


WAITS = {
    "wait",
    "qWait",
    "join",
    "result",
    "acquire",
    "settimeout",
    "communicate",
    "timeout",
    "alarm",
    "create_connection",
}
CLOCKS = {"time", "monotonic", "perf_counter"}


def own_limits(module: ast.Module) -> list[int]:
    """Lines of sleeps, deadlines and waits of a fixed time."""
    numbers = _numbers(module)

    def is_number(node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp):
            return is_number(node.left) or is_number(node.right)
        return _name(node) in numbers or _is_number(node)

    def is_limit(node: ast.AST) -> bool:
        if isinstance(node, ast.ImportFrom):
            return node.module == "time"  # would hide what reads a clock or sleeps
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return _reads_clock(node.left) or _reads_clock(node.right)
        if not isinstance(node, ast.Call):
            return False
        if any(word.arg == "timeout" and is_number(word.value) for word in node.keywords):
            return True
        if not isinstance(node.func, ast.Attribute) or not node.args:
            return False
        called, first = node.func, node.args[0]
        if called.attr == "sleep" and isinstance(called.value, ast.Name) and called.value.id in ("time", "asyncio"):
            return not isinstance(first, ast.Constant) or _is_number(first)
        if called.attr == "wait_for":  # of a condition, and not of something by its number
            return len(node.args) > 1 and not isinstance(first, ast.Constant) and is_number(node.args[1])
        return called.attr in WAITS and not isinstance(called.value, ast.Constant) and is_number(node.args[-1])

    return [node.lineno for node in ast.walk(module) if is_limit(node)]  # type: ignore[attr-defined]


def _numbers(module: ast.Module) -> set[str]:
    """Names of constants, and of arguments whose default is one."""
    names: list[str | None] = []
    for node in ast.walk(module):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _is_number(node.value):
            names += map(_name, node.targets if isinstance(node, ast.Assign) else [node.target])
        elif isinstance(node, ast.arguments):
            named = [*node.posonlyargs, *node.args][::-1]
            defaults = [*zip(named, node.defaults[::-1], strict=False)]
            defaults += zip(node.kwonlyargs, node.kw_defaults, strict=True)
            names += [name.arg for name, value in defaults if value is not None and _is_number(value)]
    return {name for name in names if name}


def _name(node: ast.AST) -> str | None:
    """Name of a variable, or of a field of anything."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value > 0


def _reads_clock(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    clock = node.func
    return clock.attr in CLOCKS and isinstance(clock.value, ast.Name) and clock.value.id == "time"


def test_pytest_ends_what_hangs_after_as_long_as_a_wait_may_take():
    options = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert options["faulthandler_timeout"] == HANGS_S
    assert options["faulthandler_exit_on_timeout"] is True


def test_a_wait_says_what_it_waited_for(monkeypatch):
    monkeypatch.setattr(patience, "HANGS_S", NAMED_BEFORE_S)
    with pytest.raises(AssertionError, match="waited in vain for the end of job 7"):
        until(lambda: False, "the end of job 7")
