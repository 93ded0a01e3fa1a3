"""A list of version 8 opens whole: every field is as it was, and its consents are events of the journal."""

import gzip
import json
import sys
import zipfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from list_by_hand import copies_of_conversion, list_by_hand, log_by_hand

sys.path.append(str(Path(__file__).parents[1] / "data" / "upgrade_base"))

import as_values

from vbdesk.clock import ManualClock
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.consent import ConsentState
from vbdesk.outbox.library.consent_reader import ConsentUnreadable, read_consent_list
from vbdesk.outbox.library.integrity_check import ROWS_MISSING, STRUCTURE_CHANGED
from vbdesk.outbox.library.library import Library

DATA = Path(__file__).parents[1] / "data"
NOW = datetime(2026, 8, 30, 8, 0, tzinfo=UTC)
RECORDED = json.loads((DATA / "upgrade_8" / "recorded.json").read_text(encoding="utf-8"))
KEY = bytes.fromhex(RECORDED["key"])
EVENTS = [event for subject in RECORDED["consents"].values() for event in subject["events"]]


@pytest.fixture
def folder(tmp_path):
    """The folder of the ward's library."""
    with zipfile.ZipFile(DATA / "upgrade_base" / "desk.zip") as archive:
        archive.extractall(tmp_path, [name for name in archive.namelist() if "/profiles/ward/" in name])
    ward = tmp_path / "data" / "profiles" / "ward"
    (ward / "library.sqlite").write_bytes(gzip.decompress((DATA / "upgrade_8" / "library.sqlite.gz").read_bytes()))
    return ward


def opened(folder):
    return closing(Library(folder, KEY, ManualClock(NOW)))


def consents_of(library):
    return as_values.plain(library.consents.all())


def test_every_field_is_as_it_was(folder, monkeypatch):
    monkeypatch.setattr(as_values, "correction_values", as_values.plain)
    for _ in range(2):  # it is converted once
        with opened(folder) as library:
            values = as_values.library_values(library, folder, KEY)
            statuses = {each: as_values.plain(library.consents.status(each)) for each in library.consents.all()}
        assert AuditReader(folder, KEY).verify().ok
        before = len(RECORDED["audit"])
        assert values["audit"][:before] == RECORDED["audit"]
        assert len(values["audit"]) == before + 1 + len(EVENTS)
        assert statuses == RECORDED["statuses"]
        for part in RECORDED.keys() - {"audit", "statuses", "key"}:
            assert values[part] == RECORDED[part], part


def test_the_record_has_consents_of_every_kind():
    assert {event["change"] for event in EVENTS} == {"given", "withdrawn"}
    assert {event["kind"] for event in EVENTS} == {"clinical", "research", "both", "not_stated"}
    assert {status["state"] for status in RECORDED["statuses"].values()} >= {"in_force", "withdrawn"}
    assert "id-of-another-computer" in {event["event_id"] for event in EVENTS}


def test_the_log_says_that_it_was_whole_and_a_copy_stays(folder):
    with opened(folder):
        pass
    entries = AuditReader(folder, KEY).entries()[len(RECORDED["audit"]) :]
    assert (entries[0].what, entries[0].detail) == (
        AuditAction.CONVERTED,
        f"version 8, log of {len(RECORDED['audit'])} whole",
    )
    assert {entry.what for entry in entries[1:]} == {AuditAction.CONSENT_TAKEN_IN}
    assert (folder / "library.sqlite.v8.bak").exists()
    with list_by_hand(folder, KEY) as connection:
        assert not connection.rows("SELECT 1 FROM sqlite_master WHERE tbl_name = 'consents'")


def test_known_events_are_known_after_it(folder):
    with opened(folder) as library:
        before = consents_of(library)
        events = [event for subject in library.consents.all().values() for event in subject.events]
        assert library.consents.take_in(events) == 0
        assert consents_of(library) == before == RECORDED["consents"]


def test_a_command_beside_the_desk_finds_no_consent_missing_before_it(folder):
    """It reads without converting, so it asks for the desk and takes nobody for a subject without a withdrawal."""
    with pytest.raises(ConsentUnreadable, match="open the desk once"):
        read_consent_list(folder, KEY)
    with opened(folder):
        pass
    assert as_values.plain(read_consent_list(folder, KEY).subjects) == RECORDED["consents"]


@pytest.mark.parametrize(
    ("statement", "changed", "state"),
    [
        ("UPDATE consents SET sealed = zeroblob(90) WHERE group_id = 'ward8-0003'", "ward8-0003", "unreadable"),
        ("UPDATE consents SET sealed = 'text' WHERE group_id = 'ward8-0003'", "ward8-0003", "unreadable"),
        ("UPDATE consents SET event_id = 'x' WHERE group_id = 'ward8-0003'", "ward8-0003", "unreadable"),
        ("UPDATE consents SET group_id = 'ward8-0002' WHERE group_id = 'ward8-0003'", "ward8-0002", "unreadable"),
        ("UPDATE consents SET group_id = X'00' WHERE group_id = 'ward8-0003'", "ward8-0003", "none"),
        ("DELETE FROM consents WHERE group_id = 'ward8-0003'", "ward8-0003", "none"),
        ("INSERT INTO consents VALUES ('x', 'ward8-0002', zeroblob(90))", "ward8-0002", "unreadable"),
    ],
)
def test_what_was_changed_before_the_conversion_is_a_finding_and_blocks_after_it(folder, statement, changed, state):
    with log_by_hand(folder, KEY, "consents") as connection:
        connection.execute(statement)
    for _ in range(2):
        with opened(folder) as library:
            assert ROWS_MISSING in library.findings
            assert library.store.sending_blocked
            assert library.consents.status(changed).state is ConsentState(state)
            others = {name: each for name, each in consents_of(library).items() if name not in (changed, "ward8-0003")}
            expected = RECORDED["consents"].items()
            assert others == {name: each for name, each in expected if name not in (changed, "ward8-0003")}
            assert AuditReader(folder, KEY).verify().ok


def test_a_foreign_trigger_is_a_finding_and_does_nothing(folder):
    with list_by_hand(folder, KEY) as connection:
        connection.execute("CREATE TRIGGER enemy AFTER INSERT ON audit BEGIN DELETE FROM results; END")
    with opened(folder) as library:
        assert STRUCTURE_CHANGED in library.findings
        assert consents_of(library) == RECORDED["consents"]
        assert len(library.store.rows("SELECT 1 FROM results")) > 0


def test_a_log_that_was_changed_stays_so(folder):
    with log_by_hand(folder, KEY) as connection:
        connection.execute("UPDATE audit SET detail = 'x' WHERE seq = 3")
    with opened(folder) as library:
        assert consents_of(library) == RECORDED["consents"]
    assert AuditReader(folder, KEY).verify().broken_at == 3
    assert any(entry.detail.endswith("changed at 3") for entry in AuditReader(folder, KEY).entries())


def test_a_conversion_killed_at_any_statement_leaves_a_list_that_opens(folder, tmp_path, monkeypatch):
    copies = copies_of_conversion(folder, tmp_path, monkeypatch, lambda: Library(folder, KEY, ManualClock(NOW)).close())
    assert len(copies) > 20
    for copy in copies[:: max(1, len(copies) // 8)] + copies[-1:]:
        with opened(copy) as library:
            assert library.findings == (), copy.name
            assert consents_of(library) == RECORDED["consents"]
        assert AuditReader(copy, KEY).verify().ok
