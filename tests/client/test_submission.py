"""Sending a folder of files, each once, on the real routes."""

import errno
import json
import random
import shutil
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import soundfile

from vbdesk.client import FileToSubmit, InUse, JsonLinesDamaged, Target, recorded_at_in_name, submit_files
from vbdesk.client.errors import ConnectionFailed, InsufficientCredits, NotFound
from vbdesk.client.folder_lock import exclusive_lock
from vbdesk.client.submission_journal import SubmissionJournal
from vbdesk.contract.limits import Plan
from vbdesk.json_lines import JsonLinesFile

PULSE = Target("model", "pulse")
MORNING = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)


@pytest.fixture
def files(tmp_path, speech_file):
    """Three recordings of one subject with the same modification time."""
    folder = tmp_path / "recordings"
    folder.mkdir()
    made = []
    for number in range(3):
        path = folder / f"reading {number}.flac"
        path.write_bytes(speech_file.read_bytes() + bytes(number))
        made.append(FileToSubmit(path, "ward4-0172", MORNING, PULSE))
    return made


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "submitted.jsonl"


def send(desk, files, journal, **more):
    with desk.client(more.pop("credentials", None)) as client:
        return list(submit_files(client, files, journal, clock=desk.clock, **more))


def test_every_file_becomes_a_job_at_a_moment_of_its_own(desk, files, journal):
    done = send(desk, files, journal)
    jobs = desk.jobs()
    assert [entry.job_id for entry in done] == [job.job_id for job in jobs]
    moments = [job.recorded_at for job in jobs]
    assert {moment.replace(microsecond=0) for moment in moments} == {MORNING}
    assert len({moment.microsecond for moment in moments} - {0}) == 3
    assert not any(entry.earlier for entry in done)


def test_a_second_run_sends_nothing_whatever_the_files_are_called_now(desk, files, journal, tmp_path):
    first = send(desk, files, journal)
    moved = [FileToSubmit(tmp_path / f"{number}.flac", "ward4-0172", MORNING, PULSE) for number in range(3)]
    for old, new in zip(files, moved, strict=True):
        shutil.move(old.path, new.path)
    before = len(desk.requests)
    again = send(desk, moved, journal)
    assert [entry.job_id for entry in again] == [entry.job_id for entry in first]
    assert all(entry.earlier for entry in again)
    assert len(desk.requests) == before


def test_the_same_sound_twice_is_sent_once_but_once_for_each_target(desk, files, journal):
    twice = [files[0], files[0], FileToSubmit(files[0].path, "ward4-0172", MORNING, Target("sign", "stress"))]
    first, same, other = send(desk, twice, journal)
    assert (first.job_id, first.earlier, same.earlier, other.earlier) == (same.job_id, False, True, False)
    assert [job.name for job in desk.jobs()] == ["pulse", "stress"]


def test_a_lost_answer_is_found_again_and_not_paid_for_twice(desk, files, journal):
    desk.faults = ["lost"]
    assert [entry.job_id for entry in send(desk, files, journal)] == [job.job_id for job in desk.jobs()]
    assert len(desk.jobs()) == 3
    assert 5.0 in desk.clock.waits, "a request on its way may still arrive"


def test_a_submit_that_never_arrived_ends_the_run_and_the_next_goes_on(desk, files, journal):
    desk.faults = [None, "cut"]
    with pytest.raises(ConnectionFailed):
        send(desk, files, journal)
    mints = desk.asked("/audio/uploads")
    done = send(desk, files, journal)
    assert [entry.earlier for entry in done] == [True, False, False]
    assert desk.asked("/audio/uploads") == mints + 1, "the second file was at the storage already"
    assert len(desk.jobs()) == 3


@pytest.mark.parametrize("end", [KeyboardInterrupt(), MemoryError()])
def test_a_run_killed_in_the_middle_of_a_submit_is_taken_up_without_a_second_job(desk, files, journal, end):
    desk.faults = [None, end]
    with pytest.raises(type(end)):
        send(desk, files, journal)
    journal.write_bytes(journal.read_bytes() + b'{"key": "cut off by the cra')
    done = send(desk, files, journal)
    assert [entry.job_id for entry in done] == [job.job_id for job in desk.jobs()]
    assert len(desk.jobs()) == 3


def test_an_answer_lost_before_the_service_acted_is_sent_again_after_two_searches(desk, files, journal):
    desk.faults = ["cut"]
    with pytest.raises(ConnectionFailed):
        send(desk, files[:1], journal)
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join([*lines, json.dumps(json.loads(lines[-1]) | {"asked": True})]) + "\n")
    desk.requests.clear()
    assert send(desk, files[:1], journal)[0].job_id == desk.jobs()[0].job_id
    assert desk.asked("GET /v2/groups") == 2
    assert sum(desk.clock.waits) == 25


