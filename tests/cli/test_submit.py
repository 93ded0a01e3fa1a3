"""`vbdesk submit`, on a real service."""

import json
import os
import shutil
from datetime import UTC, datetime

import pytest
from failing_disk import fill
from service_in_process import API


@pytest.fixture
def recordings(tmp_path, speech_file):
    """Three recordings, each with its time in its name."""
    folder = tmp_path / "recordings"
    folder.mkdir()
    for hour in (8, 9, 10):
        path = folder / f"reading_2026-03-0{hour - 7}_{hour:02}-30-00.flac"
        path.write_bytes(speech_file.read_bytes() + bytes(hour))
    return folder


@pytest.fixture
def submit(vbdesk, tmp_path):
    """Submit into a group of the test, with its own journal."""

    def run(*arguments):
        return vbdesk("submit", *arguments, "--journal", tmp_path / "journal.jsonl")

    return run


def jobs_of(near_service, group_id):
    with near_service.client() as client:
        return list(client.groups.all_jobs(group_id))


def test_a_folder_is_sent_once_with_the_times_in_its_names_and_awaited(submit, near_service, recordings):
    (recordings / "notes.txt").write_text("not a recording, and in a folder not meant")
    command = [recordings, "--group", "submit-1", "--sign", "stress", "--from-name", "--zone", "Europe/Berlin"]
    done = submit(*command, "--wait", "--json")
    assert done.exit_code == 0, done.stderr
    entries = json.loads(done.stdout)
    assert [entry["recorded_at"] for entry in entries] == [
        f"2026-03-0{day}T0{hour}:30:00.000000Z" for day, hour in ((1, 7), (2, 8), (3, 9))
    ]
    assert [entry["job"]["status"] for entry in entries] == ["done"] * 3
    again = submit(*command)
    assert again.exit_code == 0
    assert again.stdout.count("sent before") == 3
    assert [job.job_id for job in jobs_of(near_service, "submit-1")] == [entry["job_id"] for entry in entries]


def test_the_language_goes_with_every_file_and_a_wrong_one_sends_nothing(submit, near_service, recordings):
    file = min(recordings.iterdir())
    command = [file, "--group", "language-1", "--sign", "stress", "--from-name"]
    wrong = submit(*command, "--language", "english")
    assert (wrong.exit_code, near_service.service.queued()) == (2, [])
    assert "such as en, de or pt-BR" in wrong.stderr
    done = submit(*command, "--language", "en", "--second-language", "--wait", "--json")
    assert done.exit_code == 0, done.stderr
    [entry] = json.loads(done.stdout)
    assert entry["job"]["status"] == "done"
    with near_service.service.context.database.reading() as connection:
        text = connection.exec_driver_sql("SELECT spoken FROM jobs WHERE job_id = ?", (entry["job_id"],)).scalar_one()
    assert json.loads(text) == {"language": "en", "second_language": "true"}


def test_what_failed_is_sent_anew_on_demand_and_only_that(submit, near_service, recordings):
    first, second, _ = sorted(recordings.iterdir())
    command = [first, second, "--group", "subj-7", "--sign", "stress", "--from-name"]
    near_service.ends_as = "failed"
    assert submit(first, *command[2:]).exit_code == 0
    near_service.ends_as = "done"
    assert submit(*command, "--json").exit_code == 0
    assert [job.status for job in jobs_of(near_service, "subj-7")] == ["failed", "done"]
    again = json.loads(submit(*command, "--retry-failed", "--json").stdout)
    assert [entry["earlier"] for entry in again] == [True, False]
    assert sorted(job.status for job in jobs_of(near_service, "subj-7")) == ["done", "done", "failed"]
    assert all(entry["earlier"] for entry in json.loads(submit(*command, "--retry-failed", "--json").stdout))


def test_a_job_that_the_service_no_longer_knows_is_sent_again_on_demand_only(submit, near_service, recordings):
    file = min(recordings.iterdir())
    command = [file, "--group", "subj-7", "--sign", "stress", "--from-name"]
    assert submit(*command).exit_code == 0
    [lost] = jobs_of(near_service, "subj-7")
    near_service.erase(lost.job_id)
    told = submit(*command, "--retry-failed")
    assert told.exit_code == 1
    assert "an older database was restored. See --send-again." in told.stdout
    assert jobs_of(near_service, "subj-7") == []
    assert submit(*command, "--send-again").exit_code == 0
    [sent] = jobs_of(near_service, "subj-7")
    assert sent.job_id != lost.job_id
    assert sent.job_id in submit(*command).stdout


