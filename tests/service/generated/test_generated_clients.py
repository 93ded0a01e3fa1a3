"""Clients that are generated from the description submit, poll and read, in Python and in TypeScript."""

import json
import os
import shutil
import subprocess
import sys
from datetime import datetime, time, timedelta
from pathlib import Path

import pytest

from patience import HANGS_S
from vbdesk.clock import utc_now
from vbdesk.service.composition.app import described_app

sys.path.append(str(Path(__file__).parents[1] / "support"))

from served import Served

HERE = Path(__file__).parent
RECORDING = HERE.parents[1] / "data" / "speech_kathleen_20s.flac"
INSTALL = "`python3 packaging/bootstrap.py test` installs it."
ROOT = HERE.parents[2]
PYTHON_TOOLS = ROOT / ".venv" / "generators" / ("Scripts" if os.name == "nt" else "bin")
NODE_TOOLS = HERE / "node_modules" / ".bin"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    service = Served(tmp_path_factory.mktemp("served"))
    service.start()
    service.make_account(credits=10_000)
    yield service
    service.stop()


@pytest.fixture
def description(served, tmp_path):
    with served.client() as client:
        file = tmp_path / "openapi.json"
        file.write_bytes(client.get("/openapi.json").raise_for_status().content)
    return file


def run(*command, folder, **variables):
    environment = {**os.environ, **variables}
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, capture_output=True, text=True, timeout=HANGS_S
    )
    assert done.returncode == 0, f"{command[0]}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout + done.stderr if "generate" in command else done.stdout


def seen_by(served, recorded):
    headers = served.headers
    return {
        "BASE_URL": served.base_url,
        "ACCOUNT_ID": headers["X-Account-ID"],
        "API_KEY": headers["X-API-Key"],
        "RECORDING": str(RECORDING),
        "FIRST": recorded[0].isoformat() + "Z",
        "SECOND": (recorded[1] + timedelta(hours=1)).isoformat() + "+01:00",
    }


def recorded_at():
    """Two moments of last weeks, in UTC: older readings count no more."""
    first = datetime.combine(utc_now().date() - timedelta(days=14), time(8))
    return [first, first + timedelta(days=6, hours=23)]


def assert_worked(seen, group, recorded):
    size = RECORDING.stat().st_size
    assert seen["groups"] == [group, group]
    assert [datetime.fromisoformat(moment[:19]) for moment in seen["recorded"]] == recorded
    assert (seen["statuses"], seen["sizes"]) == (["done"] * 3, [size] * 3)
    assert (seen["done_jobs"], seen["data_points"]) == (2, 2)
    assert seen["refused"] == [
        [401, "UNAUTHORIZED", None],
        [404, "NOT_FOUND", None],
        [400, "INVALID_REQUEST", None],
        [422, "VALIDATION_ERROR", [["query", "page"]]],
    ]


def test_no_form_has_a_rule_that_generators_cannot_express():
    for path, methods in described_app().openapi()["paths"].items():
        for operation in methods.values():
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                if kind != "application/json":
                    assert not {"oneOf", "anyOf", "allOf"} & content["schema"].keys(), path


def test_a_python_client_is_generated_and_works(served, description, tmp_path):
    if not PYTHON_TOOLS.exists():
        pytest.skip(f"openapi-python-client is not installed. {INSTALL}")
    generator = PYTHON_TOOLS / "openapi-python-client"
    said = run(generator, "generate", "--path", description, "--meta", "none", "--output-path", tmp_path / "generated",
               folder=tmp_path, PATH=f"{PYTHON_TOOLS}{os.pathsep}{os.environ['PATH']}")  # fmt: skip
    assert "Warning" not in said  # what a generator cannot express it leaves out
    recorded = recorded_at()
    environment = seen_by(served, recorded) | {"PYTHONPATH": str(tmp_path)}
    seen = run(PYTHON_TOOLS / "python", HERE / "client.py", folder=tmp_path, **environment)
    assert_worked(json.loads(seen), "python", recorded)


def test_a_typescript_client_is_generated_type_checked_and_works(served, description, tmp_path):
    if not (shutil.which("node") and NODE_TOOLS.exists()):
        pytest.skip(f"Node.js or openapi-typescript is not installed. {INSTALL}")
    for name in ("client.ts", "tsconfig.json", "package.json"):
        shutil.copy(HERE / name, tmp_path)
    (tmp_path / "node_modules").symlink_to(HERE / "node_modules", target_is_directory=True)
    run(NODE_TOOLS / "openapi-typescript", description, "-o", "api.ts", folder=tmp_path)
    run(NODE_TOOLS / "tsc", "--noEmit", "false", folder=tmp_path)
    recorded = recorded_at()
    seen = run("node", "made/client.js", folder=tmp_path, **seen_by(served, recorded))
    assert_worked(json.loads(seen), "typescript", recorded)


def test_the_lock_of_the_node_packages_names_no_registry():
    packages = json.loads((HERE / "package-lock.json").read_text())["packages"]
    assert len(packages) > 20
    for name, package in packages.items():
        assert "resolved" not in package, name
        assert not name or package["integrity"].startswith("sha512-"), name