@pytest.mark.parametrize("seed", range(8))
def test_whatever_goes_wrong_and_however_often_it_is_run_each_recording_has_one_job(desk, files, journal, seed):
    chance = random.Random(seed)
    kinds = [None, "lost", "cut", KeyboardInterrupt(), MemoryError()]
    for _ in range(4):
        desk.faults = chance.choices(kinds, k=chance.randint(1, 5))
        with suppress(ConnectionFailed, KeyboardInterrupt, MemoryError):
            send(desk, chance.sample(files, k=3), journal)
        if journal.exists() and chance.random() < 0.5:
            journal.write_bytes(journal.read_bytes() + b'{"key": "cut o')
    desk.faults = []
    done = send(desk, files, journal)
    assert sorted(entry.job_id for entry in done) == sorted(job.job_id for job in desk.jobs())
    assert len(desk.jobs()) == 3


def test_a_refused_recording_does_not_keep_the_others_back_and_is_not_sent_again(desk, files, journal, tmp_path):
    broken, notes, gone = tmp_path / "broken.wav", tmp_path / "notes.txt", tmp_path / "gone.wav"
    broken.write_bytes(b"RIFF of a kind")
    notes.write_text("notes")
    faulty = [FileToSubmit(path, "ward4-0172", MORNING, PULSE) for path in (broken, notes, gone)]
    done = send(desk, [*faulty, files[0]], journal)
    assert [entry.refusal and entry.refusal.split(".")[0] for entry in done] == [
        "The file is not WAV, FLAC, MP3 or M4A, or it is damaged",
        "notes",
        "The file cannot be read: No such file or directory",
        None,
    ]
    submits = desk.asked("/analyze")
    assert send(desk, faulty[:1], journal)[0].earlier
    assert desk.asked("/analyze") == submits


def test_what_holds_for_all_ends_the_run_and_marks_no_recording(desk, files, journal):
    unknown = FileToSubmit(files[0].path, "ward4-0172", MORNING, Target("model", "nonesuch"))
    with pytest.raises(NotFound):
        send(desk, [unknown], journal.with_name("another account.jsonl"))
    poor = desk.service.add_account(Plan.ENTERPRISE, 0)
    with pytest.raises(InsufficientCredits):
        send(desk, files[:1], journal, credentials=poor)
    desk.service.grant(poor.account_id, 10_000)
    assert send(desk, files[:1], journal, credentials=poor)[0].job_id
    assert desk.asked("GET /v2/groups") == 0, "nothing was lost, so nothing is searched"


def test_the_journal_holds_no_names_and_lets_one_program_in(desk, files, journal):
    send(desk, files[:1], journal)
    assert "reading" not in journal.read_text()
    assert journal.stat().st_mode & 0o077 == 0
    with exclusive_lock(journal.with_name("submitted.jsonl.lock")), pytest.raises(InUse, match="Wait for its end"):
        send(desk, files[:1], journal)


@pytest.mark.parametrize("content", [b'{"other": 1}\n', b"no json\n{}\n", b"[1]\n"])
def test_another_file_is_not_taken_for_a_journal(desk, files, journal, content):
    journal.write_bytes(content)
    with pytest.raises(JsonLinesDamaged):
        send(desk, files[:1], journal)
    assert journal.read_bytes() == content
    assert desk.jobs() == []


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("ward4_2026-03-01_09-30-12.wav", datetime(2026, 3, 1, 8, 30, 12, tzinfo=UTC)),
        ("ward4-0172_2026-03-01_09-30-12.wav", datetime(2026, 3, 1, 8, 30, 12, tzinfo=UTC)),
        ("2017-20260301-0930.wav", datetime(2026, 3, 1, 8, 30, tzinfo=UTC)),
        ("20260301-0930.flac", datetime(2026, 3, 1, 8, 30, tzinfo=UTC)),
        ("s7 2026.03.01 09h30m12-0001.wav", datetime(2026, 3, 1, 8, 30, 12, tzinfo=UTC)),
        ("20260301T093012Z.wav", datetime(2026, 3, 1, 9, 30, 12, tzinfo=UTC)),
        ("20260301T093012+0530.wav", datetime(2026, 3, 1, 4, 0, 12, tzinfo=UTC)),
        ("1772357412345.wav", None),
        ("2026-13-01 09-30.wav", None),
        ("reading 12.wav", None),
    ],
)
def test_the_moment_in_a_file_name_is_read(name, moment):
    assert recorded_at_in_name(name, ZoneInfo("Europe/Berlin")) == moment


