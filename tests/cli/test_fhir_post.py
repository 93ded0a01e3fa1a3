"""`vbdesk export --post` and `vbdesk fhir`: a real server of this computer, the keyring of the session."""

import copy
import json
import logging
import sys
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

sys.path += [str(Path(__file__).parents[1] / name) for name in ("client", "report")]

import typer
from fhir_double import FHIR, FhirDouble, outcome, serving
from report_cases import AS_OF, golden
from typer.testing import CliRunner

from vbdesk.cli.export_post import post_subjects
from vbdesk.cli.fhir_login import LOGIN_NAME, login_vault
from vbdesk.cli.main import app
from vbdesk.client import AudioSource, Target
from vbdesk.clock import utc_now
from vbdesk.outbox.profiles import vault as vault_module
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, secret_names
from vbdesk.outbox.profiles.vault import MemoryVault, VaultLocked, VaultMissing
from vbdesk.report.documents.report_input import ReportOptions

TWO = golden()["two"]
SECRET = "s3cret-pass-word"
OTHER = "https://fhir.example.org/r4"


@pytest.fixture
def subject(near_service, speech_file):
    """A subject with one recording."""
    audio = AudioSource.from_path(speech_file)
    moment = utc_now().replace(microsecond=0) - timedelta(days=7)
    with near_service.client() as client:
        client.analyze(Target("sign", "stress"), audio, group_id="subj:7", recorded_at=moment, longitudinal=True)


@pytest.fixture
def keyring(monkeypatch):
    """The keyring of the system, empty; the account is one of the environment."""
    vault = MemoryVault()
    monkeypatch.setattr(vault_module, "KeyringVault", lambda: vault)
    for name in ("BASE_URL", "ACCOUNT_ID", "API_KEY"):
        monkeypatch.setenv(f"VBDESK_{name}", "http://127.0.0.1:9")
    return vault


@pytest.fixture
def server(keyring):
    with serving(FhirDouble()) as double:
        yield double


@pytest.fixture
def run(keyring):
    """Run a command; standard input has a secret."""
    return lambda *arguments, secret=SECRET: CliRunner().invoke(app, arguments, input=f"{secret}\n")


@pytest.fixture
def login(run):
    return lambda *arguments, **secret: run("fhir", "login", *arguments, **secret)


@dataclass
class Sent:
    """What sending printed, its exit status, and what was noted."""

    exit_code: int
    stdout: str
    stderr: str
    noted: list[int]

    @property
    def output(self):
        return self.stdout + self.stderr


@pytest.fixture
def send(server, capsys):
    """Send subjects to the server, as `vbdesk export --post` does once they are read."""

    def send(*records):
        noted, code = [], 0
        try:
            options = ReportOptions(exported_at=AS_OF)
            post_subjects(server.base, records or [TWO], options, None, None, note=noted.append)
        except typer.Exit as ended:
            code = ended.exit_code
        return Sent(code, *capsys.readouterr(), noted)

    return send


def test_a_subject_is_sent_and_a_repeat_changes_nothing(vbdesk, server, near_service, subject, tmp_path, monkeypatch):
    def post(*more):
        return vbdesk("export", "--group", "subj:7", "--format", "fhir", "--post", server.base, *more)

    for name, value in near_service.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    before = len(near_service.requests)
    first = post("--sign-off", "Dr. A")
    assert first.exit_code == 0, first.stderr
    stored = copy.deepcopy(server.resources)
    assert len(server.of_kind("DiagnosticReport")) == 1
    assert first.stdout == f"subj:7: {len(stored)} resources created, 0 were there already\n"
    again = post("--sign-off", "Dr. A")
    assert again.stdout == f"subj:7: 0 resources created, {len(stored)} were there already\n"
    assert server.resources == stored
    assert all("fhir" not in request for request in near_service.requests[before:]), "not through the proxy"
    assert not list(tmp_path.iterdir()), "no file is written"


@pytest.mark.parametrize(
    ("arguments", "header"),
    [(("--user", "ward"), "Basic d2FyZDpzM2NyZXQtcGFzcy13b3Jk"), (("--token",), f"Bearer {SECRET}")],
)
def test_the_login_comes_from_the_keyring_and_shows_nowhere(run, send, server, login, arguments, header, caplog):
    server.wants = header
    refused = send()
    assert refused.exit_code == 4
    assert "vbdesk fhir login" in refused.stderr
    stored = login(server.base, *arguments)
    assert stored.exit_code == 0, stored.stderr
    caplog.set_level(logging.DEBUG)
    done = send()
    assert done.exit_code == 0, done.stderr
    server.instead = [httpx.Response(422, json=outcome(f"You sent {header}"), headers=FHIR)]
    failed = send()
    assert failed.exit_code == 1
    assert "You sent" in failed.stderr
    shown = run("fhir", "show", "--json")
    assert json.loads(shown.stdout)["address"] == server.base
    for text in (stored.output, done.output, failed.output, shown.output, caplog.text):
        assert SECRET not in text
        assert header.split()[1] not in text


def test_a_backend_service_signs_with_a_key_of_the_keyring(run, send, server, login, keyring):
    made = login(server.base, "--client-id", "vbdesk-1")
    assert made.exit_code == 0, made.stderr
    [server.jwk] = json.loads(made.stdout)["keys"]
    assert "d" not in server.jwk, "the private part"
    server.configuration = {"token_endpoint": f"{server.base}/token"}
    done = send()
    assert done.exit_code == 0, done.stderr
    assert server.claims["iss"] == "vbdesk-1"
    assert server.tokens[-1] not in keyring.get(LOGIN_NAME)
    again = login(server.base, "--client-id", "vbdesk-2")
    assert json.loads(again.stdout) == json.loads(made.stdout), "the registered key stays"
    assert json.loads(run("fhir", "show", "--json").stdout)["public_keys"] == json.loads(made.stdout)
    assert json.loads(login(OTHER, "--client-id", "c").stdout) != json.loads(made.stdout), "each server has its own"


