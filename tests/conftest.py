"""What every test gets: folders of its own, no settings from outside, a screen that is not there."""

import functools
import gc
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import nullcontext
from pathlib import Path

import httpx._transports.default
import pytest
from hypothesis import HealthCheck, settings

# before any test module imports Qt
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

sys.path.append(str(Path(__file__).parent))  # free_ports, by name

import windows_files
from hanging_tests import pytest_runtest_protocol, pytest_runtest_teardown  # noqa: F401 - hooks
from vbdesk.outbox.library import managed_policy  # with pydantic, whose modules cannot be imported after Qt's

windows_files.install()

# Keep compiled files, or each of the many processes compiles vbdesk and its packages again, which takes 1 s and more.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Shells start a job in the background so that it ignores Ctrl+C, and every program that it starts would, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

DATA = Path(__file__).parent / "data"

# how fast an example runs says something about the machine, not about the code; every run draws other examples
settings.register_profile("any machine", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


# Every httpx client reads the certificates of all authorities, which takes 20 ms: here one reading serves all clients.
_read_certificates = functools.cache(lambda _files, **options: _new_ssl_context(**options))
_new_ssl_context = httpx._transports.default.create_ssl_context


def _ssl_context(**options):
    files = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    return _read_certificates(files, **options)


httpx._transports.default.create_ssl_context = _ssl_context


# Whole clusters, services and programs, in their own processes: up to a minute each. The tests of the conformance
# follow each other, since they share services, which end with them and would cost a tenth of a processor idle.
FIRST = (
    "tests/service/conformance/",
    "tests/service/cluster/",
    "tests/cli/test_client_guide.py",
    "tests/cli/test_demo.py",
    "tests/e2e/",
    "tests/outbox/test_key_leaks.py",
    "tests/service/maintenance/test_store_identity.py",
    "tests/service/composition/",
)
# Eight seconds and more each.
LONG = (
    "tests/cli/test_bundle.py::test_recordings_of_the_field_reach",
    "tests/cli/test_foreign_text.py::test_every_way_of_printing",
    "tests/outbox/test_disk_faults.py::test_whatever_write",
    "tests/outbox/test_fault_schedules.py",
    "tests/outbox/test_recording_time.py::test_whatever_happens",
    "tests/outbox/test_sending_identity.py",
    "tests/outbox/test_sync_worker.py::test_the_sound_goes_after_the_result",
    "tests/service/generated/test_generated_clients.py::test_a_typescript_client",
    "tests/service/storage/test_store_quarantine.py::test_a_store_that_fails_during_a_sweep",
    "tests/signs/test_norms_measure.py::test_a_killed_run",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Begin with the longest tests, or one process may end with them while the others have nothing to do.

    Each process of pytest-xdist begins with an equal part of the list. The first two have the longest tests, which wait
    most of their time, for other processes and the disk; meanwhile the others use the processors.
    """
    items.sort(key=lambda item: next((n for n, first in enumerate(FIRST) if item.nodeid.startswith(first)), len(FIRST)))
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if processes < 2:
        return
    long = [item for item in items if item.nodeid.startswith(LONG)]
    others = [item for item in items if not item.nodeid.startswith(LONG)]
    second = round(len(items) / processes)
    items[:] = [*others[:second], *long, *others[second:]]


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What the imports make stays: looking through it takes a tenth of their time now, and later 0.3 s each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def isolated_surroundings(tmp_path_factory, monkeypatch):
    """No test reads or writes this person's settings, folders or keyring, or reads the policy of the computer."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith("VBDESK_"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("COLUMNS", raising=False)  # pytest-xdist sets it
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("LANGUAGE", "en")  # tests compare English texts, whatever the computer's language is
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setattr(managed_policy, "LINUX_FILE", home / "policy.toml")
    monkeypatch.setattr(managed_policy, "MAC_FOLDER", home / "managed")


@pytest.fixture(autouse=True)
def rules_of_windows(request):
    """Windows' rules for open files, where they hold."""
    with nullcontext() if windows_files.holds_in(request.node.nodeid) else windows_files.lifted():
        yield


@pytest.fixture(autouse=True)
def permissions_of_an_earlier_program(monkeypatch):
    """A command that a test runs in this process restricts its files for good; that ends with the test."""
    before = os.umask(0o077)
    os.umask(before)
    monkeypatch.setattr("vbdesk.privacy._callers_umask", None)
    yield
    os.umask(before)


@pytest.fixture(autouse=True)
def no_log_of_an_earlier_program():
    """A log that a test set up ends with it: its terminal is closed, and a later line would fail on it."""
    root, ours = logging.getLogger(), logging.getLogger("vbdesk")
    before, levels = list(root.handlers), (root.level, ours.level)
    hooks = sys.excepthook, threading.excepthook
    yield
    for handler in [handler for handler in root.handlers if handler not in before]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
    sys.excepthook, threading.excepthook = hooks


@pytest.fixture
def speech_file() -> Path:
    """A woman reading, at least 20 s, 16 kHz FLAC (CC0)."""
    return DATA / "speech_kathleen_20s.flac"


@pytest.fixture
def male_speech_file() -> Path:
    """A man reading, at least 20 s, 16 kHz FLAC (CC BY 4.0)."""
    return DATA / "speech_male_20s.flac"


@pytest.fixture
def disk_of(tmp_path):
    """Make a disk of its own, such as one of `300k`, where this computer lets a test make one; gives its folder."""
    made = []

    def make(size):
        folder = tmp_path / f"disk-{len(made)}"
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
        if not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("a disk of its own needs root and a kernel that allows it")
        made.append(folder)
        return folder

    yield make
    for folder in made:
        subprocess.run(["umount", "-l", folder], check=True)