# Recovery by identity


SUPPLIED = MORNING.replace(microsecond=123456)  # a supplied fraction: another recording may have the same


@pytest.fixture
def twins(tmp_path):
    """Two different recordings of equal length and size."""
    folder = tmp_path / "twins"
    folder.mkdir()
    paths = []
    for number in range(2):
        samples = np.random.default_rng(number).integers(-3000, 3000, 20 * 8000).astype(np.int16)
        paths.append(folder / f"{number}.wav")
        soundfile.write(paths[-1], samples, 8000)
    assert paths[0].stat().st_size == paths[1].stat().st_size
    return paths


def sound_of(desk, job_id):
    [job] = [job for job in desk.jobs() if job.job_id == job_id]
    return desk.service.records.audio(job)


def test_a_file_that_is_replaced_meanwhile_is_sent_as_it_was_read(desk, twins, journal, monkeypatch):
    file = FileToSubmit(twins[0], "mr-y", MORNING, PULSE, duration_s=20.0)
    own, others = twins[0].read_bytes(), twins[1].read_bytes()
    begin = SubmissionJournal.begin

    def replaced(*arguments):
        twins[0].write_bytes(others)
        return begin(*arguments)

    monkeypatch.setattr(SubmissionJournal, "begin", replaced)
    [done] = send(desk, [file], journal)
    assert sound_of(desk, done.job_id) == own
    monkeypatch.undo()
    [later] = send(desk, [file], journal)
    assert later.job_id != done.job_id
    assert sound_of(desk, later.job_id) == others


def test_a_journal_belongs_to_one_account(desk, files, journal):
    send(desk, files[:1], journal)
    another = desk.service.add_account(Plan.ENTERPRISE, 1_000)
    with pytest.raises(JsonLinesDamaged, match="the journal of another account"):
        send(desk, files[:1], journal, credentials=another)
    [line] = [json.loads(line) for line in journal.read_text().splitlines()][-1:]
    earlier_release = {name: value for name, value in line.items() if name != "account_id"}
    journal.write_text(json.dumps(earlier_release) + "\n")
    assert send(desk, files[:1], journal)[0].earlier


@pytest.mark.parametrize("moment", [MORNING, SUPPLIED])
@pytest.mark.parametrize("reads_refs", [False, True])
def test_another_persons_job_is_never_taken_for_ours_however_alike(desk, twins, journal, tmp_path, moment, reads_refs):
    """Another computer has sent a recording of the same length, target and time, for another subject and for ours."""
    desk.reads_refs = reads_refs
    others = [FileToSubmit(twins[0], group, moment, PULSE, duration_s=20.0) for group in ("mrs-x", "mr-y")]
    send(desk, others, tmp_path / "another computer.jsonl")
    mine = FileToSubmit(twins[1], "mr-y", moment, PULSE, duration_s=20.0)
    desk.faults = ["never arrived"]
    with suppress(ConnectionFailed):
        send(desk, [mine], journal)
    [done] = send(desk, [mine], journal)
    if reads_refs:
        assert len(desk.jobs()) == 3
        assert sound_of(desk, done.job_id) == twins[1].read_bytes()
    else:
        assert (done.job_id, done.unproven) == (None, True)
        assert "at its price" in done.refusal
        [sent] = send(desk, [replace(mine, attempt=2)], journal)
        assert sound_of(desk, sent.job_id) == twins[1].read_bytes()


def test_a_time_that_was_supplied_is_no_proof_and_nothing_is_sent_again(desk, twins, journal):
    file = FileToSubmit(twins[0], "mr-y", SUPPLIED, PULSE, duration_s=20.0)
    desk.faults = ["lost"]
    [done] = send(desk, [file], journal)
    assert (done.job_id, done.unproven) == (None, True)
    [again] = send(desk, [file], journal)
    assert (again.unproven, again.earlier) == (True, True)
    assert len(desk.jobs()) == 1
    [sent] = send(desk, [replace(file, attempt=2)], journal)
    assert sound_of(desk, sent.job_id) == twins[0].read_bytes()
    [known] = send(desk, [file], journal)
    assert (known.job_id, known.unproven) == (sent.job_id, False), "the decision is remembered"


def test_a_service_that_reads_references_is_asked_again_and_not_searched(desk, twins, journal):
    desk.reads_refs = True
    desk.faults = ["lost", "failed after"]
    [done] = send(desk, [FileToSubmit(twins[0], "mr-y", SUPPLIED, PULSE)], journal)
    assert sound_of(desk, done.job_id) == twins[0].read_bytes()
    assert len(desk.jobs()) == 1
    assert desk.asked("GET /v2/groups") == 0


