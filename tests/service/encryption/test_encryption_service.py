"""A real service with a key: its folder contains neither recordings nor results in plain form.

The control is the same service without a key: there the search finds all of them.
"""

import json
import socket
import subprocess
import sys
import zipfile
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import windows_files
from patience import HANGS_S, until
from vbdesk.cli.main import app as vbdesk
from vbdesk.clock import utc_now
from vbdesk.service.encryption.data_keys import open_data_keys
from vbdesk.service.encryption.file_format import HEADER_BYTES, MAGIC, is_encrypted_file
from vbdesk.service.encryption.keys import create_key_file, find_keys, new_key
from vbdesk.service.encryption.recording_files import RecordingFiles
from vbdesk.service.kernel.db.session import open_database
from vbdesk.service.kernel.db.tables import encryption_state
from vbdesk.service.kernel.settings import load_settings
from vbdesk.voice.decode import decode

sys.path.append(str(Path(__file__).parents[1] / "support"))

from served import Served, operate

DATA = Path(__file__).parents[2] / "data"
SPEECH = DATA / "speech_kathleen_20s.flac"
WINDOW = 24


@pytest.fixture
def key_file(tmp_path):
    (tmp_path / "apart").mkdir()
    path = tmp_path / "apart" / "key"
    create_key_file(path)
    return path


@pytest.fixture
def serve(tmp_path):
    started = []

    def start(folder="service", **settings):
        (tmp_path / folder).mkdir(exist_ok=True)
        served = Served(tmp_path / folder, **settings)
        served.start()
        started.append(served)
        return served

    yield start
    for served in started:
        with suppress(AssertionError):
            served.kill()


def samples():
    """The audio samples of the recording, 16 bits each."""
    return (np.clip(decode(SPEECH).samples.reshape(-1), -1, 1) * 32767).astype("<i2").tobytes()


