"""What an organisation sets: read from each system's place, wrong entries are told, and the rest holds."""

import logging
import os
import plistlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from vbdesk.desk.ports import DeskPorts
from vbdesk.language import language_of, reading_in, translated
from vbdesk.outbox.diagnostics.diagnostics import diagnose
from vbdesk.outbox.library import managed_policy
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.audit_reader import AuditReader
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


ADDRESS = "Set an address such as https://voice.example."
NAME = "Set a name of 1 to 60 characters."
CONSENT = "Set one of these: required, reminded, off."
MINUTES = "Set a whole number from 1 to 1440."
DAYS = "Set a whole number from 0 to 3650, or for_ever."
NOTICE = "Set off, or an address that begins with https:// and ends with # and a key."


@pytest.mark.parametrize(
    ("wrong", "found", "allowed"),
    [
        ('service_url = "voice.example"', "'voice.example'", ADDRESS),
        ('service_url = "ftp://voice.example"', "'ftp://voice.example'", ADDRESS),
        ('service_url = "https://user@voice.example"', "'https://***@voice.example'", ADDRESS),
        ("service_url = 'https://voice.example:80a0'", "'https://voice.example:80a0'", ADDRESS),
        ("service_url = 'https://voice.example/a b'", "'https://voice.example/a b'", ADDRESS),
        ("service_url = 5", "5", ADDRESS),
        ('profile_name = ""', "''", NAME),
        (f'profile_name = "{"x" * 61}"', f"'{'x' * 27}...{'x' * 28}'", NAME),
        ('profile_name = "a\\u202eb"', r"'a\u202eb'", NAME),
        ('language = "xx"', "'xx'", "Set one of these: en, ar, de, es, fr, pt-BR."),
        ('consent_policy = "maybe"', "'maybe'", CONSENT),
        ("consent_policy = ['off']", "['off']", CONSENT),
        ("app_lock_minutes = 0", "0", MINUTES),
        ("app_lock_minutes = true", "true", MINUTES),
        ("app_lock_minutes = 1441", "1441", MINUTES),
        ('app_lock_minutes = "ten"', "'ten'", MINUTES),
        (f"app_lock_minutes = 0x{'f' * 5000}", "int", MINUTES),
        ("retention_days = -1", "-1", DAYS),
        ("retention_days = 1.5", "1.5", DAYS),
        ('retention_days = "soon"', "'soon'", DAYS),
        ('update_notice = "http://voice.example/new.json#AAAA"', "'http://voice.example/new.json#AAAA'", NOTICE),
    ],
)
def test_a_wrong_entry_is_told_with_its_place_and_what_is_allowed_and_the_others_hold(
    policy_file, wrong, found, allowed
):
    entry, rest = wrong.split(" ")[0], [line for line in EVERYTHING.splitlines() if line]
    policy_file.write_text("\n".join([wrong, *(line for line in rest if not line.startswith(f"{entry} "))]))
    policy = read_policy("linux")
    assert len(policy.entries) == 6
    assert policy.faults == (f"{policy_file} sets {entry} to {found}, which is ignored. {allowed}",)


@pytest.mark.parametrize("entry", ["service_url", "update_notice", "language", "retention_days"])
@pytest.mark.parametrize(
    "address",
    [
        "https://anna:s3cret@voice.example",
        "https://:s3cret@voice.example/api?x=1",
        "anna:s3cret@voice.example",
        "https://anna:s3cr@s3cret@voice.example",
        "https://anna:s3cr/et @voice.example",
    ],
)
def test_the_password_of_an_address_is_told_to_nobody(policy_file, entry, address):
    policy_file.write_text(f"{entry} = {address!r}\n", "utf-8")
    (fault,) = read_policy().faults
    assert "s3cr" not in translated(fault)
    assert "anna" not in translated(fault)
    assert "voice.example" in translated(fault)