def test_what_cannot_be_analysed_is_named_and_the_others_are_sent(submit, near_service, recordings, tmp_path):
    broken, notes, unnamed = recordings / "broken_2026-03-01_08-00.wav", tmp_path / "notes.txt", recordings / "a.flac"
    broken.write_bytes(b"RIFF of a kind")
    notes.write_text("notes")
    shutil.copy(recordings / "reading_2026-03-01_08-30-00.flac", unnamed)
    done = submit(recordings, notes, "--group", "submit-2", "--model", "breath", "--from-name", "--longitudinal")
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert "notes.txt: not sent. The file is not WAV, FLAC, MP3 or M4A." in lines
    assert "a.flac: not sent. There is no date and time in the name of the file." in lines
    assert any(line.startswith("broken_2026-03-01_08-00.wav: not sent. ") for line in lines)
    assert len(jobs_of(near_service, "submit-2")) + done.stdout.count("same recording") == 3


def test_one_file_takes_the_time_that_is_given_or_else_its_own(submit, near_service, recordings):
    first, second, _ = sorted(recordings.iterdir())
    assert submit(first, "--group", "submit-3", "--sign", "stress", "--recorded-at", "2026-02-01T12:00").exit_code == 0
    os.utime(second, (1_770_000_000, 1_770_000_000))
    assert submit(second, "--group", "submit-3", "--sign", "stress").exit_code == 0
    moments = [job.recorded_at for job in jobs_of(near_service, "submit-3")]
    assert all(moment.microsecond for moment in moments), "without a fraction of a second it gets one of its own"
    assert [moment.replace(microsecond=0) for moment in moments] == [
        datetime(2026, 2, 1, 12, tzinfo=UTC),
        datetime.fromtimestamp(1_770_000_000, UTC),
    ]


def test_a_list_names_subjects_times_and_targets(submit, near_service, recordings):
    names = [path.name for path in sorted(recordings.iterdir())]
    listed = recordings / "list.csv"
    listed.write_text(
        "path,group_id,recorded_at,model\n"
        f"{names[0]},submit-4,2026-03-01T09:30:00+01:00,sign:stress\n"
        f"{names[1]},submit-5,2026-03-01T09:30:00Z,\n"
        "gone.wav,submit-5,,\n"
    )
    done = submit("--csv", listed, "--sign", "allergy")
    assert done.exit_code == 1
    assert "There is no file gone.wav." in done.stdout
    [first], [second] = jobs_of(near_service, "submit-4"), jobs_of(near_service, "submit-5")
    moment = first.recorded_at.replace(microsecond=0)
    assert (first.sign_name, moment) == ("stress", datetime(2026, 3, 1, 8, 30, tzinfo=UTC))
    assert second.sign_name == "allergy"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Name files, or a list with --csv."),
        (["FILE"], "Name the subject with --group."),
        (["FILE", "--group", "-x"], "A group id starts with a letter or digit"),
        (["FILE", "--group", "s"], "either --model NAME or --sign NAME"),
        (["FILE", "--group", "s", "--model", "pulse", "--sign", "stress"], "either --model NAME or --sign NAME"),
        (["FILE", "--group", "s", "--from-name", "--recorded-at", "2026-03-01T09:30"], "not both"),
        (["FILE", "--group", "s", "--recorded-at", "yesterday"], "ISO 8601"),
        (["FILE", "--group", "s", "--zone", "Nowhere/Here", "--sign", "stress"], "There is no zone Nowhere/Here."),
        (["gone.wav", "--group", "s", "--sign", "stress"], "There is no gone.wav."),
        (["FOLDER", "--group", "s", "--sign", "stress", "--recorded-at", "2026-03-01T09:30"], "is for one file"),
        (["--csv", "FILE", "--group", "s", "--sign", "stress"], "come from the list"),
    ],
)
def test_a_wrong_command_line_is_said_before_anything_is_sent(submit, recordings, arguments, sentence):
    places = {"FILE": sorted(recordings.iterdir())[0], "FOLDER": recordings}
    done = submit(*(places.get(argument, argument) for argument in arguments))
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_same_account_id_at_another_service_has_a_journal_of_its_own(vbdesk, near_service, recordings, tmp_path):
    file, desk = sorted(recordings.iterdir())[0], tmp_path / "desk"
    command = ["submit", file, "--group", "subj-9", "--sign", "stress", "--data-dir", desk]
    assert vbdesk(*command).exit_code == 0
    [journal] = (desk / "submitted").glob("*.jsonl")
    written = journal.read_bytes()
    elsewhere = API.replace("://", "://other.")
    vbdesk(*command, VBDESK_BASE_URL=elsewhere)
    assert journal.read_bytes() == written
    assert len(list((desk / "submitted").glob("*.jsonl"))) == 2
    assert "sent before" in vbdesk(*command, VBDESK_BASE_URL=f"{API}/").stdout


