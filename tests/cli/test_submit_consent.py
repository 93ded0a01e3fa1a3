"""Consent in `vbdesk submit`: the profile's policy, what the desk has noted, and what is stated."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from vbdesk.cli.connection import ConnectedAccount
from vbdesk.cli.submit_consent import StatedConsent, SubmitConsent, submit_consent
from vbdesk.outbox.imports.import_row import ImportRow
from vbdesk.outbox.library.consent import ConsentKind, ConsentPolicy
from vbdesk.outbox.library.consent_gate import ConsentList
from vbdesk.outbox.library.items import RecordingTarget
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.library.settings import ConsentRules
from vbdesk.outbox.profiles.profiles import Profile, library_folder
from vbdesk.outbox.profiles.vault import MemoryVault

PROFILE = Profile("p1", "Ward 4", "service", "https://voice.example", "acc-1")
TARGET = RecordingTarget("model", "pulse")


@pytest.fixture
def vault():
    return MemoryVault()


@pytest.fixture
def library(tmp_path, vault):
    """The profile's library, open as in the desk."""
    with closing(LockedLibrary(PROFILE, library_folder(tmp_path, "p1"), vault)) as opened:
        opened.change_settings(consent=ConsentRules(policy=ConsentPolicy.REQUIRED))
        yield opened


@pytest.fixture
def consents(tmp_path, vault):
    def read(stated=None, profile=PROFILE):
        account = ConnectedAccount(None, "", "acc-1", profile and profile.name, "", profile, vault)
        return submit_consent(account, tmp_path, stated)

    return read


def faults(consents, **more):
    (row,) = consents.checked([ImportRow(1, Path("a.wav"), "ward4-1", None, TARGET, **more)])
    return row.error


def test_required_nothing_goes_without_a_consent_and_the_row_says_what_to_do(library, consents):
    assert "--consent or in the column consent" in faults(consents())
    assert faults(consents(StatedConsent.RESEARCH)) is None
    assert faults(consents(), consent=" Both ") is None
    assert "not known" in faults(consents(), consent="yes")


def test_a_command_that_lacks_a_consent_ends_as_one_that_waits_for_a_person(vbdesk, speech_file, monkeypatch):
    required = SubmitConsent(ConsentList(ConsentRules(policy=ConsentPolicy.REQUIRED)), None)
    monkeypatch.setattr("vbdesk.cli.submit.submit_consent", lambda *_: required)
    held = vbdesk("submit", str(speech_file), "--group", "ward4-1", "--sign", "stress")
    assert (held.exit_code, "No consent of this subject is noted" in held.stdout) == (4, True)
    monkeypatch.setattr("vbdesk.cli.submit.submit_consent", lambda *_: replace(required, stated=StatedConsent.BOTH))
    assert vbdesk("submit", str(speech_file), "--group", "ward4-1", "--sign", "stress").exit_code == 0


def test_what_the_desk_has_noted_counts_while_it_is_open(library, consents):
    library.consents.give("ward4-1", ConsentKind.CLINICAL)
    assert faults(consents()) is None
    assert consents().text("ward4-1", "research") == "clinical"


def test_a_statement_does_not_overrule_a_withdrawal(library, consents):
    library.withdraw_consent("ward4-1")
    assert "withdrawn" in faults(consents(StatedConsent.BOTH))
    library.change_settings(consent=ConsentRules())
    assert faults(consents(StatedConsent.BOTH)) is None
    assert consents(StatedConsent.BOTH).text("ward4-1", None) == "withdrawn"


def test_an_account_of_the_environment_is_reminded_and_off_says_nothing(library, consents):
    assert faults(consents(profile=None)) is None
    assert consents(profile=None).text("ward4-1", None) == "none"
    library.change_settings(consent=ConsentRules(policy=ConsentPolicy.OFF))
    assert consents().text("ward4-1", None) == ""


def test_without_the_key_of_the_recordings_a_consent_must_be_stated(library, consents, vault):
    vault.delete(PROFILE.library_key_name)
    assert "requires it" in faults(consents())
    assert faults(consents(StatedConsent.CLINICAL)) is None


def test_another_key_ends_the_command_with_a_sentence(library, consents, vault, capsys):
    vault.set(PROFILE.library_key_name, "A" * 43 + "=")
    with pytest.raises(typer.Exit):
        consents()
    assert "cannot be read" in capsys.readouterr().err


def test_each_line_says_that_no_consent_is_noted(vbdesk, near_service, tmp_path, speech_file):
    table = tmp_path / "list.csv"
    lines = [f"{speech_file},submit-c,2026-03-01T08:00:00Z,research"]
    table.write_text("path,group_id,recorded_at,consent\n" + "\n".join(lines))
    command = ["submit", "--csv", table, "--sign", "stress", "--journal", tmp_path / "journal.jsonl"]
    assert "No consent" not in vbdesk(*command).stdout
    (entry,) = json.loads(vbdesk(*command, "--json").stdout)
    assert entry["consent"] == "research"
    table.write_text(table.read_text().replace("research", ""))
    assert vbdesk(*command).stdout.endswith(" No consent noted.\n")
