"""The registry of what a library holds names everything, and an erasure leaves of a subject what the registry says."""

import ast
import json
import zlib
from collections import Counter
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest

import vbdesk.outbox.library
from list_by_hand import list_by_hand
from vbdesk.capture.damaged_take import salvage
from vbdesk.capture.encrypted_take import EncryptedTakeWriter, FileDamaged
from vbdesk.contract.ids import new_id
from vbdesk.outbox.bundles.bundle_export import BundleOwner, export_bundle
from vbdesk.outbox.bundles.bundle_keys import KeyLock, public_key
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.consent import ConsentKind
from vbdesk.outbox.library.corrections import CorrectedRecording, CorrectionReason, CorrectionStep
from vbdesk.outbox.library.encrypted_sqlite import connect
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.opening import lock_library
from vbdesk.outbox.library.repair import back_up, backup_path
from vbdesk.outbox.library.response_cache import STORED_COHORT, STORED_WEBHOOK, aggregate_name, trajectory_name
from vbdesk.outbox.library.states import NotAllowed, OutboxState
from vbdesk.outbox.library.subject_erasure import erase_subject
from vbdesk.outbox.library.subject_notes import SubjectNote
from vbdesk.outbox.library.subject_registry import COPIES_ELSEWHERE, FILES_HELD, TABLES_HELD, Fate
from vbdesk.outbox.library.tables import TABLES
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import MemoryVault

KEY = bytes(range(32))
SUBJECT, OTHER = "zq-4711-subject", "ward4-0200"
SECRETS = (SUBJECT, "Zqzq Muster", "zqzq hoarse", "zqzq-tag", "zqzq-1956", "zqzq-file", "zqzq-reading", "zqzq-answer")
NOTE = SubjectNote("zqzq hoarse since May", ("zqzq-tag",), "Zqzq Muster", "zqzq-1956")
NOON = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
OWNER = BundleOwner("https://voice.example", "acc-1")
PROFILE = Profile("p1", "Office", "service", "https://voice.example", "acc-1")

PLACES = {
    "recordings": ("details", lambda row: f"{row['take_id']}/details"),
    "results": ("sealed", lambda row: f"{row['take_id']}/result"),
    "settings": ("sealed", lambda row: f"settings/{row['name']}"),
    "trajectories": ("sealed", lambda row: f"trajectories/{row['group_id']}/{row['read_at']}"),
    "subjects": ("sealed", lambda row: f"subjects/{row['group_id']}"),
    "reads": ("sealed", lambda row: f"reads/{row['name']}/{row['read_at']}"),
    "bundles": ("sealed", lambda row: f"bundles/{row['bundle_id']}"),
    "corrections_due": ("sealed", lambda row: f"corrections_due/{row['number']}"),
    "audit": ("sealed", lambda row: row["seq"]),
}
"""The encrypted column of every table that has one, and what it is bound to."""
KEYS = {("recordings", "take_key"), ("recordings", "result_nonce"), ("subject_keys", "sealed")}
CHECKSUMS = {("recordings", "mac"), ("audit", "mac"), ("library", "key_check"), ("library", "sums")} | {
    ("library", "audit_head")
}


def schema():
    database = connect(":memory:", None)
    database.executescript(TABLES)
    tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    blobs = {
        (table, column[1])
        for table in tables
        for column in database.execute(f"PRAGMA table_info({table})")
        if column[2] == "BLOB"
    }
    database.close()
    return tables, blobs


def patterns():
    return [holding.place for holding in FILES_HELD]


def test_every_table_is_in_the_registry_once():
    tables, blobs = schema()
    assert Counter(tables) == Counter(holding.place for holding in TABLES_HELD)
    assert blobs == {(table, column) for table, (column, _) in PLACES.items()} | KEYS | CHECKSUMS


def test_an_entry_has_a_step_if_it_is_erased_and_a_reason_in_any_case():
    for holding in (*TABLES_HELD, *FILES_HELD, *COPIES_ELSEWHERE):
        assert (holding.step is not None) == (holding.fate in (Fate.ERASED, Fate.ERASED_LAST)), holding.place
        assert holding.note, holding.place