def test_an_unknown_entry_is_told_and_the_others_hold(policy_file):
    policy_file.write_text(EVERYTHING + "consent_polcy = 'required'")
    policy = read_policy("linux")
    assert len(policy.entries) == 7
    assert policy.faults == (
        f"{policy_file} sets consent_polcy, which vbdesk does not know. Correct its name, or remove it.",
    )


def test_a_fault_names_the_key_of_the_registry(monkeypatch):
    monkeypatch.setitem(sys.modules, "winreg", Registry(values={"machine": {"AppLockMinutes": "ten"}}))
    assert read_policy("win32").faults == (
        rf"HKEY_LOCAL_MACHINE\Software\Policies\vbdesk sets AppLockMinutes to 'ten', which is ignored. {MINUTES}",
    )


def test_the_log_has_one_line_for_all_faults(policy_file, caplog):
    policy_file.write_text("app_lock_minutes = 0\nretention_days = -1")
    with caplog.at_level(logging.WARNING):
        read_policy("linux")
    assert len(caplog.records) == 1


def test_without_a_log_a_fault_prints_nothing(policy_file):
    policy_file.write_text("app_lock_minutes = 0")
    program = (
        "from pathlib import Path; from vbdesk.outbox.library import managed_policy as m; "
        f"m.LINUX_FILE = Path({str(policy_file)!r}); print(len(m.read_policy('linux').faults))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_byte_order_mark_and_line_ends_of_windows_are_accepted(policy_file):
    policy_file.write_bytes(b"\xef\xbb\xbf" + EVERYTHING.replace("\n", "\r\n").encode())
    policy = read_policy("linux")
    assert (policy, policy.faults) == (ALL_SET, ())


def test_a_file_that_is_no_toml_is_told_with_line_and_column_in_the_readers_language(policy_file):
    policy_file.write_text("service_url = 'https://voice.example'\nlanguage = de\n")
    (fault,) = read_policy("linux").faults
    whole = f"The whole policy in {policy_file} is ignored. Correct it."
    assert fault == f"policy.toml is not valid TOML: line 2, column 12. {whole}"
    with reading_in(language_of("de")):
        assert translated(fault).startswith("policy.toml ist kein gültiges TOML: Zeile 2, Spalte 12. ")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda file: os.mkfifo(file), "is not a regular file."),
        (Path.mkdir, "is not a regular file."),
        (lambda file: file.symlink_to("nowhere"), "is a link to a file that does not exist."),
        (lambda file: file.symlink_to(file.name), "cannot be read: "),
        (lambda file: file.write_bytes(b"#" * 10**6 + b"\n"), "is larger than 1 MB."),
    ],
    ids=["pipe", "folder", "dangling", "circle", "large"],
)
@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_only_a_regular_file_of_a_sensible_size_is_a_policy(tmp_path, monkeypatch, platform, make, told):
    file = tmp_path / "org.vbdesk.desk.plist"
    monkeypatch.setattr(managed_policy, "LINUX_FILE", file)
    monkeypatch.setattr(managed_policy, "MAC_FOLDER", tmp_path)
    make(file)
    policy = read_policy(platform)
    assert (policy, len(policy.faults)) == (ManagedPolicy(), 1)
    assert told in policy.faults[0]


def test_a_link_to_a_policy_is_followed(tmp_path, policy_file):
    (tmp_path / "real.toml").write_text(EVERYTHING)
    try:
        policy_file.symlink_to("real.toml")
    except OSError:
        pytest.skip("this account may not make links")
    assert read_policy("linux") == ALL_SET


def test_no_test_reads_the_policy_of_this_computer():
    assert managed_policy.LINUX_FILE.parent == Path(os.environ["HOME"])


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
        ("mend", f"{policy_file} sets service_url to 'nowhere', which is ignored. {ADDRESS}"),
    ]
    assert found.facts["policy"] == ["ConsentPolicy"]
    assert not found.ok
