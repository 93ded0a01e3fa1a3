"""Every byte that the desk and the service on this computer write, searched for a voice; without encryption as control.

A take of the microphone is uploaded as FLAC and an imported file as it is, so windows of both stand for them: of the
FLAC stream, and of the PCM samples. What is searched: the folders of the desk and of the service with its database, log
of changes and spool, and the folder for temporary files; all the time while the work goes on, and after its end.
"""

import os
import sqlite3
import sys
import threading
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from patience import HANGS_S, until
from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.client import Client, RetryRule
from vbdesk.client.errors import NotFound
from vbdesk.client.local_service import (
    LocalEncryption,
    LocalService,
    LocalServiceFailed,
    erase_recordings,
    make_account,
)
from vbdesk.contract.limits import Plan
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.pending_erasures import ErasureScope
from vbdesk.outbox.library.states import ON_THEIR_WAY, OutboxState
from vbdesk.outbox.library.subject_erasure import erase_subject
from vbdesk.outbox.library.subject_notes import SubjectNote
from vbdesk.outbox.profiles.recovery_key import recovery_key_of
from vbdesk.outbox.profiles.service_key import KEY_FILE, RecoveryKeyWrong, ServiceKeyMissing, ServiceKeyStore
from vbdesk.outbox.profiles.vault import MemoryVault
from vbdesk.outbox.sync.sync_worker import SyncWorker
from vbdesk.outbox.sync.upload_bytes import upload_of
from vbdesk.service.encryption.file_format import HEADER_BYTES, MAGIC

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

LIBRARY_KEY = bytes(range(32))
MONDAY = datetime(2026, 3, 2, 9, 0, 12, 345678, tzinfo=UTC)
WINDOW = 48
WINDOWS = 200


def windows_of(content):
    """Short pieces from all over it, none of them dull."""
    places = np.linspace(4096, len(content) - WINDOW, WINDOWS, dtype=int)
    pieces = {content[place : place + WINDOW] for place in places}
    return {piece for piece in pieces if len(set(piece)) > WINDOW // 3}


class Search:
    """Looks for planted windows in every byte of some folders, all the time until it is ended."""

    def __init__(self, folders, planted):
        self.folders, self.planted = folders, planted
        self.found, self.read, self.rounds = {name: set() for name in planted}, set(), 0
        self._known: set[tuple[str, bytes]] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self):
        """A last look, now that all have ended or nothing more happens."""
        self._stop.set()
        self._thread.join()
        self.look()

    def look(self):
        for folder in self.folders:
            for path in folder.rglob("*"):
                with suppress(OSError):  # it has just been removed
                    if path.is_file():
                        self._look_into(path, path.read_bytes())
        self.rounds += 1

    def _look_into(self, path, content):
        self.read.add(path.name)
        known = path.name, sha256(content).digest()
        if known in self._known:  # searched in an earlier round
            return
        self._known.add(known)
        for name, pieces in self.planted.items():
            if any(piece in content for piece in pieces):
                self.found[name].add(path.name)

    def _run(self):
        while not self._stop.is_set():
            self.look()
            self._stop.wait(0.05)


