"""What an organisation sets: read from each system's place, wrong entries are told, and the rest holds."""

import logging
import plistlib
import sys
from types import SimpleNamespace

import pytest

from vbdesk.desk.ports import DeskPorts
from vbdesk.outbox.diagnostics.diagnostics import diagnose
from vbdesk.outbox.library import managed_policy
from vbdesk.outbox.library.audit import AuditAction, AuditReader
from vbdesk.outbox.library.consent import ConsentKind, ConsentPolicy
from vbdesk.outbox.library.managed_policy import ManagedPolicy, read_policy
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.library.settings import ConsentRules, LibrarySettings, Retention, RetentionRule, SendRule
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import MemoryVault

PROFILE = Profile("p1", "Ward 4", "service", "https://voice.example", "acc-1")
EVERYTHING = """
service_url = "https://voice.example/"
profile_name = "St. Anne clinic"
language = "en"
consent_policy = "required"
app_lock_minutes = 5
retention_days = 30
update_notice = "off"
"""
ALL_SET = ManagedPolicy(
    service_url="https://voice.example",
    profile_name="St. Anne clinic",
    language="en",
    consent_policy=ConsentPolicy.REQUIRED,
    app_lock_minutes=5,
    retention=Retention(RetentionRule.AFTER_RESULT, 30),
    update_notice="off",
)


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="libraries read the policy of the system")


@pytest.fixture
def policy_file(tmp_path, monkeypatch):
    file = tmp_path / "policy.toml"
    monkeypatch.setattr(managed_policy, "LINUX_FILE", file)
    return file


def test_without_a_policy_the_user_chooses(policy_file):
    policy = read_policy("linux")
    assert (policy, policy.entries, policy.faults) == (ManagedPolicy(), [], ())
    assert policy.applied_to(LibrarySettings()) == LibrarySettings()


def test_a_file_sets_everything_on_linux(policy_file):
    policy_file.write_text(EVERYTHING)
    policy = read_policy("linux")
    assert (policy, policy.faults) == (ALL_SET, ())
    assert len(policy.entries) == 7


class Registry(SimpleNamespace):
    """As `winreg`: `values` of each hive."""

    KEY_READ, KEY_WOW64_64KEY = 1, 2
    HKEY_LOCAL_MACHINE, HKEY_CURRENT_USER = "machine", "user"

    def OpenKey(self, hive, path, reserved, access):
        assert (path, access) == (r"Software\Policies\vbdesk", 3)
        if hive not in self.values:
            raise FileNotFoundError(path)
        return Key(self.values[hive])

    def QueryInfoKey(self, key):
        return 0, len(key.values), 0

    def EnumValue(self, key, place):
        name = list(key.values)[place]
        return name, key.values[name], 1


class Key(SimpleNamespace):
    def __init__(self, values):
        super().__init__(values=values)

    def __enter__(self):
        return self

    def __exit__(self, *exit):
        pass


def test_the_registry_sets_it_on_windows_and_the_machine_wins(monkeypatch):
    machine = {"ServiceUrl": "https://voice.example", "RetentionDays": "30", "AppLockMinutes": 5}
    user = {
        "ServiceUrl": "https://other.example",
        "ProfileName": "St. Anne clinic",
        "Language": "en",
        "ConsentPolicy": "required",
        "UpdateNotice": "off",
    }
    monkeypatch.setitem(sys.modules, "winreg", Registry(values={"machine": machine, "user": user}))
    assert read_policy("win32") == ALL_SET
    monkeypatch.setitem(sys.modules, "winreg", Registry(values={}))
    assert read_policy("win32") == ManagedPolicy()


def test_managed_preferences_set_it_on_macos(tmp_path, monkeypatch):
    monkeypatch.setattr(managed_policy, "MAC_FOLDER", tmp_path)
    (tmp_path / "org.vbdesk.desk.plist").write_bytes(plistlib.dumps({"ConsentPolicy": "required"}))
    assert read_policy("darwin") == ManagedPolicy(consent_policy=ConsentPolicy.REQUIRED)