def test_every_path_that_the_library_names_is_in_the_registry():
    """The last parts of paths in the code: folders, and files in them."""
    known = {part for pattern in patterns() for part in pattern.split("/")} - {"*"}
    for file in Path(vbdesk.outbox.library.__file__).parent.glob("*.py"):
        if file.name == "managed_policy.py":  # files of the organisation, not of a library
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        constants = {
            ast.unparse(node.targets[0]): node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)):
                continue
            part = node.right
            name = part.value if isinstance(part, ast.Constant) else constants.get(getattr(part, "id", ""))
            assert not isinstance(name, str) or name in known, f"{file.name}: {name} is in no entry"


def loose_take(path, group_id, close=True, **about):
    path.parent.mkdir(exist_ok=True)
    about = {"group_id": group_id, "recorded_at": NOON.isoformat(), "note": "zqzq hoarse", **about}
    writer = EncryptedTakeWriter(path, KEY, 1000, about if group_id == SUBJECT else {**about, "note": ""})
    writer.append(np.ones(3000, np.int16))
    if close:
        writer.close()
    return writer


def put_result(library, take_id, result):
    library.queue(take_id)
    with library.store.changing():
        library.store.add("jobs", f"job-{take_id}", take_id)
        library.store.update(take_id, {"job_id": f"job-{take_id}"})
        for state in (OutboxState.SUBMITTED, OutboxState.DONE):
            library.store.move(take_id, state)
        library.store.store_result(take_id, result, NOON)
        library.store.remove_event(take_id)
    library.subject_notes.open_result(take_id=take_id, job_id=None)


@pytest.fixture
def filled(library, new_take, tmp_path):
    """Everything that a library can hold of one subject, and something of another one."""
    speech = (Path(__file__).parents[1] / "data" / "speech_kathleen_20s.flac").read_bytes()
    moments = iter(NOON + timedelta(minutes=minute) for minute in range(100))
    for group_id in (SUBJECT, OTHER):
        own = group_id == SUBJECT
        text = {"note": "zqzq hoarse", "tags": ("zqzq-tag",)} if own else {}
        library.subject_notes.store(group_id, NOTE if own else SubjectNote("of another one"))

        def take(group_id=group_id, text=text):
            return new_take(group_id, seconds=1, rate=8000, recorded_at=next(moments), **text)

        take()
        file = tmp_path / ("zqzq-file.flac" if own else "other.flac")
        file.write_bytes(speech)
        library.import_file(file, metadata_of_file(group_id, next(moments)))
        trashed, handed_over, done, gone, excluded = (take() for _ in range(5))
        for take_id in (trashed, done, gone, excluded):
            put_result(library, take_id, b"zqzq-answer" if own else b"{}")
        library.discard(trashed)
        library.discard(gone, at_once=True)
        library.queue(handed_over)
        entry = library.corrections.exclude(library.corrections.member(excluded), CorrectionReason.TEST)
        library.corrections.advance(entry, CorrectionStep.SETTLED)
        elsewhere = CorrectedRecording(
            None, group_id, NOON, (f"job-{group_id}",), None, {"f0": SECRETS[6] if own else 1}
        )
        entry = library.corrections.move(elsewhere, "ward4-0300", CorrectionReason.WRONG_PERSON)
        library.corrections.advance(entry, CorrectionStep.SETTLED)
        library.responses.store_trajectory(group_id, b"zqzq-answer" if own else b"{}", 0)
        for name in (aggregate_name(group_id), trajectory_name(group_id)):
            library.responses.store(name, b"zqzq-answer" if own else b"{}", 0)
        loose_take(library.recording_folder / f"{new_id()}.take", group_id)
        loose_take(library.damaged.folder / f"{new_id()}.take", group_id)
    stick = tmp_path / "stick"
    stick.mkdir()
    export_bundle(library, OWNER, stick, KeyLock(public_key(MemoryVault(), PROFILE)))
    for name in (STORED_COHORT, "subjects"):
        library.responses.store(name, json.dumps([SUBJECT, OTHER]).encode(), 0)
    library.responses.store(STORED_WEBHOOK, b"{}", 0)
    with list_by_hand(library.store.folder) as database:
        back_up(database, backup_path(library.store.folder / "library.sqlite", 7), KEY)
    lock_library(library.store.folder).release()
    return library


