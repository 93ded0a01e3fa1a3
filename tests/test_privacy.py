"""No command dumps core, and its files cannot be read by other accounts."""

import os
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from patience import until
from vbdesk.privacy import is_group_shared, make_private, restrict_to_owner, set_export_mode

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither core files nor these rights")

LIMITS = pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="reads the limits from /proc")
TIMEOUT_S = 120

DESK = """
import sys
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path
import numpy as np
from vbdesk.capture.device_choice import RememberedMicrophone
from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.client.folder_lock import exclusive_lock
from vbdesk.json_lines import JsonLinesFile
from vbdesk.client.request_file import RequestFile
from vbdesk.contract.limits import Bucket
from vbdesk.desk.preferences import PreferenceStore
from vbdesk.outbox.diagnostics.log_file import start_log
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, library_folder
from vbdesk.outbox.profiles.vault import MemoryVault

data = Path(sys.argv[1])
start_log(data)
profile = Profile("p1", "clinic", "service", "http://127.0.0.1:1", "account")
ProfileStore(data).save(profile)
PreferenceStore(data).change()
RequestFile(data / "requests" / "a.jsonl").append(Bucket.GENERAL, 0)
with exclusive_lock(data / "submitted" / "a.lock"):
    JsonLinesFile(data / "submitted" / "a.jsonl").append({"take": "a"})
vault = MemoryVault()
vault.set(profile.library_key_name, b64encode(bytes(32)).decode())
library = LockedLibrary(profile, library_folder(data, "p1"), vault)
again = len(sys.argv) > 2
for number in range(0 if again else 3):
    path = library.recording_folder / f"{number}.take"
    writer = EncryptedTakeWriter(path, library.store.key, 8000, {"group_id": "ward4"})
    writer.append(np.full(160_000, number, np.int16))
    writer.abandon()
meta = TakeMetadata("ward4", datetime(2026, 3, 1, 8, tzinfo=UTC), RecordingTarget.parse("model:pulse"))
if not again:
    library.queue(library.add_take(library.recording_folder / "0.take", meta))
    library.damaged.keep(library.recording_folder / "1.take")
print("open", flush=True)
sys.stdin.read()
library.close()
"""


def accessible_to_others(folder):
    """A folder and its contents, as far as others have permissions on them."""
    return [
        f"{path}: {stat.S_IMODE(path.lstat().st_mode):o}"
        for path in (folder, *folder.rglob("*"))
        if not path.is_symlink() and path.lstat().st_mode & 0o077
    ]