@pytest.mark.parametrize("hours", [22, 23.5, 40, 9000])
def test_a_reference_is_repeated_however_late(desk, twins, journal, hours):
    desk.reads_refs = True
    desk.faults = [KeyboardInterrupt()]
    file = FileToSubmit(twins[0], "mr-y", MORNING, PULSE, duration_s=20.0)
    with pytest.raises(KeyboardInterrupt):
        send(desk, [file], journal)
    desk.service.clock.moment += timedelta(hours=hours)
    [done] = send(desk, [file], journal)
    assert sound_of(desk, done.job_id) == twins[0].read_bytes()
    assert desk.asked("GET /v2/groups") == 0
    assert len(desk.jobs()) == 1


def test_an_announcement_that_was_not_seen_before_the_asking_does_not_count(desk, twins, journal):
    """The service reads references now; whether it did at the time of the request is unknown."""
    desk.faults = [KeyboardInterrupt()]
    file = FileToSubmit(twins[0], "mr-y", SUPPLIED, PULSE, duration_s=20.0)
    with pytest.raises(KeyboardInterrupt):
        send(desk, [file], journal)
    desk.reads_refs = True
    [done] = send(desk, [file], journal)
    assert done.unproven
    assert len(desk.jobs()) == 1


@pytest.mark.parametrize("digits", [3, 0])
def test_a_service_that_keeps_fewer_digits_proves_nothing(desk, twins, journal, digits):
    desk.digits = digits
    desk.faults = ["lost"]
    file = FileToSubmit(twins[0], "mr-y", MORNING, PULSE, duration_s=20.0)
    assert send(desk, [file], journal)[0].unproven
    assert len(desk.jobs()) == 1


def test_a_group_that_was_deleted_meanwhile_leaves_it_to_a_person(desk, twins, journal):
    desk.faults = [KeyboardInterrupt()]
    file = FileToSubmit(twins[0], "mr-y", MORNING, PULSE, duration_s=20.0)
    with pytest.raises(KeyboardInterrupt):
        send(desk, [file], journal)
    with desk.client() as client:
        client.groups.delete("mr-y")
    assert send(desk, [file], journal)[0].unproven
    assert len(desk.jobs()) == 1


def test_a_used_reference_is_searched_for_and_goes_to_a_person_and_never_to_a_new_one(desk, twins, journal):
    desk.reads_refs = True
    file = FileToSubmit(twins[0], "mr-y", MORNING, PULSE)
    desk.faults = ["conflict"]
    [done] = send(desk, [file], journal)
    assert (done.job_id, done.unproven) == (None, True)
    assert "key" in done.refusal
    assert desk.asked("/analyze") == 1
    assert desk.asked("GET /v2/groups") == 1


def test_a_journal_of_an_earlier_release_is_read_and_its_times_prove_nothing(desk, twins, journal):
    desk.faults = [KeyboardInterrupt()]
    file = FileToSubmit(twins[0], "mr-y", MORNING, PULSE, duration_s=20.0)
    with pytest.raises(KeyboardInterrupt):
        send(desk, [file], journal)
    added = ("time_is_unique", "asked_service_at", "named", "unproven")
    old = [{n: v for n, v in json.loads(line).items() if n not in added} for line in journal.read_text().splitlines()]
    journal.write_text("".join(f"{json.dumps(line)}\n" for line in old))
    assert send(desk, [file], journal)[0].unproven
    assert len(desk.jobs()) == 1


@pytest.mark.parametrize("torn", [False, True], ids=["nothing of a line is written", "half a line is written"])
def test_whatever_write_of_the_journal_fails_the_next_run_sends_each_once(
    desk, files, journal, monkeypatch, torn, tmp_path
):
    append = JsonLinesFile.append

    def on_a_disk_that_fails_at(which):
        writes = count()

        def failing(self, document):
            if next(writes) != which:
                return append(self, document)
            if torn:
                with self._path.open("ab") as file:
                    file.write(b'{"key":"half a li')
            raise OSError(errno.ENOSPC, "No space left on device")

        return failing

    for which in range(12):  # four lines for each of three recordings
        kept, before = tmp_path / f"{which}.jsonl", len(desk.jobs())
        those = [replace(file, group_id=f"ward4-{which}") for file in files]
        with monkeypatch.context() as patch:
            patch.setattr(JsonLinesFile, "append", on_a_disk_that_fails_at(which))
            with pytest.raises(OSError, match="No space"):
                send(desk, those, kept)
        done = send(desk, those, kept)
        jobs = desk.jobs()[before:]
        assert [entry.job_id for entry in done] == [job.job_id for job in jobs]
        assert len(jobs) == 3