def metadata_of_file(group_id, moment):
    return TakeMetadata(group_id=group_id, recorded_at=moment, target=RecordingTarget("model", "pulse"))


def files(library):
    return sorted(path for path in library.store.folder.rglob("*") if path.is_file())


def written(library):
    """Every value of every table, decrypted, and every description of a take: by table or folder."""
    contents = {event.seq: event.content for event in library.store.journal.events(*AuditAction)}
    for table in schema()[0]:
        column, place = PLACES.get(table, ("", None))
        for row in library.store.rows(f"SELECT * FROM main.{table}"):
            for name in row.keys():  # noqa: SIM118 - a row has values
                value = row[name]
                if table == "audit" and name == column and value:
                    value = json.dumps(contents[place(row)]).encode()
                elif name == column and value:
                    value = library.store.cipher.decrypt(value, place(row))
                    value = zlib.decompress(value) if table == "reads" else value
                yield table, value if isinstance(value, bytes) else str(value).encode()
    for path in files(library):
        if path.suffix == ".take" and path.parent.name != "takes":
            yield path.parent.name, json.dumps(dict(salvage(path, KEY).about)).encode()


def forms(secret):
    return {secret.encode(), secret.encode("utf-16-le"), json.dumps(secret)[1:-1].encode()}


def holders(library):
    """Where each secret of the subject is found."""
    return {(place, secret) for place, value in written(library) for secret in SECRETS if holds(value, secret)}


def holds(value, secret):
    return any(form in value for form in forms(secret))


def on_disk(library):
    contents = {path.name: path.read_bytes() for path in files(library)}
    with list_by_hand(library.store.folder, read_only=True) as database:
        contents["library.sqlite"] += database.serialize()
    return {(name, secret) for name, content in contents.items() for secret in SECRETS if holds(content, secret)}


def test_every_file_of_a_library_is_in_the_registry_once(filled):
    folder = filled.store.folder
    for path in files(filled):
        name = path.relative_to(folder).as_posix()
        found = [pattern for pattern in patterns() if fnmatchcase(name, pattern)]
        assert len(found) == 1, name


def test_an_erasure_leaves_of_a_subject_what_the_registry_says(filled):
    found = {place for place, _secret in holders(filled)}
    assert found >= {"recordings", "results", "trajectories", "reads", "subjects", "audit"}
    assert found >= {"recording", "damaged"}, "the search finds what there is"
    assert {secret for _place, secret in holders(filled)} == set(SECRETS)
    others = {table: len(filled.store.rows(f"SELECT 1 FROM {table}")) for table in ("recordings", "trash", "pending")}
    erasure = erase_subject(filled, SUBJECT)
    assert erasure.left == ()
    assert (erasure.erased, erasure.in_bundles) == (8, 1)
    assert holders(filled) == set()
    assert on_disk(filled) == set()
    for table, count in others.items():
        assert len(filled.store.rows(f"SELECT 1 FROM {table}")) == count // 2, table
    assert filled.subject_notes.note_of(OTHER).text == "of another one"
    assert filled.responses.trajectory(OTHER) and filled.responses.read(trajectory_name(OTHER))
    assert len(list(filled.recording_folder.iterdir())) == len(list(filled.damaged.folder.iterdir())) == 1
    assert AuditReader(filled.store.folder, KEY).verify().ok
    filled.close()
    assert on_disk(filled) == set()


def test_an_answer_about_several_subjects_from_before_an_erasure_is_not_stored(filled):
    responses, since = filled.responses, filled.responses.erasures
    erase_subject(filled, SUBJECT)
    for name in ("subjects", trajectory_name(SUBJECT), trajectory_name(OTHER)):
        responses.store(name, b"read before", since)
    assert responses.read("subjects") is None
    assert responses.read(trajectory_name(SUBJECT)) is None
    assert responses.read(trajectory_name(OTHER))[0] == b"read before"
    responses.store("subjects", b"read afterwards", responses.erasures)
    assert responses.read("subjects")[0] == b"read afterwards"


