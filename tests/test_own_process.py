"""Child processes of this program, from source and frozen."""

import subprocess
import sys
from pathlib import Path

import pytest

from patience import until
from vbdesk import own_process
from vbdesk.__main__ import run
from vbdesk.client.local_service import LocalService

LISTER, LOCKER = "vbdesk.capture.device_helper", "vbdesk.outbox.bundles.passphrase_child"


def test_from_source_a_child_is_a_module_of_this_interpreter():
    assert own_process.own_command("serve", "--port", "0") == [sys.executable, "-m", "vbdesk", "serve", "--port", "0"]
    assert own_process.own_module(LOCKER, "open") == [sys.executable, "-P", "-m", LOCKER, "open"]


def test_an_installed_application_starts_itself(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert own_process.own_command("serve") == [sys.executable, "serve"]
    assert own_process.own_module(LISTER) == [sys.executable, "--run-module", LISTER]


def test_no_other_module_can_be_run():
    with pytest.raises(ValueError, match="not started as a child"):
        own_process.own_module("http.server")


@pytest.mark.parametrize(("module", "ran"), [(LISTER, [LISTER]), ("http.server", [])])
def test_an_installed_application_runs_only_the_listed_modules(monkeypatch, module, ran):
    seen = []
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "argv", ["vbdesk", "--run-module", module, "x"])
    monkeypatch.setattr("runpy.run_module", lambda name, run_name: seen.append(name))
    monkeypatch.setattr("vbdesk.cli.main.run", lambda: None)
    monkeypatch.setattr("vbdesk.privacy.protect_process", lambda: None)  # the test process keeps its umask
    run()
    assert seen == ran


def test_a_child_imports_nothing_from_the_current_folder(tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit('hostile')")
    done = subprocess.run(
        own_process.own_module(LISTER),
        input="",
        cwd=tmp_path,
        text=True,
        capture_output=True,
        check=False,
        **own_process.child_options(),
    )
    assert (done.returncode, done.stderr) == (0, "")


KEEPER = """
import sys, time
from pathlib import Path
from vbdesk.client.local_service import LocalService
print(LocalService(Path(sys.argv[1]), bytes(32), workers=1).start().pid, flush=True)
time.sleep(600)
"""


def test_the_local_service_ends_in_order_when_the_program_that_started_it_is_killed(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", KEEPER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until(lambda: not is_running(pid), "the service to end")
    assert not list(tmp_path.glob("ready-*.json"))  # removed at an orderly end only


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_stopping_closes_the_input_and_waits_for_an_orderly_end(tmp_path):
    service = LocalService(tmp_path, workers=1)
    service.start()
    service.stop(timeout_s=60)
    assert service.poll() == 0
