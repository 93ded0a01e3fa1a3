"""No key outside the keyring: run the real desk, commands and service, then search all traces.

Searched: all files, all output, a crash dump, and what others on the computer can see of a process. Not searched: the
memory of a running process, which its owner and the system's administrator can read.
"""

import base64
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from list_by_hand import list_by_hand
from patience import HANGS_S, until

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "service" / "support")]

from served import Served
from socket_keyring import KeyringServer

from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.clock import utc_now
from vbdesk.contract.limits import Plan
from vbdesk.outbox.diagnostics.log_file import CRASH_NAME
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, library_folder
from vbdesk.outbox.profiles.vault import MemoryVault

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

LIBRARY_KEY = bytes(range(101, 133))


@pytest.fixture
def service(tmp_path):
    served = Served(tmp_path / "service")
    (tmp_path / "service").mkdir()
    served.start()
    served.make_account(1000)
    yield served
    served.stop()


@pytest.fixture
def profile(service, tmp_path):
    made = Profile(
        "p-1", "St. Anne", "service", service.base_url, service.headers["X-Account-ID"], plan=Plan.ENTERPRISE
    )
    ProfileStore(tmp_path / "desk").save(made)
    return made


@pytest.fixture
def keyring(service, profile, tmp_path):
    secrets = {
        profile.api_key_name: service.headers["X-API-Key"],
        profile.library_key_name: base64.b64encode(LIBRARY_KEY).decode(),
    }
    with KeyringServer(tmp_path / "keyring", secrets) as server:
        yield server
        server.shutdown()


@pytest.fixture
def run(keyring, tmp_path):
    """Start `vbdesk` with the keyring; its output goes to a file."""
    started = []

    def start(*words):
        environment = {**os.environ, **keyring.environment, "QT_QPA_PLATFORM": "offscreen"}
        command = [sys.executable, "-m", "vbdesk", *words, "--data-dir", str(tmp_path / "desk")]
        with (tmp_path / "printed.txt").open("ab") as printed:
            started.append(subprocess.Popen(command, env=environment, stdout=printed, stderr=printed))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def add_take(profile, keyring, folder, speech_file, group_id):
    vault = MemoryVault()
    for name, secret in keyring.secrets.items():
        vault.set(name, secret)
    samples, rate = sf.read(speech_file, dtype="int16")
    with closing(LockedLibrary(profile, folder, vault)) as library:
        path = library.recording_folder / "1.take"
        writer = EncryptedTakeWriter(path, LIBRARY_KEY, rate)
        writer.append(samples.astype(np.int16))
        writer.close()
        facts = TakeMetadata(group_id, utc_now(), RecordingTarget("sign", "stress"))
        library.queue(library.add_take(path, facts))
    keyring.secrets[profile.high_water_name] = vault.get(profile.high_water_name)  # the desk has the same keyring


def done(folder):
    with list_by_hand(folder, LIBRARY_KEY, read_only=True) as database:
        return database.execute("SELECT COUNT(*) FROM recordings WHERE state = 'done'").fetchone()[0]


def family(pid):
    """A process and all its descendants."""
    found = [pid]
    for parent in found:  # grows during the loop
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            found += map(int, children.read_text().split())
    return found


def shown_of(pid):
    """What others can see of a process and its children."""
    return b"".join(
        Path(f"/proc/{each}/{name}").read_bytes() for each in family(pid) for name in ("cmdline", "environ")
    )


def forms(secret):
    """The possible notations of a key."""
    texts = [
        secret.hex(),
        secret.hex().upper(),
        base64.b64encode(secret).decode(),
        base64.urlsafe_b64encode(secret).decode(),
    ]
    return [secret, *(text.rstrip("=").encode() for text in texts)]


def traces(folder, needles):
    """Every file under `folder` that holds one of them."""
    return [
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and any(needle in path.read_bytes() for needle in needles)
    ]


def test_no_key_is_in_any_file_log_dump_or_process_list(run, service, profile, keyring, tmp_path, speech_file):
    folder = library_folder(tmp_path / "desk", profile.profile_id)
    needles = [*forms(LIBRARY_KEY), *forms(service.headers["X-API-Key"].encode())]
    add_take(profile, keyring, folder, speech_file, "ward4-0172")
    looks = []

    desk = run("desk", "--light")
    until(lambda: done(folder) == 1, "the desk to send and hear the result")
    looks += [shown_of(desk.pid), shown_of(service.pid)]
    desk.send_signal(signal.SIGABRT)
    # faulthandler reads the frames of running threads, which may fault: then the second signal ends the process
    assert desk.wait(HANGS_S) in (-signal.SIGABRT, -signal.SIGSEGV)
    assert "Fatal Python error: Aborted" in (tmp_path / "desk" / CRASH_NAME).read_text()

    add_take(profile, keyring, folder, speech_file, "ward4-0173")
    sync = run("sync")
    until(lambda: looks.append(shown_of(sync.pid)) or sync.poll() is not None or done(folder) == 2, "the upload", 0.05)
    assert sync.wait(HANGS_S) == 0
    verify, doctor = run("audit", "verify"), run("doctor", "--bundle", str(tmp_path / "desk" / "bundle.json"))
    assert (verify.wait(HANGS_S), doctor.wait(HANGS_S)) == (0, 0)

    assert profile.account_id.encode() in (tmp_path / "desk" / "profiles.json").read_bytes()
    assert b"audit log is whole" in (tmp_path / "printed.txt").read_bytes()
    assert (tmp_path / "desk" / "bundle.json").exists()
    assert b"vbdesk" in b"".join(looks)
    assert traces(tmp_path, needles) == []
    assert not any(any(needle in look for look in looks) for needle in needles)

    for needle in needles:  # check that the search works
        (tmp_path / "planted").write_bytes(b"x" + needle + b"x")
        assert traces(tmp_path, needles) == [str(tmp_path / "planted")]