def test_the_webhook_is_of_no_subject_and_stays(filled):
    since = filled.responses.erasures
    erase_subject(filled, SUBJECT)
    assert filled.responses.read(STORED_WEBHOOK)[0] == b"{}"
    filled.responses.store(STORED_WEBHOOK, b"another", since)
    assert filled.responses.read(STORED_WEBHOOK)[0] == b"another"


def test_consent_events_stay_with_the_id_and_nothing_else(filled):
    filled.consents.give(SUBJECT, ConsentKind.CLINICAL)
    filled.withdraw_consent(SUBJECT)
    erase_subject(filled, SUBJECT)
    stays = {holding.place for holding in TABLES_HELD if holding.fate is Fate.STAYS}
    assert holders(filled) == {("audit", SUBJECT)} and "audit" in stays
    assert on_disk(filled) == set(), "its id is encrypted too"
    assert len(filled.consents.of(SUBJECT).events) == 2


def test_what_the_service_has_still_to_do_is_emptied_once_it_has(filled):
    corrections = filled.corrections
    member = CorrectedRecording(None, SUBJECT, NOON, ("job-9",), "job-9", {"f0": "zqzq-reading"})
    moved = corrections.move(member, OTHER, CorrectionReason.WRONG_PERSON)
    erase_subject(filled, SUBJECT)
    (due,) = corrections.due()
    assert (due.number, due.source, due.target, due.member.reading) == (moved.number, SUBJECT, OTHER, None)
    assert moved.number not in {entry.number for entry in corrections.in_force()}
    with pytest.raises(NotAllowed):
        corrections.put_back(moved.number)
    corrections.advance(due, CorrectionStep.SETTLED)
    assert holders(filled) == set()


def test_a_number_of_an_erased_correction_is_never_given_again(filled):
    """An undo that a second window still offers must not reach another recording."""
    numbers = {entry.number for entry in filled.corrections.all()}
    erase_subject(filled, SUBJECT)
    erase_subject(filled, OTHER)
    assert filled.corrections.all() == []
    member = CorrectedRecording(None, "ward4-0500", NOON, ("job-7",), "job-7")
    assert filled.corrections.exclude(member, CorrectionReason.TEST).number == max(numbers) + 1


def test_a_recording_that_runs_keeps_the_rest_and_is_named(filled):
    writer = loose_take(filled.recording_folder / f"{new_id()}.take", SUBJECT, close=False)
    erasure = erase_subject(filled, SUBJECT)
    assert erasure.left == ("A recording of this subject is running. Stop it, then erase it.",)
    assert filled.subject_notes.note_of(SUBJECT) == NOTE
    writer.close()
    assert erase_subject(filled, SUBJECT).left == ()
    assert holders(filled) == set()


def test_a_take_whose_description_is_damaged_stays(filled):
    path = filled.recording_folder / f"{new_id()}.take"
    loose_take(path, SUBJECT)
    path.write_bytes(path.read_bytes()[:100] + bytes(400))
    with pytest.raises(FileDamaged):
        salvage(path, KEY)
    assert erase_subject(filled, SUBJECT).left == ()
    assert path.exists()


def test_a_crash_before_the_rest_is_erased_is_made_good_by_the_next_erasure(filled, monkeypatch, reopen):
    def crash():
        raise OSError("the power failed")

    monkeypatch.setattr(filled, "drop_traces", crash)
    with pytest.raises(OSError, match="the power failed"):
        erase_subject(filled, SUBJECT)
    assert filled.subject_notes.note_of(SUBJECT) == NOTE  # all of the rest or nothing
    filled.close()
    again = reopen()
    assert erase_subject(again, SUBJECT).left == ()
    assert holders(again) == set()
    assert on_disk(again) == set()