def test_a_key_file_and_its_id_are_taken(login, tmp_path):
    file = tmp_path / "key.pem"
    key = ec.generate_private_key(ec.SECP384R1())
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))
    done = login(OTHER, "--client-id", "c", "--key", str(file), "--key-id", "2026-11")
    assert json.loads(done.stdout)["keys"][0]["kid"] == "2026-11"
    assert json.loads(login(OTHER, "--client-id", "d").stdout) == json.loads(done.stdout)
    file.write_text("no key")
    refused = login(OTHER, "--client-id", "c", "--key", str(file))
    assert refused.exit_code == 2
    assert "The key is not usable" in refused.stderr
    assert "cannot be read" in login(OTHER, "--client-id", "c", "--key", str(tmp_path / "none")).stderr


def test_a_login_goes_to_its_own_server_only(send, server, login):
    login(OTHER, "--token")
    done = send()
    assert done.exit_code == 0
    assert f"The stored login is for {OTHER}, so it is not sent to {server.base}." in done.stderr
    assert all("Authorization" not in request.headers for request in server.requests)


def test_a_login_is_deleted(run, login, keyring):
    login(OTHER, "--token")
    assert SECRET in keyring.get(LOGIN_NAME)
    assert run("fhir", "logout").exit_code == 0
    assert keyring.get(LOGIN_NAME) is None
    assert "No login" in run("fhir", "show").stderr
    assert run("fhir", "logout").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((OTHER,), "Give one of"),
        ((OTHER, "--token", "--user", "a"), "Give one of"),
        ((OTHER, "--token", "--scope", "x"), "go with --client-id"),
        (("http://fhir.example.org", "--token"), "plain http"),
        ((OTHER, "--user", "a:b"), "not usable"),
        ((OTHER, "--client-id", "c", "--token-url", "http://login.example.org"), "plain http"),
    ],
)
def test_a_wrong_login_is_refused_and_nothing_is_stored(login, keyring, arguments, sentence):
    refused = login(*arguments)
    assert refused.exit_code == 2
    assert sentence in refused.stderr
    assert SECRET not in refused.output
    assert keyring.get(LOGIN_NAME) is None


@pytest.mark.parametrize("secret", ["", "with a space and \x07"])
def test_a_secret_that_no_header_holds_is_refused(login, secret):
    refused = login(OTHER, "--token", secret=secret)
    assert refused.exit_code == 2
    assert "with a space" not in refused.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--format", "csv", "--post", OTHER), "--post goes with --format fhir"),
        (("--format", "fhir", "--post", OTHER, "--out", "x"), "--post goes with --format fhir"),
        (("--format", "fhir", "--post", "http://fhir.example.org"), "plain http"),
        (("--format", "fhir", "--post", f"https://ward:{SECRET}@fhir.example.org"), "more than a host and a path"),
    ],
)
def test_a_wrong_address_is_refused_before_anything_is_asked(run, arguments, sentence):
    refused = run("export", "--group", "subj:7", *arguments)
    assert refused.exit_code == 2
    assert sentence in refused.stderr
    assert SECRET not in refused.output


@pytest.mark.parametrize(("status", "code"), [(503, 3), (409, 3), (403, 4), (412, 1), (302, 1)])
def test_the_exit_status_says_whether_a_repeat_helps(send, server, status, code):
    server.instead = [httpx.Response(status, headers={"Location": OTHER})]
    done = send()
    assert done.exit_code == code
    assert done.stderr.count("\n") == 1
    assert server.resources == {}


def test_a_keyring_that_is_locked_stops_the_sending_and_none_at_all_does_not(send, server, keyring, monkeypatch):
    def locked(name):
        raise VaultLocked("The keyring is locked.")

    monkeypatch.setattr(keyring, "get", locked)
    assert send().exit_code == 4
    assert server.requests == []

    def missing(name):
        raise VaultMissing("none")

    monkeypatch.setattr(keyring, "get", missing)
    assert send().exit_code == 0


def test_a_damaged_login_is_said(send, server, keyring):
    keyring.set(LOGIN_NAME, f'{{"password": "{SECRET}"}}')
    done = send()
    assert done.exit_code == 4
    assert "Store them again" in done.stderr
    assert SECRET not in done.output


def test_what_was_sent_in_part_is_noted_too(send, server):
    answers, answer = iter([None, httpx.Response(503)]), server.answer
    server.answer = lambda request: next(answers) or answer(request)
    done = send(TWO, golden()["first recording"])
    assert (done.exit_code, done.noted) == (3, [2])
    assert len(server.of_kind("DiagnosticReport")) == 2
    assert send(replace(TWO, recordings=())).noted == []


def test_the_login_of_a_profile_moves_and_goes_with_it(tmp_path, monkeypatch):
    for name in ("VBDESK_BASE_URL", "VBDESK_ACCOUNT_ID", "VBDESK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    profile = Profile("p-1", "St. Anne", "service", "https://voice.example", "acc-1")
    store, vault = ProfileStore(tmp_path), MemoryVault()
    store.save(profile)
    assert login_vault(None, tmp_path)[1] == profile.fhir_login_name
    assert profile.fhir_login_name in secret_names("p-1")
    vault.set(profile.fhir_login_name, SECRET)
    store.remove("p-1", vault)
    assert vault.get(profile.fhir_login_name) is None
