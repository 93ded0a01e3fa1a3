"""The deployment files name settings that there are, and leave processes the time that they need to end."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.service.kernel.settings import Settings

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "packaging" / "deploy"
JOB_TIMEOUT_S = Settings.model_fields["job_timeout_s"].default


def text_of(name: str) -> str:
    return (DEPLOY / name).read_text("utf-8")


@pytest.mark.parametrize(
    "name", ["compose.yaml", "service.env", "operator.sh", "vbdesk-api@.service", "vbdesk-worker@.service"]
)
def test_every_setting_that_is_named_is_one(name):
    named = set(re.findall(r"\bVBDESK_([A-Z_]+)\b(?=[=:] ?)", text_of(name))) - {"IMAGE"}
    assert named
    assert {setting.lower() for setting in named} <= Settings.model_fields.keys()


@pytest.mark.parametrize("name", ["vbdesk-api@.service", "vbdesk-worker@.service"])
def test_the_file_of_passwords_is_one_that_libpq_takes_also_where_credentials_show_a_group(name):
    unit = text_of(name)
    [path] = re.findall(r"PGPASSFILE=%t/(\S+)/pgpass", unit)
    assert f"RuntimeDirectory={path}\n" in unit
    assert "ExecStartPre=/usr/bin/install -m 0600 %d/pgpass ${PGPASSFILE}\n" in unit


def test_prometheus_asks_the_ports_that_the_processes_have():
    [port] = re.findall(r'VBDESK_OPS_PORT: "(\d+)"', text_of("compose.yaml"))
    assert set(re.findall(r'"[a-z]+-\d:(\d+)"', text_of("observability/prometheus.yaml"))) == {port}


def test_workers_are_given_longer_than_their_jobs_may_take():
    [drain_s] = map(float, re.findall(r'VBDESK_DRAIN_S: "(\d+)"', text_of("compose.yaml")))
    worker = text_of("compose.yaml").partition("x-worker:")[2]
    [grace_s, *_] = map(float, re.findall(r"stop_grace_period: (\d+)s", worker))
    assert grace_s > drain_s >= JOB_TIMEOUT_S
    [stop_s] = map(float, re.findall(r"^TimeoutStopSec=(\d+)$", text_of("vbdesk-worker@.service"), re.MULTILINE))
    assert stop_s > JOB_TIMEOUT_S


def test_the_proxy_lets_the_largest_recording_through_and_writes_down_nothing():
    configuration = text_of("nginx.conf")
    [megabytes] = map(int, re.findall(r"client_max_body_size (\d+)m;", configuration))
    assert MAX_AUDIO_BYTES < megabytes * 1024**2 < 2 * MAX_AUDIO_BYTES
    assert "access_log off;" in configuration
    assert not re.search(r"^\s*(log_format|access_log (?!off))", configuration, re.MULTILINE)


def test_no_file_holds_a_password():
    for path in DEPLOY.iterdir():
        if path.is_file():
            assert not re.search(r"://[^/\s:@]+:[^/\s@]+@", path.read_text("utf-8")), path.name


def copied_into_the_image() -> list[tuple[str, str]]:
    """Source and target of each COPY from the checkout; a name that ends with "/" is a folder."""
    found = []
    for line in re.findall(r"^COPY (?!--from)(.+)$", text_of("Dockerfile"), re.MULTILINE):
        *sources, target = line.split()
        found += [(source, target) for source in sources]
    return found


def test_the_image_is_given_all_that_the_wheel_is_built_from(tmp_path):
    source, wheels = tmp_path / "source", tmp_path / "wheels"
    for name, target in copied_into_the_image():
        place = source / target / name.rpartition("/")[2] if target.endswith("/") else source / target
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__", "*.mo"))
        else:
            shutil.copyfile(ROOT / name, place)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", str(wheels)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, str(source)], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    names = zipfile.ZipFile(next(wheels.glob("vbdesk-*.whl"))).namelist()
    assert "vbdesk/resources/guide/README.md" in names
    assert "vbdesk/resources/translations/de.mo" in names


def test_the_files_of_the_image_are_not_ignored():
    kept = {line.removeprefix("!") for line in text_of("Dockerfile.dockerignore").splitlines() if line.startswith("!")}
    assert kept == {name for name, _ in copied_into_the_image()}
