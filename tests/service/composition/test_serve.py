"""The life of `vbdesk serve`, as a process of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import typer
from typer.testing import CliRunner

from free_ports import free_port
from patience import HANGS_S, until
from vbdesk.cli.serve import serve
from vbdesk.service.composition.process import StartRefused
from vbdesk.service.composition.serve import serve as serve_here
from vbdesk.service.kernel.settings import load_settings

if sys.platform == "win32":
    pytest.skip("ends processes by POSIX signals", allow_module_level=True)


class Reached(Exception):
    """The ports were had."""


def stop_here(*_arguments):
    raise Reached


@dataclass
class Served:
    process: subprocess.Popen[bytes]
    base_url: str
    storage_url: str
    data_dir: Path
    ready_file: Path

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.base_url + path, trust_env=False, timeout=HANGS_S)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    processes: list[subprocess.Popen[bytes]] = []

    def start(*options: str) -> Served:
        data_dir, ready_file = tmp_path / "service", tmp_path / "ready.json"
        command = [sys.executable, "-m", "vbdesk", "serve", "--data-dir", str(data_dir), "--port", "0"]
        command += ["--storage-port", "0", "--workers", "0", "--ready-file", str(ready_file), *options]
        with (tmp_path / "serve.log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        processes.append(process)
        until(lambda: ready_file.exists() or process.poll() is not None, "the service to start")
        assert process.poll() is None, (tmp_path / "serve.log").read_text()
        ready = json.loads(ready_file.read_text())
        assert ready["pid"] == process.pid
        return Served(process, ready["base_url"], ready["storage_url"], data_dir, ready_file)

    yield start
    for process in processes:
        process.kill()
        process.wait()


def run_here(*options: str | Path):
    app = typer.Typer()
    app.command()(serve)
    return CliRunner().invoke(app, [str(option) for option in options])


def test_it_answers_when_the_ready_file_is_there_and_ends_cleanly_even_in_the_middle_of_a_request(start, tmp_path):
    served = start()
    assert served.get("/readyz").json() == {"status": "ok", "encryption": "off"}
    assert httpx.put(served.storage_url + "/x", trust_env=False, timeout=HANGS_S).status_code == 403
    refused = run_here("--data-dir", served.data_dir, "--port", 0, "--storage-port", 0)
    assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1)
    assert "Another vbdesk serve" in refused.stderr
    host, port = served.base_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=HANGS_S) as connection:
        connection.sendall(b"POST /v2/groups HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(HANGS_S) == 0
    assert not served.ready_file.exists()
    assert "Traceback" not in (tmp_path / "serve.log").read_text()


def test_a_killed_service_starts_again_and_clears_what_was_half_written(start):
    killed = start()
    half = killed.data_dir / "objects" / ".incoming" / "half"
    half.write_bytes(b"half a file")
    os.utime(half, (0, 0))  # a young one might belong to another process
    killed.process.kill()
    killed.process.wait()
    killed.ready_file.unlink()
    again = start()
    assert list((again.data_dir / "objects" / ".incoming").iterdir()) == []
    again.process.send_signal(signal.SIGINT)
    assert again.process.wait(HANGS_S) == 0


def test_it_ends_with_the_process_it_was_told_to_follow(start):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as parent:
        served = start("--parent-pid", str(parent.pid))
        parent.kill()
    assert served.process.wait(HANGS_S) == 0


def test_a_taken_port_is_told_in_one_line(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run_here("--data-dir", tmp_path, "--port", taken.getsockname()[1], "--storage-port", 0)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "Choose another port" in result.stderr


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"port": 0, "storage_port": 0}, None),
        ({}, "port and storage_port"),
        ({"host": "::1"}, "port and storage_port"),
        ({"storage_port": 0, "ops_port": 0}, "port and ops_port"),
        ({"port": 0, "ops_port": 0}, "storage_port and ops_port"),
        ({"storage_port": 0, "ops_port": 0, "host": "0.0.0.0"}, "port and ops_port"),
        ({"storage_port": 0, "ops_port": 0, "host": "127.0.0.2"}, None),
        ({"storage_url": "s3://bucket"}, None),
    ],
)
def test_one_port_for_two_purposes_is_refused_in_one_sentence(tmp_path, monkeypatch, given, named):
    """A port of 0 in `given` stays 0, all others are one port that is free."""
    port = free_port()
    ports = {"port": port, "storage_port": port, "ops_port": None}
    ports |= {name: value for name, value in given.items() if name in ports}
    if "ops_port" in given:
        ports["ops_port"] = port
    monkeypatch.setattr("vbdesk.service.composition.serve.opened", stop_here)
    settings = load_settings(tmp_path, **{**given, **ports})
    if named is None:
        with pytest.raises(Reached):
            serve_here(settings)
        return
    with pytest.raises(StartRefused) as refused:
        serve_here(settings)
    assert str(refused.value) == f"{named} are both {port}. Give each a port of its own, or 0 for a free one."


def test_the_command_says_so_too(tmp_path):
    result = run_here("--data-dir", tmp_path, "--port", 8093, "--storage-port", 8093)
    assert result.exit_code == 1
    assert result.stderr.strip().count("\n") == 0
    assert "port and storage_port are both 8093" in result.stderr


@pytest.mark.parametrize("option", [("--port", "70000"), ("--workers", "-1")])
def test_a_flag_that_does_not_fit_is_told_in_one_line(tmp_path, option):
    result = run_here("--data-dir", tmp_path, *option)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert option[0].removeprefix("--") in result.stderr


def test_a_folder_that_is_a_file_is_told_in_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    result = run_here("--data-dir", tmp_path / "file", "--port", 0, "--storage-port", 0)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)


def test_a_damaged_database_is_told_in_one_line(tmp_path):
    (tmp_path / "vbdesk.db").write_bytes(b"not a database" * 1000)
    result = run_here("--data-dir", tmp_path, "--port", 0, "--storage-port", 0)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "database" in result.stderr


def test_a_damaged_key_file_is_told_in_one_line(tmp_path):
    (tmp_path / "secrets").write_text("{}")
    result = run_here("--data-dir", tmp_path, "--port", 0, "--storage-port", 0)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "Restore it" in result.stderr
