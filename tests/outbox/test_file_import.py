"""Import of files: a preview with a reason for every faulty row; the originals stay unchanged."""

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from vbdesk.clock import ManualClock
from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.outbox.imports.file_import import find_recordings, import_rows, preview_csv, preview_files
from vbdesk.outbox.imports.import_list import ImportFailed
from vbdesk.outbox.imports.import_row import known_recordings
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.states import OutboxState

DATA = Path(__file__).parents[1] / "data"
PULSE = RecordingTarget("model", "pulse")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path):
    """Recordings, and files that look like recordings."""
    home = tmp_path / "study"
    (home / "visit 2").mkdir(parents=True)
    for name, seed, seconds in (("a.wav", 1, 16), ("visit 2/b.WAV", 2, 20), ("short.wav", 3, 4)):
        sound = np.random.default_rng(seed).normal(0, 0.05, seconds * 8000)
        sf.write(home / name, sound, 8000, format="WAV")
    for path in home.rglob("*.*"):
        os.utime(path, (1_770_000_000, 1_770_000_000))  # February 2026
    (home / "notes.txt").write_text("patient was tired")
    (home / "broken.mp3").write_bytes(b"no sound at all")
    (home / "._a.wav").write_bytes(b"\0\5\26\7")
    return home


def preview(folder, text, name="list.csv", **more):
    content = text if isinstance(text, bytes) else text.encode()
    (folder / name).write_bytes(content)
    return preview_csv(folder / name, PULSE, clock=ManualClock(NOON), **more)


def errors(found):
    return {row.path.name: row.error for row in found.rows}


def test_a_folder_gives_its_recordings_and_nothing_hidden(folder):
    names = [path.name for path in find_recordings([folder, folder / "a.wav"])]
    assert names == ["a.wav", "broken.mp3", "short.wav", "b.WAV"]


def test_every_row_that_cannot_be_says_why(folder):
    found = preview_files([folder], "ward4-0172", PULSE)
    assert [row.path.name for row in found.ready] == ["a.wav", "b.WAV"]
    told = errors(found)
    assert "4 s long" in told["short.wav"]
    assert "Save the recording as WAV" in told["broken.mp3"]
    assert found.ready[0].duration_s == 16.0
    assert found.ready[0].recorded_at == datetime.fromtimestamp((folder / "a.wav").stat().st_mtime, UTC)
    assert preview_files([folder], "-ward", PULSE).ready == ()


def test_a_csv_names_subject_time_and_what_is_asked_for(folder):
    found = preview(
        folder,
        "path,group_id,recorded_at,model\n"
        "a.wav,ward4-0001,2026-02-01T09:30:00+01:00,\n"
        "visit 2/b.WAV,ward4-0002,2026-02-02 10:00:00,sign:stress\n",
    )
    first, second = found.ready
    assert (first.number, first.group_id, first.target) == (2, "ward4-0001", PULSE)
    assert first.recorded_at == datetime(2026, 2, 1, 8, 30, tzinfo=UTC)
    assert second.target == RecordingTarget("sign", "stress")
    assert (second.recorded_at, second.notes) == (
        datetime(2026, 2, 2, 10, tzinfo=UTC),
        ("The time has no zone and is taken as UTC.",),
    )


def test_a_csv_may_say_the_language_and_a_wrong_one_is_a_fault(folder):
    head = "path,group_id,language,second_language"
    found = preview(folder, f"{head}\na.wav,ward4,PT-br,Yes\nvisit 2/b.WAV,ward4,,\n")
    assert [row.spoken for row in found.ready] == [SpokenLanguage("pt-BR", second_language=True), SpokenLanguage()]
    faulty = preview(folder, f"{head}\na.wav,ward4,english,\nvisit 2/b.WAV,ward4,,maybe\n")
    assert faulty.ready == ()
    assert "such as en, de or pt-BR" in faulty.rows[0].error
    assert "second_language has yes, no, or nothing" in faulty.rows[1].error


def test_a_csv_may_ask_for_a_sign_of_the_services_own(folder):
    text = "path,group_id,model\na.wav,ward4,sign:slow-speech\n"
    assert "no sign slow-speech" in preview(folder, text).faulty[0].error
    found = preview(folder, text, signs=("stress", "slow-speech"))
    assert found.ready[0].target == RecordingTarget("sign", "slow-speech")


