"""The examples of docs/client.md, run from top to bottom on a service on this computer."""

import csv
import hashlib
import hmac
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from patience import HANGS_S
from vbdesk.client.errors import BadSignature
from vbdesk.client.local_service import LocalService, make_account

GUIDE = Path(__file__).parents[2] / "docs" / "client.md"
NAMES = ("ward4-0172_2026-03-01_09-30-12.flac", "ward4-0172_2026-03-08_09-31-40.flac")


@pytest.fixture
def surroundings(tmp_path, speech_file, monkeypatch):
    """What the guide assumes: a service, an account in the environment, and a folder of recordings."""
    recordings = tmp_path / "lab" / "recordings"
    recordings.mkdir(parents=True)
    for number, name in enumerate(NAMES):
        (recordings / name).write_bytes(speech_file.read_bytes() + bytes(number))
    (recordings / "list.csv").write_text(
        f"path,group_id,recorded_at\n{NAMES[0]},ward4-0173,2026-03-01T09:30:12+01:00\n"
    )
    service = LocalService(tmp_path / "service", workers=2)
    try:
        monkeypatch.setenv("VBDESK_BASE_URL", service.start().base_url)
        account = make_account(tmp_path / "service", "Guide")
        monkeypatch.setenv("VBDESK_ACCOUNT_ID", account.account_id)
        monkeypatch.setenv("VBDESK_API_KEY", account.api_key)
        monkeypatch.setenv("VBDESK_PLAN", "enterprise")
        monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.chdir(recordings.parent)
        yield recordings.parent
    finally:
        service.stop()


def examples():
    return re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_every_example_of_the_guide_runs(surroundings, capsys):
    names = {}
    printed = ""
    for language, example in examples():
        if language == "sh":
            done = subprocess.run(
                ["bash", "-e"], input=example, text=True, capture_output=True, timeout=HANGS_S, cwd=surroundings
            )
            assert done.returncode == 0, f"{example}\n{done.stdout}{done.stderr}"
            printed += done.stdout
        else:
            assert language == "python"
            exec(compile(example, str(GUIDE), "exec"), names)
    names["client"].close()
    assert printed.count(": sent, recorded") == 3
    out = capsys.readouterr().out
    assert "True 404" in out
    assert out.count("(before)") == 0
    with (surroundings / "results" / "signals.csv").open(newline="") as table:
        assert {row["sign"] for row in csv.DictReader(table)} == {
            "stress", "fatigue", "airway-obstruction-pattern", "allergy",
        }  # fmt: skip
    body = names["job"].model_dump_json().encode()
    names["received"](body, hmac.new(names["SECRET"].encode(), body, hashlib.sha256).hexdigest())
    with pytest.raises(BadSignature):
        names["received"](body, "0" * 64)


def test_the_guide_has_examples_of_both_kinds():
    assert {language for language, _ in examples()} == {"sh", "python"}