@pytest.fixture
def sounds(speech_file, tmp_path):
    """A take's samples, and a WAV file of another sound that a person imports."""
    samples, rate = sf.read(speech_file, dtype="int16")
    noisy = (samples // 2 + np.random.default_rng(5).integers(-900, 900, len(samples))).astype(np.int16)
    wav = tmp_path / "elsewhere" / "imported.wav"
    wav.parent.mkdir()
    sf.write(wav, noisy, rate, subtype="PCM_16")
    return samples, rate, wav


@pytest.fixture
def library(tmp_path):
    with closing(Library(tmp_path / "desk" / "profiles" / "p", LIBRARY_KEY, erases_at_service=True)) as opened:
        yield opened


def put_in_line(library, sounds):
    samples, rate, wav = sounds
    path = library.recording_folder / "1.take"
    writer = EncryptedTakeWriter(path, LIBRARY_KEY, rate)
    writer.append(samples)
    writer.close()
    target = RecordingTarget("model", "pulse")
    takes = [
        library.add_take(path, TakeMetadata("ward4-0172", MONDAY, target)),
        library.import_file(wav, TakeMetadata("ward4-0172", MONDAY + timedelta(days=7), target)),
    ]
    for take_id in takes:
        library.queue(take_id)
    return takes


def send(library, endpoint, credentials):
    """Let the sync worker work until every result is there."""
    stop, arrived = threading.Event(), threading.Event()
    library.subscribe(lambda: all(library.counts()[state] == 0 for state in ON_THEIR_WAY) and arrived.set())
    connect = lambda: Client(endpoint.base_url, credentials, retries=RetryRule.NEVER)  # noqa: E731
    sync_worker = threading.Thread(target=SyncWorker(library, connect, plan=Plan.ENTERPRISE).run, args=(stop,))
    sync_worker.start()
    try:
        assert arrived.wait(HANGS_S)
    finally:
        stop.set()
        sync_worker.join()


def family(pid):
    """A process and everything that descends from it."""
    found = [pid]
    for parent in found:  # grows on the way
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            found += map(int, children.read_text().split())
    return found


@pytest.mark.parametrize("encrypted", [False, True], ids=["control", "encrypted"])
def test_no_window_of_a_voice_is_in_any_byte_on_the_disk(encrypted, library, sounds, tmp_path, monkeypatch):
    temporary, folder = tmp_path / "temporary", tmp_path / "desk" / "service"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    takes = put_in_line(library, sounds)
    flac = upload_of(library, library.get(takes[0])).content
    planted = {
        "flac": windows_of(flac),
        "pcm of the take": windows_of(sounds[0].tobytes()),
        "pcm of the file": windows_of(sounds[2].read_bytes()),
    }
    assert flac.startswith(b"fLaC")
    assert all(len(pieces) > WINDOWS // 4 for pieces in planted.values())
    key = os.urandom(32) if encrypted else None
    service = LocalService(folder, key, workers=1)
    credentials = make_account(folder, "tests")
    search = Search([tmp_path / "desk", temporary], planted)
    try:
        endpoint = service.start()
        assert service.encryption() in (
            (LocalEncryption.UNDER_WAY, LocalEncryption.COMPLETE) if encrypted else (LocalEncryption.OFF,)
        )
        send(library, endpoint, credentials)
        items = [library.get(take_id) for take_id in takes]
        assert [item.state for item in items] == [OutboxState.DONE] * 2
        if key is not None:
            shown = b"".join(
                Path(f"/proc/{pid}/{name}").read_bytes()
                for pid in family(endpoint.pid)
                for name in ("cmdline", "environ")
            )
            assert key.hex().encode() not in shown.lower()
            assert key not in shown
    finally:
        service.stop()
        search.end()
    assert search.rounds >= 2  # a busy machine does few
    assert {"vbdesk.db", "library.sqlite", "service.log"} <= search.read
    if not encrypted:
        job_of_take, job_of_file = (item.job_id for item in items)
        assert job_of_take in search.found["flac"], "the control finds the FLAC of the take"
        assert job_of_file in search.found["pcm of the file"], "and the samples of the file"
        _encrypt(folder)
        afterwards = Search([tmp_path / "desk", temporary], planted)
        afterwards.end()
        assert afterwards.found == {name: set() for name in planted}, "data of before is encrypted once there is a key"
        return
    assert search.found == {name: set() for name in planted}
    keys = {"the key": {key, key.hex().encode(), key.hex().upper().encode()}}
    of_key = Search([tmp_path / "desk", temporary], keys)
    of_key.end()
    assert of_key.found == {"the key": set()}


@pytest.mark.parametrize("running", [True, False], ids=["running", "stopped"])
def test_an_erased_subject_is_named_nowhere_at_the_service_on_this_computer(running, library, sounds, tmp_path):
    folder, key = tmp_path / "desk" / "service", os.urandom(32)
    service = LocalService(folder, key, workers=1)
    credentials = make_account(folder, "tests")
    note = SubjectNote("zqzq hoarse since May", ("zqzq-tag",), "Zqzq Muster", "zqzq-1956")
    library.subject_notes.store("ward4-0172", note)
    takes = put_in_line(library, sounds)
    dates = {form.encode() for day in ("2026-03-02", "2026-03-09") for form in (f"{day} 09:00:12", f"{day}T09:00:12")}
    needles = {
        "id": {b"ward4-0172"},
        "name": {b"Zqzq Muster", b"zqzq-1956"},
        "notes": {b"zqzq hoarse", b"zqzq-tag"},
        "dates": dates,
        "file": {b"imported.wav"},
    }
    try:
        send(library, service.start(), credentials)
        assert [library.get(take_id).state for take_id in takes] == [OutboxState.DONE] * 2
        if not running:
            service.stop()
        before = Search([folder], needles)
        before.end()
        assert before.found["id"] and before.found["dates"], "the search finds what there is"
        assert erase_subject(library, "ward4-0172").erased == 2
        for erasure in library.erasures.due():
            account_id, jobs, uploads = credentials.account_id, erasure.job_ids, erasure.upload_refs
            erase_recordings(folder, key, account_id, jobs, uploads, sound_only=False)
            library.erasures.settle(erasure)
        assert library.erasures.due() == []
        with sqlite3.connect(folder / "vbdesk.db") as database:
            assert database.execute("SELECT COUNT(*) FROM groups").fetchone() == (0,)
        if running:
            service.stop()
        library.close()
        after = Search([tmp_path / "desk"], needles)
        after.end()
        assert after.found == {name: set() for name in needles}
    finally:
        service.stop()


def _encrypt(folder):
    """Run the service with a key until it says that what was there before is encrypted too."""
    service = LocalService(folder, os.urandom(32), workers=1)
    service.start()
    try:
        until(lambda: service.encryption() is LocalEncryption.COMPLETE, "the encryption")
    finally:
        service.stop()


@pytest.mark.parametrize("running", [True, False], ids=["running", "stopped"])
def test_after_a_removal_the_wrapped_key_is_nowhere_and_the_service_has_done_what_was_said(
    running, library, sounds, tmp_path
):
    folder, key = tmp_path / "desk" / "service", os.urandom(32)
    service = LocalService(folder, key, workers=1)
    credentials = make_account(folder, "tests")
    sound_only, everything = put_in_line(library, sounds)
    try:
        send(library, service.start(), credentials)
        jobs = {take_id: library.get(take_id).job_id for take_id in (sound_only, everything)}
        files = {
            path for path in (folder / "objects").rglob("*") if path.is_file() and path.stat().st_size > HEADER_BYTES
        }
        wrapped = {
            path: path.read_bytes()[len(MAGIC) : HEADER_BYTES] for path in files if path.parent.name != "objects"
        }
        assert {jobs[sound_only], jobs[everything]} <= {path.name for path in wrapped}
        held = [path.open("rb") for path in wrapped]  # as a person who had copied nothing but the blocks
        if not running:
            service.stop()
        library.remove_sounds([sound_only], part=None)
        library.discard(everything, at_once=True)
        assert {erasure.what for erasure in library.erasures.due()} == {ErasureScope.SOUND, ErasureScope.EVERYTHING}
        for erasure in library.erasures.due():
            erase_recordings(
                folder,
                key,
                credentials.account_id,
                erasure.job_ids,
                erasure.upload_refs,
                sound_only=erasure.what is ErasureScope.SOUND,
            )
            library.erasures.settle(erasure)
        search = Search([tmp_path / "desk"], {"wrapped keys": set(wrapped.values())})
        search.end()
        assert search.found == {"wrapped keys": set()}
        for file in held:
            with file:
                assert file.read(HEADER_BYTES)[len(MAGIC) :] not in wrapped.values()
        endpoint = LocalService(folder, key, workers=1)
        base_url = _address(service, endpoint, running)
        with Client(base_url, credentials) as client:
            assert client.jobs.get(jobs[sound_only]).result is not None
            with pytest.raises(NotFound):
                client.jobs.get(jobs[everything])
        endpoint.stop()
    finally:
        service.stop()
    assert not [path for path in folder.rglob("*") if path.is_file() and path.name in jobs.values()]


def _address(service, other, running):
    """Where a service answers: the one that runs, or another one on the same data."""
    return service._base_url if running else other.start().base_url


def test_a_lost_key_makes_no_new_one_for_encrypted_data_and_deletes_nothing(tmp_path):
    folder, vault = tmp_path / "service", MemoryVault()
    store = ServiceKeyStore(folder)
    made = store.open(vault)
    service = LocalService(folder, made.key, workers=1)
    service.start()
    service.stop()
    (folder / KEY_FILE).unlink()
    data = {path: path.read_bytes() for path in folder.glob("vbdesk.db")}
    assert data
    with pytest.raises(ServiceKeyMissing, match="Nothing was deleted"):
        store.open(vault)
    with pytest.raises(RecoveryKeyWrong):
        store.recover(recovery_key_of(os.urandom(32)), vault)
    assert not (folder / KEY_FILE).exists()
    for wrong in (None, os.urandom(32)):
        with pytest.raises(LocalServiceFailed, match=r"encrypted|does not fit"):
            LocalService(folder, wrong, workers=1).start()
    assert {path: path.read_bytes() for path in data} == data
    assert store.recover(made.recovery_key, vault).key == made.key
    service = LocalService(folder, store.open(vault).key, workers=1)
    service.start()
    assert service.encryption() is LocalEncryption.COMPLETE
    service.stop()
