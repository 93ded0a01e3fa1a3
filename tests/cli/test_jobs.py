"""`vbdesk jobs` and its connection to a service, run as a person runs them."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from patience import HANGS_S
from vbdesk.cli.connection import open_client
from vbdesk.client import AudioSource, CaptivePortal, ConnectionFailed, FailureCause, Target
from vbdesk.client.errors import InsufficientCredits, NotFound, RateLimited
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore
from vbdesk.outbox.profiles.vault import MemoryVault, VaultLocked

sys.path.append(str(Path(__file__).parents[1] / "outbox"))

from service_in_process import API


@pytest.fixture
def job(near_service, speech_file):
    """One job that is done."""
    with near_service.client() as client:
        made = client.analyze(Target("sign", "stress"), AudioSource.from_path(speech_file), group_id="subj-7")
        return client.jobs.get(made.job_id)


def test_a_job_is_listed_shown_and_awaited(vbdesk, job):
    listed = vbdesk("jobs", "list", "--json")
    assert listed.exit_code == 0, listed.stderr
    assert job.job_id in {item["job_id"] for item in json.loads(listed.stdout)}
    shown = json.loads(vbdesk("jobs", "show", job.job_id, "--json").stdout)
    assert shown == job.model_dump(mode="json")
    text = vbdesk("jobs", "show", job.job_id).stdout
    assert "Stress" in text
    assert "not a diagnosis" in text
    waited = vbdesk("jobs", "wait", job.job_id)
    assert waited.stdout == f"{job.job_id}  stress  Done  {job.result.signal.level.capitalize()}\n"


def test_the_key_stands_in_no_output_whatever_goes_wrong(vbdesk, near_service):
    key = "vbk_wrong-and-not-to-be-shown"
    for arguments in (["jobs", "list"], ["jobs", "list", "--json"], ["groups", "list"], ["jobs", "show", "x"]):
        done = vbdesk(*arguments, VBDESK_API_KEY=key)
        assert done.exit_code == 4
        assert done.stderr == "The service does not accept the account id or the API key. Enter them again.\n"
        assert done.stdout == ""


def test_an_unknown_job_ends_with_one_sentence(vbdesk):
    done = vbdesk("jobs", "show", "0198c0de-0000-7000-8000-000000000001")
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ConnectionFailed(FailureCause.NAME, maybe_delivered=False), 3),
        (CaptivePortal(), 3),
        (RateLimited(), 3),
        (TimeoutError("It has not ended within 5 seconds."), 3),
        (InsufficientCredits(), 4),
        (NotFound(), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_a_command_ends_as_the_error_asks_for(capsys, error, status):
    environ = {"VBDESK_BASE_URL": "https://service.test", "VBDESK_ACCOUNT_ID": "a", "VBDESK_API_KEY": "k"}
    with pytest.raises(typer.Exit) as ended, open_client(None, environ=environ):
        raise error
    assert ended.value.exit_code == status
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"VBDESK_API_KEY": ""}, "Set also: VBDESK_API_KEY."),
        ({"VBDESK_BASE_URL": "", "VBDESK_ACCOUNT_ID": ""}, "Set also: VBDESK_BASE_URL, VBDESK_ACCOUNT_ID."),
        ({"VBDESK_BASE_URL": "service.test"}, "with http:// or https:// in front"),
        ({"VBDESK_PLAN": "gold"}, "VBDESK_PLAN is one of: standard, enterprise"),
    ],
)
def test_an_incomplete_environment_is_said(capsys, environment, sentence):
    full = {"VBDESK_BASE_URL": "https://service.test", "VBDESK_ACCOUNT_ID": "a", "VBDESK_API_KEY": "vbk_hidden"}
    with pytest.raises(typer.Exit) as ended, open_client(None, environ=full | environment):
        pass
    assert ended.value.exit_code == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert "hidden" not in said


def test_without_environment_and_profile_it_is_said_what_to_do(tmp_path, capsys):
    with pytest.raises(typer.Exit) as ended, open_client(None, tmp_path, environ={}):
        pass
    assert ended.value.exit_code == 2
    assert "Or set VBDESK_BASE_URL" in capsys.readouterr().err


@pytest.fixture
def profile(tmp_path, near_service):
    made = Profile("p-1", "Ward 4", "service", API, near_service.credentials.account_id)
    ProfileStore(tmp_path).save(made)
    return made


@pytest.mark.parametrize("wanted", ["Ward 4", "p-1", None])
def test_a_profile_speaks_with_the_key_of_its_keyring(tmp_path, near_service, profile, wanted):
    vault = MemoryVault()
    vault.set(profile.api_key_name, near_service.credentials.api_key)
    with open_client(wanted, tmp_path, environ={}, vault=vault) as connection:
        assert connection.client.account.credits() > 0
        assert (connection.account_id, connection.name) == (near_service.credentials.account_id, "Ward 4")


def test_a_profile_without_its_key_needs_a_person(tmp_path, profile, capsys):
    with pytest.raises(typer.Exit) as ended, open_client("Ward 4", tmp_path, environ={}, vault=MemoryVault()):
        pass
    assert ended.value.exit_code == 4
    assert "Enter it in the desk" in capsys.readouterr().err


def test_a_locked_keyring_is_said_and_not_bypassed(tmp_path, near_service, profile, capsys):
    class Locked(MemoryVault):
        def get(self, name):
            raise VaultLocked("The keyring is locked. Nothing was changed; unlock it and try again.")

    key = {"VBDESK_API_KEY": near_service.credentials.api_key}
    with pytest.raises(typer.Exit) as ended, open_client("Ward 4", tmp_path, environ=key, vault=Locked()):
        pass
    assert ended.value.exit_code == 4
    assert capsys.readouterr().err == "The keyring is locked. Nothing was changed; unlock it and try again.\n"


def test_ctrl_c_ends_a_wait_in_order(near_service):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and does not answer
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        surroundings = {**os.environ, **near_service.environment, "VBDESK_BASE_URL": address}
        waiting = subprocess.Popen(
            [sys.executable, "-m", "vbdesk", "jobs", "wait", "x"],
            env=surroundings,
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        silent.settimeout(HANGS_S)
        silent.accept()[0].close()  # the first attempt; it retries
        waiting.send_signal(signal.SIGINT)
        out, err = waiting.communicate(timeout=HANGS_S)
    assert (waiting.returncode, out, err) == (130, "", "Stopped. What was done is kept.\n")


@pytest.mark.parametrize("command", ["jobs list", "groups longitudinal", "submit", "sync"])
def test_help_comes_without_the_heavy_libraries(command):
    program = (
        "import sys\nfrom vbdesk.cli.main import app\n"
        f"app({[*command.split(), '--help']}, standalone_mode=False)\n"
        "heavy = {'numpy', 'scipy', 'PySide6', 'sqlalchemy', 'fastapi', 'httpx', 'keyring'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "--profile" in done.stdout
    assert done.stderr == "[]\n"