def test_rows_with_faults_stand_beside_the_others(folder):
    found = preview(
        folder,
        "path,group_id,recorded_at,model\n"
        "a.wav,ward4-0001,2026-02-01T09:30:00Z,pulse\n"
        "\n"
        "gone.wav,ward4-0001,,\n"
        "visit 2/b.WAV,ward 4,,\n"
        "visit 2/b.WAV,ward4,yesterday,\n"
        "visit 2/b.WAV,ward4,,pulses\n"
        "visit 2/b.WAV,ward4,2027-02-01T09:30:00Z,\n"
        ",ward4,,\n"
        "a.wav,ward4-0002,,\n",
    )
    assert [row.number for row in found.ready] == [2]
    assert [row.number for row in found.faulty] == [4, 5, 6, 7, 8, 9, 10]
    told = [row.error for row in found.faulty]
    for words, error in zip(
        ("no file gone.wav", "letter or digit", "ISO 8601", "no model pulses", "future", "no path", "as in row 2"),
        told,
        strict=True,
    ):
        assert words in error


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffPath;Group_ID\r\nvisit 2/b.WAV;ward4\r\n",
        "group_id\tpath\textra\nward4\tvisit 2/b.WAV\tx\n",
        'path,group_id\n"visit 2/b.WAV",ward4\n',
        "path,group_id,note\nvisit 2/b.WAV,ward4,müde\n".encode("cp1252"),
    ],
)
def test_lists_as_programs_write_them_are_understood(folder, text):
    (row,) = preview(folder, text).ready
    assert (row.path, row.group_id) == (folder / "visit 2" / "b.WAV", "ward4")


@pytest.mark.parametrize("text", ["", "a.wav,ward4\n", "path,recorded_at\na.wav,\n", "path,group_id\n", b"PK\3\4\0\0"])
def test_what_is_no_list_is_refused_with_a_sentence(folder, text):
    with pytest.raises(ImportFailed, match=r"list\.csv"):
        preview(folder, text)


def test_what_is_in_the_library_already_is_not_imported_twice(folder, library):
    common = TakeMetadata("x", NOON, PULSE, tags=("study",), consented_at=NOON)
    rows = preview_files([folder], "ward4-0172", PULSE).rows
    done = import_rows(library, rows, common)
    assert [outcome.error for outcome in done] == [None, None]
    item = library.get(done[0].take_id)
    assert (item.group_id, item.tags, item.imported, item.state) == (
        "ward4-0172",
        ("study",),
        True,
        OutboxState.CHECKED,
    )
    again = preview_files([folder / "a.wav"], "ward4-0172", PULSE, known_recordings(library))
    assert errors(again) == {"a.wav": "This recording is in the library already."}


def test_originals_are_never_touched(folder, library):
    def state():
        return {
            path: (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
            for path in folder.rglob("*")
            if path.is_file()
        }

    before = state()
    rows = preview_files([folder], "ward4-0172", PULSE).rows
    done = import_rows(library, rows, TakeMetadata("x", NOON, PULSE), queue=True)
    library.discard(done[0].take_id, at_once=True)
    assert state() == before
    assert library.get(done[1].take_id).state is OutboxState.WAITING


def test_what_is_stored_is_what_the_preview_showed(folder, library):
    found = preview_files([folder / "a.wav", folder / "visit 2"], "ward4-0172", PULSE)
    (folder / "visit 2/b.WAV").replace(folder / "a.wav")  # a memory card exchanged for one with equal names
    sf.write(folder / "visit 2/b.WAV", np.random.default_rng(9).normal(0, 0.05, 160_000), 8000, format="WAV")
    done = import_rows(library, found.ready, TakeMetadata("ward4-0172", NOON, PULSE), queue=True)
    assert [(one.take_id, "has changed since it was read" in one.error) for one in done] == [(None, True)] * 2
    assert library.list() == []
    assert list(library.store.takes_folder.iterdir()) == []


def test_the_bytes_of_one_reading_are_stored(folder, library, monkeypatch):
    first = (folder / "a.wav").read_bytes()
    read_once = Path.read_bytes

    def exchanged_meanwhile(path):
        content = read_once(path)
        if path == folder / "a.wav":
            path.write_bytes(b"somebody else's voice")
        return content

    monkeypatch.setattr(Path, "read_bytes", exchanged_meanwhile)
    take_id = library.import_file(folder / "a.wav", TakeMetadata("ward4-0172", NOON, PULSE))
    item = library.get(take_id)
    assert item.source_sha256 == hashlib.sha256(first).hexdigest()
    assert library.original(take_id) == first


def test_one_that_fails_does_not_keep_the_others_back(folder, library):
    rows = preview_files([folder], "ward4-0172", PULSE).rows
    (folder / "a.wav").unlink()
    gone, kept = import_rows(library, rows, TakeMetadata("x", NOON, PULSE))
    assert "cannot be read" in gone.error
    assert kept.take_id is not None


def test_a_preview_and_an_import_tell_how_far_they_are_and_can_be_cancelled(folder, library):
    told = []
    found = preview_files([folder], "ward4", PULSE, progress=lambda done, of: told.append((done, of)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    stopped = preview_files([folder], "ward4", PULSE, cancelled=lambda: True)
    assert stopped.rows == ()
    assert import_rows(library, found.rows, TakeMetadata("x", NOON, PULSE), cancelled=lambda: True) == []