@pytest.mark.parametrize(
    "wrong",
    [
        'service_url = "voice.example"',
        'service_url = "ftp://voice.example"',
        'service_url = "https://user@voice.example"',
        "service_url = 5",
        'profile_name = ""',
        f'profile_name = "{"x" * 61}"',
        'profile_name = "a\\u202eb"',
        'language = "xx"',
        'consent_policy = "maybe"',
        "app_lock_minutes = 0",
        "app_lock_minutes = true",
        "app_lock_minutes = 1441",
        "retention_days = -1",
        "retention_days = 1.5",
        'retention_days = "soon"',
        'update_notice = "http://voice.example/new.json#AAAA"',
        "consent_polcy = 'required'",
    ],
)
def test_a_wrong_entry_is_told_and_the_others_hold(policy_file, caplog, wrong):
    entry, rest = wrong.split(" ")[0], [line for line in EVERYTHING.splitlines() if line]
    policy_file.write_text("\n".join([wrong, *(line for line in rest if not line.startswith(f"{entry} "))]))
    with caplog.at_level(logging.WARNING):
        policy = read_policy("linux")
    assert len(policy.entries) == (7 if entry == "consent_polcy" else 6)
    assert len(policy.faults) == 1
    assert entry.replace("_", "") in str(policy.faults[0]).replace("_", "").lower()
    assert "is ignored" in caplog.text


@pytest.mark.parametrize("content", [b"service_url = ", b"\xff\xfe", b"x"])
def test_a_file_that_is_none_is_told(policy_file, content):
    policy_file.write_bytes(content)
    policy = read_policy("linux")
    assert policy == ManagedPolicy()
    assert str(policy_file) in str(policy.faults[0])


@pytest.mark.parametrize("content", [b"", b"bplist00junk", b"<?xml version='1.0'?><plist><dict><key>", b"\x00" * 40])
def test_preferences_that_are_none_are_told(tmp_path, monkeypatch, content):
    monkeypatch.setattr(managed_policy, "MAC_FOLDER", tmp_path)
    (tmp_path / "org.vbdesk.desk.plist").write_bytes(content)
    policy = read_policy("darwin")
    assert (policy, len(policy.faults)) == (ManagedPolicy(), 1)


def test_the_sound_can_be_kept_for_ever(policy_file):
    policy_file.write_text('retention_days = "for_ever"')
    assert read_policy("linux").retention == Retention()


@on_linux
def test_a_library_has_what_is_set_and_nobody_changes_it(tmp_path, policy_file):
    vault = MemoryVault()
    opened = LockedLibrary(PROFILE, tmp_path / "library", vault)
    opened.change_settings(consent=ConsentRules(ConsentPolicy.OFF, ConsentKind.RESEARCH, 365, "Dr. Ada"))
    opened.close()
    policy_file.write_text('consent_policy = "required"\nretention_days = 7')

    opened = LockedLibrary(PROFILE, tmp_path / "library", vault)
    rules = ConsentRules(ConsentPolicy.REQUIRED, ConsentKind.RESEARCH, 365, "Dr. Ada")
    assert opened.settings().consent == rules
    assert opened.settings().retention == Retention(RetentionRule.AFTER_RESULT, 7)
    assert opened.consent_gate.refusal("s-1") is not None  # what sends asks here
    changed = opened.change_settings(
        consent=ConsentRules(ConsentPolicy.OFF, asked_by="Dr. Eve"), retention=Retention(), send_rule=SendRule.BY_HAND
    )
    assert changed.consent.policy is ConsentPolicy.REQUIRED
    assert (changed.consent.asked_by, changed.send_rule) == ("Dr. Eve", SendRule.BY_HAND)
    assert changed.retention == Retention(RetentionRule.AFTER_RESULT, 7)
    assert opened.settings() == changed
    opened.close()


@on_linux
def test_opening_again_notes_no_change_of_settings(tmp_path, policy_file):
    policy_file.write_text('consent_policy = "required"')
    vault, notes = MemoryVault(), []
    for _ in range(2):
        opened = LockedLibrary(PROFILE, tmp_path / "library", vault)
        log = AuditReader(tmp_path / "library", opened.store.key)
        notes.append(sum(entry.what == AuditAction.SETTINGS_CHANGED for entry in log.entries()))
        opened.close()
    assert notes[0] == notes[1] == 1


@on_linux
def test_the_doctor_tells_what_is_set_and_what_is_wrong(tmp_path, policy_file):
    policy_file.write_text('consent_policy = "required"\nservice_url = "nowhere"')
    silent = SimpleNamespace(devices=list)
    found = diagnose(DeskPorts(tmp_path, tmp_path, keyring=MemoryVault(), lister=silent))
    told = [(finding.health, str(finding.sentence)) for finding in found.findings if finding.topic == "policy"]
    assert told == [
        ("good", "Your organisation has set: ConsentPolicy."),
        ("mend", "The policy has a wrong value for ServiceUrl. It is ignored."),
    ]
    assert found.facts["policy"] == ["ConsentPolicy"]
    assert not found.ok