def test_an_empty_folder_is_said(submit, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    done = submit(empty, "--group", "s", "--sign", "stress")
    assert (done.exit_code, done.stderr) == (1, "There is no recording there.\n")


def test_what_the_service_may_have_is_said_and_sent_again_only_on_demand(submit, near_service, recordings, monkeypatch):
    """The answer is lost at a service without keys, and the time was supplied: nothing proves a job."""
    monkeypatch.setattr("vbdesk.client.submission.SEARCH_AFTER_S", (0.0, 0.01))
    first, *_ = sorted(recordings.iterdir())
    command = [first, "--group", "subj-8", "--sign", "stress", "--recorded-at", "2026-03-01T07:30:00.123456Z"]
    near_service.reads_refs, near_service.loses = False, 1
    unknown = submit(*command)
    assert unknown.exit_code == 1
    assert "not known whether it was sent" in unknown.stdout
    assert "--send-again" in unknown.stdout
    assert submit(*command).exit_code == 1
    assert len(jobs_of(near_service, "subj-8")) == 1
    again = submit(*command, "--send-again", "--json")
    assert again.exit_code == 0, again.output
    [entry] = json.loads(again.stdout)
    assert entry["job_id"] in {job.job_id for job in jobs_of(near_service, "subj-8")}
    assert len(jobs_of(near_service, "subj-8")) == 2
    assert json.loads(submit(*command, "--json").stdout)[0]["job_id"] == entry["job_id"], "the decision is kept"


@pytest.mark.parametrize(("fault", "uploads"), [("double_puts", 3), ("use_first_address", 4)])
def test_a_doubled_put_is_success_and_a_foreign_file_at_an_address_is_never_analysed(
    submit, near_service, recordings, fault, uploads
):
    getattr(near_service, fault)()
    done = submit(recordings, "--group", "submit-9", "--sign", "stress", "--from-name", "--wait", "--json")
    assert done.exit_code == 0, done.stderr
    minted = sum(request == "POST /v2/audio/uploads" for request in near_service.requests)
    assert minted == uploads
    assert sorted(near_service.analysed()) == sorted(path.read_bytes() for path in recordings.iterdir())


def test_a_journal_on_a_full_disk_ends_in_a_sentence_and_the_next_run_sends_each_once(
    vbdesk, near_service, recordings, disk_of
):
    folder = disk_of("1m")
    filler = fill(folder)
    command = ["submit", recordings, "--group", "submit-8", "--sign", "stress", "--from-name"]
    done = vbdesk(*command, "--journal", folder / "journal.jsonl")
    assert done.exit_code == 3
    assert done.stderr == (
        "The journal cannot be written, so nothing more was sent. The disk is full. Nothing is lost. "
        "Make room, then run the command again.\n"
    )
    filler.unlink()
    assert vbdesk(*command, "--journal", folder / "journal.jsonl").exit_code == 0
    assert len(jobs_of(near_service, "submit-8")) == 3
    assert sum("/analyze" in request for request in near_service.requests) == 3


def test_a_time_that_is_not_used_is_said(submit, vbdesk, near_service, recordings, tmp_path):
    """The recording was sent before with another time: this journal knows it, or only the service."""
    first, *_ = sorted(recordings.iterdir())
    command = [first, "--group", "subj-9", "--sign", "stress"]
    assert submit(*command, "--recorded-at", "2026-03-01T10:00:00Z").exit_code == 0
    other = ["submit", *command, "--recorded-at", "2026-03-09T10:00:00Z"]
    again = submit(*other[1:])
    assert again.exit_code == 0
    assert "recorded 2026-03-01" in again.stdout
    assert "The time 2026-03-09" in again.stdout
    assert "was not used" in again.stdout
    elsewhere = vbdesk(*other, "--journal", tmp_path / "another computer.jsonl")
    assert elsewhere.exit_code == 1
    assert "not known whether it was sent" in elsewhere.stdout
    assert len(jobs_of(near_service, "subj-9")) == 1


def test_a_name_that_is_not_utf_8_keeps_no_other_file_back(submit, near_service, recordings):
    first, *_ = sorted(recordings.iterdir())
    strange = recordings / os.fsdecode(b"0000 bad\xff.flac")
    strange.write_bytes(first.read_bytes() + b"more")
    done = submit(recordings, "--group", "subj-10", "--sign", "stress")
    assert done.exit_code == 0, done.output
    assert len(jobs_of(near_service, "subj-10")) == 4


def test_a_journal_that_is_nested_without_end_and_an_address_that_is_none_are_said(
    submit, vbdesk, recordings, tmp_path
):
    (tmp_path / "journal.jsonl").write_text("[" * 100_000 + "\n")
    first, *_ = sorted(recordings.iterdir())
    done = submit(first, "--group", "s", "--sign", "stress")
    assert done.exit_code == 1
    assert "is damaged" in done.stderr
    done = vbdesk("jobs", "list", VBDESK_BASE_URL="http://\x1b[31m")
    assert done.exit_code == 2
    assert "is not an address" in done.stderr
