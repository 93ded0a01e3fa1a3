"""Aliases and second lines: which subject is meant, and that no byte of them leaves this computer."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from list_by_hand import list_by_hand
from vbdesk.contract.groups import group_id_fault
from vbdesk.outbox.bundles.bundle_export import BundleOwner, export_bundle
from vbdesk.outbox.bundles.bundle_import import import_bundle
from vbdesk.outbox.bundles.bundle_keys import KeyLock, public_key, secret_of
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.subject_names import (
    LONGEST_ALIAS,
    alias_fault,
    as_group_id,
    isolated,
    new_group_id,
    search_key,
    tidy,
)
from vbdesk.outbox.library.subject_notes import AliasTaken, SubjectNote
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import MemoryVault

OWNER = BundleOwner("https://voice.example", "acc-1")
PROFILE = Profile("p1", "Office", "service", "https://voice.example", "acc-1")
ALIASES = ["Übung 7", "مريم", "王小明", "Ж. Ж.", "Nguyễn Văn Ổn", "ward 4", "-7", "a/b"]


@pytest.mark.parametrize("alias", ALIASES)
def test_a_name_in_any_script_gets_an_id_that_the_wire_carries(alias):
    assert as_group_id(alias) is None
    assert alias_fault(tidy(alias)) is None
    assert group_id_fault(new_group_id()) is None


@pytest.mark.parametrize("typed", ["ward4-0172", "P-0042", " P-0042 ", "Ｐ－0042".replace("－", "-")])
def test_what_the_wire_can_carry_is_the_id_itself(typed):
    assert as_group_id(typed) in ("ward4-0172", "P-0042")


@pytest.mark.parametrize("text", ["--", "🙂", "a\x00b é", "é" * (LONGEST_ALIAS + 1), "\u202e \u2066"])
def test_what_is_no_name_is_refused_with_a_sentence(text):
    assert alias_fault(tidy(text)).startswith("A subject's name has")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Übung 7", "u\u0308bung  7"),
        ("Übung 7", "ÜBUNG 7"),
        ("Straße", "STRASSE"),
        ("مريم", "\u2067مريم\u2069"),
        ("ｱｲｳ", "アイウ"),
        ("Ⅳ. Gruppe é", "IV. gruppe É"),
    ],
)
def test_the_same_name_written_otherwise_is_the_same_subject(library, one, other):
    library.subject_notes.store_alias("s-1", one)
    assert library.subject_notes.group_id_of(other) == "s-1"
    assert library.subject_notes.matches("s-1", other)


def test_two_subjects_never_share_an_alias_and_an_id_never_has_two(library):
    notes = library.subject_notes
    notes.store_alias("s-1", "Übung 7")
    notes.store_alias("s-2", "Übung 8")
    with pytest.raises(AliasTaken):
        notes.store_alias("s-2", "ÜBUNG 7")
    assert {notes.group_id_of("Übung 7"), notes.group_id_of("Übung 8")} == {"s-1", "s-2"}
    notes.store_alias("s-1", "Übung 9")
    assert notes.group_id_of("Übung 7") is None


def test_random_ids_do_not_repeat_those_that_are_taken(monkeypatch):
    drawn = random.Random(1)
    monkeypatch.setattr("vbdesk.outbox.library.subject_names.secrets.choice", lambda letters: drawn.choice(letters[:2]))
    taken = set()
    for _ in range(500):
        group_id = new_group_id(taken)
        assert group_id not in taken
        taken.add(group_id)


@given(st.text(max_size=30))
def test_a_search_key_is_stable(text):
    assert search_key(search_key(text)) == search_key(text)
    assert tidy(tidy(text)) == tidy(text)


def test_text_of_another_direction_is_isolated_and_ids_are_untouched():
    assert isolated("ward4-0172") == "ward4-0172"
    assert isolated("مريم") == "\u2068مريم\u2069"
    assert SubjectNote(alias="مريم", detail="1956").shown("s-1").text == "\u2068مريم\u2069 · 1956"
    assert SubjectNote().shown("s-1").text == "s-1"


def test_a_note_keeps_the_name_and_a_restart_everything(library, reopen):
    notes = library.subject_notes
    notes.store_alias("s-1", "مريم")
    notes.store("s-1", SubjectNote("Hoarse.", ("ENT",), "مريم", "1956"))
    library.close()
    again = reopen().subject_notes
    assert again.note_of("s-1") == SubjectNote("Hoarse.", ("ENT",), "مريم", "1956")
    assert again.group_id_of("مريم") == "s-1"
    assert again.shown("s-1").detail == "1956"


def test_notes_of_an_earlier_release_are_read(library, reopen):
    cipher = library.store.cipher
    with library.store.changing():
        sealed = cipher.encrypt(b'{"text": "Hoarse.", "tags": ["ENT"]}', "subjects/ward4-0172")
        library.store.put("subjects", "ward4-0172", sealed)
    library.close()
    assert reopen().subject_notes.note_of("ward4-0172") == SubjectNote("Hoarse.", ("ENT",))


# Never sent

ALIAS, DETAIL = "Übung Zwölf", "Q1956Q"


def forms(text):
    """The text as a program could write it."""
    escaped = "".join(f"\\u{ord(each):04x}" if ord(each) > 127 else each for each in text)
    percent = "".join(f"%{byte:02X}" for byte in text.encode())
    variants = [text.encode(kind) for kind in ("utf-8", "utf-16-le", "utf-16-be", "latin-1")]
    return [*variants, escaped.encode(), percent.encode(), search_key(text).encode()]


def test_no_byte_of_alias_or_second_line_is_sent_or_on_the_disk(
    library, new_take, new_sync_worker, service, drive, monkeypatch, tmp_path
):
    sent = bytearray()
    answer = service.handle_request

    def overheard(request):
        request.read()
        sent.extend(str(request.url).encode() + repr(request.headers.raw).encode() + request.content)
        return answer(request)

    monkeypatch.setattr(service, "handle_request", overheard)
    group_id = new_group_id()
    library.subject_notes.store(group_id, SubjectNote("Hoarse Zwölf.", ("ENT",), ALIAS, DETAIL))
    take_id = new_take(group_id, seconds=15, rate=1000)
    library.queue(take_id)
    drive(new_sync_worker(), lambda: library.get(take_id).state is OutboxState.DONE)
    assert group_id.encode() in sent  # what is searched is really there
    disk = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    with list_by_hand(tmp_path / "library") as database:
        disk += database.serialize()
    assert group_id.encode() in disk
    for text in (ALIAS, DETAIL, "Zwölf"):
        for form in forms(text):
            assert form not in sent
            assert form not in disk
    assert group_id != ALIAS


# Bundles


@pytest.fixture
def office(tmp_path, clock):
    opened = Library(tmp_path / "office", bytes(reversed(range(32))), clock)
    yield opened
    opened.close()


def brought(library, office, tmp_path):
    vault, stick = MemoryVault(), tmp_path / "stick"
    stick.mkdir()
    bundle = export_bundle(library, OWNER, stick, KeyLock(public_key(vault, PROFILE)))
    import_bundle(office, OWNER, bundle.path, secret_of(vault, PROFILE, None))
    return bundle.path.read_bytes()


def test_a_bundle_carries_the_alias_and_not_the_second_line(library, office, new_take, tmp_path):
    library.subject_notes.store("s-1", SubjectNote(alias=ALIAS, detail=DETAIL))
    library.subject_notes.store_alias("s-2", "no recording here é")
    library.queue(new_take("s-1", seconds=15))
    content = brought(library, office, tmp_path)
    assert office.subject_notes.note_of("s-1") == SubjectNote(alias=ALIAS)
    assert office.subject_notes.note_of("s-2") == SubjectNote()
    assert not any(form in content for form in forms(ALIAS))


def test_the_same_alias_for_two_subjects_of_two_computers_stays_two(library, office, new_take, tmp_path):
    office.subject_notes.store_alias("s-9", ALIAS)
    office.subject_notes.store_alias("s-2", "named here é")
    library.subject_notes.store_alias("s-1", ALIAS)
    library.subject_notes.store_alias("s-2", "named there é")
    for group_id in ("s-1", "s-2"):
        library.queue(new_take(group_id, seconds=15))
    brought(library, office, tmp_path)
    notes = office.subject_notes
    assert notes.note_of("s-9").alias == ALIAS
    assert notes.note_of("s-1").alias == f"{ALIAS} (2)"
    assert notes.note_of("s-2").alias == "named here é"