def planted():
    """Byte sequences of the file and its audio that occur nowhere else."""
    windows = {}
    for name, content in (("flac", SPEECH.read_bytes()), ("pcm", samples())):
        spread = range(5000, len(content) - WINDOW, len(content) // 40)
        windows[name] = [content[at : at + WINDOW] for at in spread if len(set(content[at : at + WINDOW])) > 12]
        assert len(windows[name]) > 20
    return windows


def found_in(folder, windows, readings):
    """Return which byte sequences and results any file of the folder contains, by kind of file."""
    content = b"\0\0\0".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
    hits = {name for name, parts in windows.items() if any(part in content for part in parts)}
    return hits | {f"reading {reading}" for reading in readings if reading.encode() in content}


def submit(served, audio=None, path="/v2/models/pulse/groups/ward-4/analyze/longitudinal"):
    with served.client() as client:
        answer = client.post(path, files={"audio": ("a.flac", audio or SPEECH.read_bytes(), "audio/flac")})
        answer.raise_for_status()
        return answer.json()["job_id"]


def result_of(served, job_id):
    with served.client() as client:

        def done():
            job = client.get(f"/v2/jobs/{job_id}").json()
            assert job["status"] != "failed", job
            return job if job["status"] == "done" else None

        job = until(done)
        until(lambda: client.get("/v2/groups/ward-4/longitudinal").json().get("data_points"))
        client.get("/v2/groups/aggregate", params={"group_ids": "ward-4"})
        return job


def upload_half(served):
    """Start an upload, stop half-way, and return its socket."""
    with served.client() as client:
        minted = client.post("/v2/audio/uploads", json={"content_type": "audio/flac"}).json()
    parts, content = urlsplit(minted["upload_url"]), 6 * samples()
    headers = "".join(
        f"{name}: {value}\r\n" for name, value in minted["required_headers"].items() if name.lower() != "host"
    )
    connection = socket.create_connection((parts.hostname, parts.port), timeout=HANGS_S)
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    head = f"PUT {target} HTTP/1.1\r\nHost: {parts.netloc}\r\n{headers}"
    connection.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content[: -len(content) // 4])
    return connection


def encryption_of(served):
    with served.client() as client:
        return client.get("/readyz").json()["encryption"]


@pytest.mark.parametrize("encrypted", [False, True])
def test_the_folder_contains_nothing_of_a_voice_or_its_result(serve, key_file, encrypted, tmp_path):
    served = serve(**({"key_file": str(key_file)} if encrypted else {}))
    served.make_account(10_000)
    job = result_of(served, submit(served))
    summary = job["result"]["summary"]
    compact = json.dumps(summary["description"], separators=(",", ":"), ensure_ascii=False)
    readings = [compact[-40:-5], '"audio_quality"']
    windows = planted()
    with closing(upload_half(served)):
        incoming = served.data_dir / "objects" / ".incoming"
        until(lambda: any(path.stat().st_size > 10_000 for path in incoming.iterdir()))
        while_running = found_in(served.data_dir, windows, readings)
        until(lambda: encryption_of(served) == ("complete" if encrypted else "off"))
    assert served.ready["encryption"] == ("on" if encrypted else "off")
    copies = tmp_path / "copies"
    operate(served.data_dir, "audio", "save", "--to", str(copies))
    assert served.stop(60) == 0
    after_stop = found_in(served.data_dir, windows, readings)
    in_copies = found_in(copies, windows, [])
    if encrypted:
        assert (while_running, after_stop, in_copies) == (set(), set(), set())
        return
    expected = {"flac", *(f"reading {reading}" for reading in readings)}
    assert while_running == {*expected, "pcm"}, "the search must find what is there, or it shows nothing"
    assert expected <= after_stop
    assert in_copies == {"flac"}


def test_the_search_finds_plain_samples(tmp_path):
    windows = planted()
    (tmp_path / "spool").write_bytes(b"RIFF" + windows["pcm"][3] + b"x")
    assert found_in(tmp_path, windows, []) == {"pcm"}


def test_erasing_destroys_the_recordings_key_and_every_result(serve, key_file):
    served = serve(key_file=str(key_file))
    served.make_account(10_000)
    job_id = submit(served)
    result_of(served, job_id)
    [stored] = (served.data_dir / "objects" / "audio").iterdir()
    wrapped = stored.read_bytes()[len(MAGIC) : HEADER_BYTES]
    assert wrapped in stored.read_bytes()
    account = served.headers["X-Account-ID"]
    with windows_files.lifted(), stored.open("rb") as held:
        operate(
            served.data_dir, "job", "delete", "--account", account, "--job", job_id,
            environment={"VBDESK_KEY_FILE": str(key_file)},
        )  # fmt: skip
        until(lambda: not stored.exists())
        until(lambda: held.seek(0) == 0 and wrapped not in held.read())
    with served.client() as client:
        assert client.get(f"/v2/jobs/{job_id}").status_code == 404
    assert served.stop(60) == 0
    everything = b"".join(path.read_bytes() for path in served.data_dir.rglob("*") if path.is_file())
    assert wrapped not in everything


def key_lines(*keys):
    return "".join(f"{key.secret.hex()}\n" for key in keys)


def serve_with_stdin(data_dir, text):
    """Return exit status and output of `vbdesk serve --key-stdin` when it refuses to start."""
    command = [
        sys.executable,
        "-m",
        "vbdesk",
        "serve",
        "--data-dir",
        str(data_dir),
        "--port",
        "0",
        "--storage-port",
        "0",
    ]
    return subprocess.run(
        [*command, "--key-stdin"], input=text, capture_output=True, text=True, timeout=HANGS_S, check=False
    )


def test_a_lost_or_wrong_key_is_refused_and_nothing_is_deleted(serve, key_file, tmp_path):
    served = serve(key_file=str(key_file))
    served.make_account(10_000)
    job_id = submit(served)
    before = result_of(served, job_id)
    assert served.stop(60) == 0
    files = sorted(path.relative_to(served.data_dir) for path in (served.data_dir / "objects").rglob("*"))
    for text, sentence in ((key_lines(new_key()), "does not fit"), ("", "64 hexadecimal digits")):
        done = serve_with_stdin(served.data_dir, text)
        assert (done.returncode != 0, sentence in done.stderr, "Traceback" in done.stderr) == (True, True, False)
    no_key = Served(tmp_path / "service")
    no_key.launch()
    assert no_key.process.wait(HANGS_S) != 0
    assert "no key was given" in no_key.log.read_text()
    assert sorted(path.relative_to(served.data_dir) for path in (served.data_dir / "objects").rglob("*")) == files
    again = serve(key_file=str(key_file))
    again.headers = served.headers
    assert result_of(again, job_id) == before


def test_the_key_comes_from_standard_input_and_is_stored_nowhere(tmp_path):
    key, data_dir, ready = new_key(), tmp_path / "data", tmp_path / "ready.json"
    command = [
        sys.executable,
        "-m",
        "vbdesk",
        "serve",
        "--data-dir",
        str(data_dir),
        "--port",
        "0",
        "--storage-port",
        "0",
    ]
    with (tmp_path / "log").open("wb") as log:
        child = subprocess.Popen(
            [*command, "--key-stdin", "--ready-file", str(ready)], stdin=subprocess.PIPE, stdout=log, stderr=log
        )
    child.stdin.write(key_lines(key).encode())
    child.stdin.close()
    try:
        told = json.loads(until(lambda: ready.exists() and ready.read_text()))
        assert told["encryption"] == "on"
        if sys.platform == "linux":
            for name in ("cmdline", "environ"):
                assert key.secret.hex().encode() not in Path(f"/proc/{child.pid}/{name}").read_bytes()
        account = operate(data_dir, "account", "create", "--name", "Test")
        assert account["account_id"], "what needs no key works without"
    finally:
        child.terminate()
        child.wait(HANGS_S)
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert key.secret.hex().encode() not in everything
    assert key.secret not in everything


@pytest.fixture(params=["service_6.zip", "service_8.zip"])
def old_folder(request, tmp_path):
    """The data folder of a release without encryption, as `Served` expects it."""
    folder = tmp_path / "service" / "data"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(DATA / request.param) as archive:
        archive.extractall(folder)
    return folder


def test_the_folder_of_an_earlier_release_is_fully_encrypted_and_keeps_everything(serve, old_folder, key_file):
    known = json.loads((old_folder / "known.json").read_text())
    done_id = known["job_ids"][0]
    headers = {"X-Account-ID": known["account_id"], "X-API-Key": known["api_key"]}
    recordings = [path.read_bytes() for path in (old_folder / "objects" / "audio").iterdir()]
    assert recordings
    plain = serve(workers=0)
    plain.headers = headers
    with plain.client() as client:
        before = client.get(f"/v2/jobs/{done_id}").json()
    assert plain.stop(60) == 0
    phrase = json.dumps(before["result"])[20:60].encode()
    served = serve(workers=0, key_file=str(key_file))
    served.headers = headers
    until(lambda: encryption_of(served) == "complete")
    with served.client() as client:
        assert client.get(f"/v2/jobs/{done_id}").json() == before
    everything = b"".join(path.read_bytes() for path in old_folder.rglob("*") if path.is_file())
    assert all(recording[2000:2040] not in everything for recording in recordings)
    assert phrase not in everything
    assert all(is_encrypted_file(path) for path in (old_folder / "objects" / "audio").iterdir())
    assert served.stop(60) == 0


def test_an_interrupted_encryption_continues_at_the_next_start(serve, tmp_path, key_file):
    plain = serve(workers=0)
    plain.make_account(10**6)
    for _ in range(40):
        submit(plain, path="/v2/signs/stress/analyze")
    audio = plain.data_dir / "objects" / "audio"
    assert plain.stop(60) == 0

    def encrypted():
        return sum(is_encrypted_file(path) for path in audio.iterdir())

    first = Served(tmp_path / "service", workers=0, key_file=str(key_file))
    first.launch()
    until(encrypted)
    first.kill()
    left = 40 - encrypted()
    again = serve(workers=0, key_file=str(key_file))
    again.headers = plain.headers
    until(lambda: encryption_of(again) == "complete")
    assert (encrypted(), left >= 0) == (40, True)
    settings = load_settings(again.data_dir, key_file=key_file)
    with closing(open_database(settings)) as database:
        keys = open_data_keys(database, find_keys(settings), utc_now)
        files = RecordingFiles(audio, keys)
        for path in audio.iterdir():
            with files.at(path).open("rb") as file:
                assert file.read() == SPEECH.read_bytes()


def run(*arguments, text=None, environment=None):
    return CliRunner().invoke(vbdesk, list(map(str, arguments)), input=text, env=environment)


def test_the_operator_rotates_inspects_and_restores(serve, key_file, tmp_path):
    served = serve(workers=1, key_file=str(key_file))
    served.make_account(10_000)
    job_id = submit(served)
    before = result_of(served, job_id)
    environment = {"VBDESK_KEY_FILE": str(key_file)}
    folder = ("--data-dir", served.data_dir)
    old = key_file.read_text()
    rotated = operate(served.data_dir, "secrets", "rotate", environment=environment)
    assert len(key_file.read_text().splitlines()) == 2
    second = submit(served)  # by a process that has only the old key
    result_of(served, second)
    assert served.stop(60) == 0
    pruned = run("admin", "secrets", "prune", *folder, "--now", "--json", environment=environment)
    status = operate(served.data_dir, "encryption", "status")
    assert status["keys"] == [rotated["encryption_key"]]
    assert (status["encrypted"], status["plain_texts"]) == (True, 0)
    assert pruned.exit_code == 0, pruned.output
    assert old.strip() not in key_file.read_text()
    again = serve(workers=1, key_file=str(key_file))
    again.headers = served.headers
    assert result_of(again, job_id) == before
    assert result_of(again, second)["status"] == "done"
    assert again.stop(60) == 0
    checked = run("doctor", "--service", *folder, "--key-stdin", text=key_file.read_text())
    assert "Recordings and results are encrypted, and the key opens them." in checked.output.replace("\n      ", " ")
    wrong = run("doctor", "--service", *folder, "--key-stdin", text=key_lines(new_key()))
    assert (wrong.exit_code, "does not fit" in wrong.output) == (1, True)
    refused = run("admin", "secrets", "rotate", *folder)
    assert (refused.exit_code != 0, "no key was given" in refused.output) == (True, True)

    copies = tmp_path / "copies"
    operate(served.data_dir, "audio", "save", "--to", str(copies))
    for path in (served.data_dir / "objects" / "audio").iterdir():
        path.unlink()
    [copied, *_] = sorted((copies / "audio").iterdir())
    copied.write_bytes(SPEECH.read_bytes())  # a copy from an earlier release
    no_key = run("admin", "audio", "restore", *folder, "--from", copies)
    assert (no_key.exit_code != 0, "no key was given" in no_key.output) == (True, True)
    operate(served.data_dir, "audio", "restore", "--from", str(copies), environment=environment)
    restored = list((served.data_dir / "objects" / "audio").iterdir())
    assert len(restored) == 2
    assert all(is_encrypted_file(path) for path in restored)


def test_a_plain_object_copied_into_the_store_resets_the_complete_state(serve, key_file):
    served = serve(workers=0, key_file=str(key_file))
    served.make_account(100)
    until(lambda: encryption_of(served) == "complete")
    assert served.stop(60) == 0
    operate(served.data_dir, "database", "adopt-store", environment={"VBDESK_KEY_FILE": str(key_file)})
    with closing(open_database(load_settings(served.data_dir))) as database, database.reading() as connection:
        assert connection.execute(sa.select(encryption_state.c.completed_at)).scalar_one() is None


def test_a_plain_recording_copied_into_the_store_is_detected_and_encrypted(serve, key_file):
    served = serve(key_file=str(key_file))
    served.make_account(10_000)
    job_id = submit(served)
    result_of(served, job_id)
    until(lambda: encryption_of(served) == "complete")
    assert served.stop(60) == 0
    [stored] = (served.data_dir / "objects" / "audio").iterdir()
    stored.write_bytes(SPEECH.read_bytes())
    folder = ("--data-dir", served.data_dir)
    checked = run("doctor", "--service", *folder, "--key-stdin", text=key_file.read_text())
    assert "1 recording in the store is not encrypted" in checked.output.replace("\n      ", " ")
    assert operate(served.data_dir, "encryption", "status")["plain_recordings"] == 1
    again = serve(key_file=str(key_file))
    again.headers = served.headers
    until(lambda: encryption_of(again) == "complete")
    assert is_encrypted_file(stored)
    assert found_in(again.data_dir, planted(), []) == set()


def test_half_received_plain_files_of_a_killed_process_are_removed(serve, key_file):
    plain = serve(workers=0)
    plain.make_account(10_000)
    incoming = plain.data_dir / "objects" / ".incoming"
    with closing(upload_half(plain)):
        until(lambda: any(path.stat().st_size > 10_000 for path in incoming.iterdir()))
        plain.kill()
    assert found_in(plain.data_dir, planted(), []) == {"pcm"}
    served = serve(workers=0, key_file=str(key_file))
    served.headers = plain.headers
    until(lambda: encryption_of(served) == "complete")
    assert found_in(served.data_dir, planted(), []) == set()


def test_an_unreachable_vault_does_not_prevent_suspending_an_account(serve, key_file):
    served = serve(key_file=str(key_file))
    served.make_account(10_000)
    result_of(served, submit(served))
    account = ("--account", served.headers["X-Account-ID"])
    for setting, value in (("KEY_FILE", "/nowhere/key"), ("KEY_COMMAND", '["/nowhere/vault"]')):
        away = {f"VBDESK_{setting}": value}
        assert operate(served.data_dir, "account", "suspend", *account, environment=away)
        assert operate(served.data_dir, "account", "resume", *account, environment=away)
        rotated = run("admin", "secrets", "rotate", "--data-dir", served.data_dir, environment=away)
        assert (rotated.exit_code != 0, "Traceback" in rotated.output, "/nowhere" in rotated.output) == (
            True,
            False,
            True,
        )


def test_a_key_is_not_created_in_the_data_folder_of_a_service(serve):
    served = serve(workers=0)
    refused = run("admin", "encryption", "create-key", "--file", served.data_dir / "key")
    assert (refused.exit_code != 0, "Keep the key apart" in refused.output) == (True, True)
    assert not (served.data_dir / "key").exists()