@contextmanager
def with_umask(umask):
    before = os.umask(umask)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def running(*arguments, umask=0o000, ready):
    """Run a child process until the end of the block, after `ready` is true."""
    with subprocess.Popen(
        [sys.executable, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, umask=umask
    ) as child:
        try:
            until(lambda: child.poll() is not None or ready(child), "the child to be ready")
            assert child.poll() is None, "it has ended"
            yield child
        finally:
            child.stdin.close()
            child.terminate()
            child.wait()


def serve(data, ready_file):
    ports = ("--port", 0, "--storage-port", 0)
    return ("-m", "vbdesk", "serve", "--data-dir", data, *ports, "--ready-file", ready_file)


def family(pid):
    """A process and all its descendants."""
    children = [int(word) for each in Path(f"/proc/{pid}/task").glob("*/children") for word in each.read_text().split()]
    return [pid, *(each for child in children for each in family(child))]


def core_limits(pid):
    (line,) = [line for line in Path(f"/proc/{pid}/limits").read_text().splitlines() if "core file" in line]
    return line.split()[4:6]


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_the_files_of_the_desk_are_private(tmp_path, umask):
    data = tmp_path / "data"
    with running("-c", DESK, data, umask=umask, ready=lambda child: child.stdout.readline() == b"open\n"):
        names = {path.name for path in data.rglob("*")}
        assert {"library.sqlite", "library.sqlite-wal", "library.sqlite-shm", "library.lock", "library.mark"} <= names
        assert {"profiles.json", "preferences.json", "vbdesk.log", "1.take", "2.take"} <= names
        assert accessible_to_others(data) == []
    assert accessible_to_others(data) == []


@pytest.mark.parametrize("umask", [0o000, 0o022])
@LIMITS
def test_the_files_and_memory_of_the_service_are_private(tmp_path, umask):
    data = tmp_path / "data"
    ready_file = data / "ready-1.json"
    command = (
        "-m",
        "vbdesk",
        "serve",
        "--data-dir",
        data,
        "--port",
        0,
        "--storage-port",
        0,
        "--ready-file",
        ready_file,
    )
    with running(*command, "--workers", 1, umask=umask, ready=lambda _: ready_file.exists()) as child:
        subprocess.run(
            [sys.executable, "-m", "vbdesk", "admin", "account", "create", "--data-dir", data, "--name", "a"],
            check=True, capture_output=True, umask=umask,
        )  # fmt: skip
        processes = family(child.pid)
        assert [core_limits(pid) for pid in processes] == [["0", "0"]] * len(processes)
        assert (data / "secrets").exists()
        assert accessible_to_others(data) == []


@pytest.mark.parametrize(
    "command",
    [
        ["submit", "x.wav", "--group", "g"],
        ["bundle", "read", "x.vbundle"],
        ["export", "--group", "g", "--format", "json"],
        ["audit", "verify"],
        ["doctor"],
        ["serve", "--data-dir", "d"],
        ["worker", "--data-dir", "d"],
        ["admin", "account", "list", "--data-dir", "d"],
        ["sync"],
        ["desk"],
        ["analyze", "x.wav"],
        ["jobs", "list"],
        ["groups", "list"],
        ["demo"],
    ],
)
@LIMITS
def test_no_command_and_no_child_of_it_writes_a_core_file(tmp_path, command):
    """The command line is replaced by a probe, because the protection starts before it."""
    program = """
import runpy, subprocess, sys, types
from pathlib import Path
cli = types.ModuleType("vbdesk.cli.main")
look = "import sys; print([l.split()[4:6] for l in open('/proc/self/limits') if 'core file' in l], "
look += "open('/proc/self/coredump_filter').read().strip())"
def run():
    exec(look, {})
    sys.stdout.flush()
    subprocess.run([sys.executable, "-c", look], check=True)
cli.run = run
sys.modules["vbdesk.cli.main"] = cli
runpy.run_module("vbdesk", run_name="__main__", alter_sys=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, *command], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.splitlines() == ["[['0', '0']] 00000000"] * 2


@pytest.mark.parametrize("streams", [True, False])
def test_every_entry_point_protects_its_process_before_the_command(monkeypatch, streams):
    import tomllib

    from vbdesk import __main__ as entry_points

    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    declared = {**project["scripts"], **project["gui-scripts"]}
    assert declared == {"vbdesk": "vbdesk.__main__:run", "vbdesk-desk": "vbdesk.__main__:run_desk"}
    order = []
    monkeypatch.setattr("vbdesk.privacy.protect_process", lambda: order.append("protected"))
    monkeypatch.setattr("vbdesk.cli.main.run", lambda: order.append("command"))
    if not streams:
        monkeypatch.setattr(sys, "stderr", None)
    for entry in declared.values():
        monkeypatch.setattr(sys, "argv", ["vbdesk"])
        getattr(entry_points, entry.rpartition(":")[2])()
    assert order == ["protected", "command"] * len(declared)


def test_opening_restricts_folders_of_an_earlier_release(tmp_path):
    data = tmp_path / "data"
    with running("-c", DESK, data, ready=lambda child: child.stdout.readline() == b"open\n"):
        pass
    library = data / "profiles" / "p1"
    for path in (library, *library.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    with running("-c", DESK, data, "again", ready=lambda child: child.stdout.readline() == b"open\n"):
        assert accessible_to_others(library) == []


@LIMITS
def test_starting_restricts_a_service_folder_of_an_earlier_release(tmp_path):
    data = tmp_path / "data"
    ready_file = data / "ready-1.json"
    command = (
        "-m",
        "vbdesk",
        "serve",
        "--data-dir",
        data,
        "--port",
        0,
        "--storage-port",
        0,
        "--ready-file",
        ready_file,
    )
    with running(*command, "--workers", 0, ready=lambda _: ready_file.exists()):
        pass
    for path in (data, *data.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    ready_file.unlink(missing_ok=True)
    with running(*command, "--workers", 0, ready=lambda _: ready_file.exists()):
        assert accessible_to_others(data) == []


@pytest.mark.parametrize("name", ["profiles.json", "vbdesk.log", "preferences.json", "requests/a.jsonl"])
def test_a_command_restricts_only_our_files_in_the_data_folder(tmp_path, name):
    from vbdesk.cli.paths import desk_paths

    theirs, ours = tmp_path / "thesis.txt", tmp_path / name
    for path in (theirs, ours):
        make_private(path.parent)
        path.touch()
        path.chmod(0o644)
    tmp_path.chmod(0o755)
    desk_paths(tmp_path)
    assert stat.S_IMODE(ours.stat().st_mode) == 0o600
    assert stat.S_IMODE(theirs.stat().st_mode) == 0o644
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


@pytest.mark.parametrize(
    ("folder_mode", "shared", "file_mode"),
    [(0o700, False, 0o600), (0o755, False, 0o600), (0o1777, False, 0o600), (0o2750, True, 0o640), (0o770, True, 0o640)],
)
def test_exports_are_private_unless_the_folder_is_shared(tmp_path, folder_mode, shared, file_mode):
    from vbdesk.report.exports import write_files

    folder = tmp_path / "out"
    folder.mkdir()
    folder.chmod(folder_mode)
    assert is_group_shared(folder) is shared
    with with_umask(0o027):
        write_files(folder, {"a.csv": b"a", "sub/b.csv": b"b"})
    assert stat.S_IMODE((folder / "a.csv").stat().st_mode) == file_mode
    assert stat.S_IMODE((folder / "sub").stat().st_mode) & 0o777 == (0o750 if shared else 0o700)


def test_links_are_not_followed_and_missing_files_are_ignored(tmp_path):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.touch()
    outside.chmod(0o644)
    inside.mkdir()
    (inside / "link").symlink_to(outside)
    restrict_to_owner([inside, tmp_path / "missing"])
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644
    set_export_mode(tmp_path / "missing")
