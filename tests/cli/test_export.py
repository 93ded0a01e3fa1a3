"""`vbdesk export`, on a real service."""

import csv
import io
import json
from datetime import timedelta

import pytest
import typer
from failing_disk import FailingDisk, fill
from pyarrow import parquet
from pypdf import PdfReader

from vbdesk.cli.export import export as export_command
from vbdesk.cli.export_library import as_library_knows, letterhead_of, note_export
from vbdesk.client import AudioSource, Target
from vbdesk.clock import utc_now
from vbdesk.contract.jobs import Job
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.consent import ConsentKind
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, library_folder, library_key
from vbdesk.outbox.profiles.vault import MemoryVault
from vbdesk.report import parquet as parquet_module
from vbdesk.report.fhir import fhir_bundle
from vbdesk.report.letterhead import Letterhead
from vbdesk.report.subject_record import RecordSource, subject_record
from vbdesk.report.tidy_csv import csv_files

DAYS = [utc_now().replace(microsecond=0) - timedelta(days=ago) for ago in (14, 7)]

QUEUED = Job.model_validate(
    {
        "job_id": "job-1",
        "status": "queued",
        "created_at": "2026-03-01T10:00:00Z",
        "completed_at": None,
        "job_type": "sign",
        "api_version": "v2",
        "audio_content_type": "audio/flac",
        "audio_size_bytes": 1,
        "audio_duration_seconds": 20.0,
        "audio_sample_rate": 48000,
        "sign_name": "stress",
        "result": None,
    }
)


@pytest.fixture
def subject(near_service, speech_file):
    """A subject with two recordings; gives the ids of their jobs."""
    audio, stress = AudioSource.from_path(speech_file), Target("sign", "stress")
    with near_service.client() as client:
        return [
            client.analyze(stress, audio, group_id="subj:7", recorded_at=day, longitudinal=True).job_id for day in DAYS
        ]


def export(vbdesk, folder, *arguments):
    return vbdesk("export", "--group", "subj:7", "--out", str(folder), *arguments)


def test_tables_hold_every_recording(vbdesk, subject, tmp_path):
    done = export(vbdesk, tmp_path / "tables", "--format", "csv")
    assert (done.exit_code, done.stdout) == (0, f"{tmp_path / 'tables'}\n")
    with (tmp_path / "tables" / "signs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["job_id"] for row in rows] == subject
    assert float(rows[1]["score"]) >= 0


def test_a_bundle_and_a_report_are_named_by_the_subject(vbdesk, subject, tmp_path):
    done = export(vbdesk, tmp_path, "--format", "fhir")
    [written] = tmp_path.glob("subj_7-*.fhir.json")
    assert done.stdout == f"{written}\n"
    first = written.read_bytes()
    assert export(vbdesk, tmp_path, "--format", "fhir", "--force").exit_code == 0
    assert written.read_bytes() == first
    assert json.loads(first)["type"] == "collection"
    printed = export(vbdesk, tmp_path, "--format", "pdf", "--sign-off", "王小明", "--paper", "letter")
    assert printed.exit_code == 0
    assert "fonts lack these letters" in printed.stderr
    [report] = tmp_path.glob("*.pdf")
    assert report.read_bytes().startswith(b"%PDF-1.7")


def test_a_file_that_is_there_stays(vbdesk, near_service, subject, tmp_path):
    export(vbdesk, tmp_path, "--format", "json")
    near_service.requests.clear()
    again = export(vbdesk, tmp_path, "--format", "json")
    assert again.exit_code == 1
    assert near_service.requests == [], "it is seen before anything is read"
    assert "would be overwritten" in again.stderr
    assert "--force" in again.stderr


def test_a_pdf_over_time_or_of_all_subjects_together(vbdesk, subject, tmp_path):
    over_time = ("--format", "pdf", "--over-time", "--look", "print", "--appendix")
    assert export(vbdesk, tmp_path, *over_time).exit_code == 0
    [alone] = tmp_path.glob("subj_7*.pdf")
    printed = words_of_pdf(alone)
    assert "Subject over time" in printed
    assert "What research knows" in printed
    assert export(vbdesk, tmp_path, "--format", "pdf", "--together").exit_code == 0
    assert "Subject over time" in words_of_pdf(tmp_path / "subjects.pdf")
    again = export(vbdesk, tmp_path, "--format", "pdf", "--together")
    assert again.exit_code == 1
    assert "subjects.pdf would be overwritten" in " ".join(again.stderr.split())


def words_of_pdf(path):
    return " ".join(" ".join(page.extract_text() for page in PdfReader(path).pages).split())


def test_sound_is_copied_from_a_folder(vbdesk, subject, tmp_path, speech_file):
    sounds = tmp_path / "sounds"
    sounds.mkdir()
    (sounds / f"{subject[0]}.flac").write_bytes(speech_file.read_bytes())
    assert export(vbdesk, tmp_path / "bids", "--format", "bids", "--audio", str(sounds)).exit_code == 0
    [copied] = (tmp_path / "bids").glob("sub-*/ses-*/voice/*.flac")
    assert copied.read_bytes() == speech_file.read_bytes()


def test_what_a_folder_of_results_has_is_not_asked_for(vbdesk, near_service, subject, tmp_path):
    assert vbdesk("sync", "--results", tmp_path / "results").exit_code == 0
    near_service.requests.clear()
    done = export(vbdesk, tmp_path / "kept", "--format", "json", "--results", tmp_path / "results")
    assert done.exit_code == 0
    assert not any(f"/v2/jobs/{job_id}" in request for request in near_service.requests for job_id in subject)
    assert export(vbdesk, tmp_path / "asked", "--format", "json").exit_code == 0
    [kept], [asked] = (tmp_path / "kept").iterdir(), (tmp_path / "asked").iterdir()
    assert json.loads(kept.read_bytes())["recordings"] == json.loads(asked.read_bytes())["recordings"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--format", "xml"), "no format 'xml'"),
        (("--format", "pdf", "--paper", "a3"), "no paper 'a3'"),
        (("--format", "csv", "--over-time"), "go with --format pdf"),
        (("--format", "fhir", "--together"), "go with --format pdf"),
        (("--format", "svg", "--appendix"), "go with --format pdf"),
        (("--format", "pdf", "--over-time", "--job", "x"), "--job prints one recording"),
        (("--format", "csv", "--look", "print"), "--look goes with the formats pdf, svg, png"),
        (("--format", "pdf", "--look", "dark"), "no look 'dark'"),
        (("--format", "json", "--no-scores"), "JSON holds"),
        (("--format", "csv", "--job", "x"), "--job goes with"),
        (("--format", "bids", "--audio", "/nowhere"), "--audio names"),
        (("--format", "csv", "--service-language", "no language"), "no BCP 47 tag"),
        (("--format", "csv", "--results", "/nowhere"), "vbdesk sync --results /nowhere"),
        (("--format", "pdf", "--sign-off", " "), "name of the person"),
    ],
)
def test_a_wrong_command_line_is_refused_before_anything_is_asked(vbdesk, near_service, tmp_path, arguments, sentence):
    refused = export(vbdesk, tmp_path, *arguments)
    assert refused.exit_code == 2
    assert sentence in refused.stderr
    assert near_service.requests == []


def test_what_cannot_be_exported_is_said(vbdesk, near_service, tmp_path):
    nobody = export(vbdesk, tmp_path, "--format", "csv")
    assert nobody.exit_code == 1
    near_service.ends_as = "failed"
    with near_service.client() as client:
        client.groups.create("subj:7")
    empty = export(vbdesk, tmp_path, "--format", "pdf")
    assert empty.exit_code == 1
    assert "nothing to print" in empty.stderr


@pytest.fixture
def profile(tmp_path):
    """A profile without recordings here."""
    profile = Profile("p-1", "St. Anne", "service", "https://voice.example", "acc-1")
    ProfileStore(tmp_path).save(profile)
    return profile


def test_the_audit_log_of_the_laptop_is_told(profile, tmp_path, capsys):
    vault, folder = MemoryVault(), library_folder(tmp_path, profile.profile_id)
    note_export(None, tmp_path, "pdf, subjects=1", vault)
    assert not folder.exists(), "without recordings no library is made"
    LockedLibrary(profile, folder, vault).close()
    note_export("St. Anne", tmp_path, "pdf, subjects=1", vault)
    entries = AuditReader(folder, library_key(vault, profile, folder)).entries()
    [noted] = [entry for entry in entries if entry.what == AuditAction.EXPORTED]
    assert noted.detail == "pdf, subjects=1"
    assert "command line" in noted.who
    assert capsys.readouterr().err == ""


def test_a_report_gets_the_letterhead_of_the_profile(profile, tmp_path, capsys):
    vault, folder = MemoryVault(), library_folder(tmp_path, profile.profile_id)
    assert letterhead_of(None, tmp_path, vault) is None
    held, head = LockedLibrary(profile, folder, vault), Letterhead("Praxis am Markt", ("Markt 1",))
    held.letterhead.store(head)
    assert letterhead_of(None, tmp_path, vault) is None
    assert "The report has no letterhead" in capsys.readouterr().err, "the desk is open"
    held.close()
    assert letterhead_of("St. Anne", tmp_path, vault) == head


def test_an_export_while_the_desk_is_open_says_that_it_was_not_noted(profile, tmp_path, capsys):
    vault = MemoryVault()
    held = LockedLibrary(profile, library_folder(tmp_path, profile.profile_id), vault)
    note_export(None, tmp_path, "csv, subjects=1", vault)
    held.close()
    assert "not in the audit log" in capsys.readouterr().err


def test_an_export_from_this_computers_service_says_at_once_that_the_desk_is_open(tmp_path, capsys, monkeypatch):
    for name in ("VBDESK_BASE_URL", "VBDESK_ACCOUNT_ID", "VBDESK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    profile = Profile("p-1", "Here", "local", None, "acc-1")
    ProfileStore(tmp_path).save(profile)
    held = LockedLibrary(profile, library_folder(tmp_path, profile.profile_id), MemoryVault())
    monkeypatch.setattr("vbdesk.cli.export.open_client", None)  # nothing is asked
    with pytest.raises(typer.Exit) as ended:
        export_command("json", ["ward4-0172"], every=False, out=tmp_path / "out", data_dir=tmp_path)
    held.close()
    assert ended.value.exit_code == 3
    assert "open in another window" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_all_subjects_of_the_account_are_exported(vbdesk, near_service, subject, tmp_path):
    with near_service.client() as client:
        client.groups.create("nobody-yet")
    done = vbdesk("export", "--all", "--format", "csv", "--out", str(tmp_path / "all"))
    assert done.exit_code == 0, done.stderr
    with (tmp_path / "all" / "recordings.csv").open(encoding="utf-8", newline="") as file:
        assert {row["group_id"] for row in csv.DictReader(file)} == {"subj:7"}
    drawn = vbdesk("export", "--all", "--format", "svg", "--out", str(tmp_path / "charts"))
    assert drawn.exit_code == 0, drawn.stderr
    assert "nobody-yet has no result yet and is left out" in drawn.stderr
    assert len(list((tmp_path / "charts").glob("*.svg"))) == 1


@pytest.mark.parametrize("which", [(), ("--all", "--group", "a")])
def test_subjects_are_named_or_all_of_them(vbdesk, near_service, which):
    refused = vbdesk("export", "--format", "csv", *which)
    assert refused.exit_code == 2
    assert "Name subjects with --group, or all of them with --all." in refused.stderr
    assert near_service.requests == []


def test_tables_have_what_only_the_laptop_knows(profile, tmp_path, speech_file, capsys):
    vault, folder = MemoryVault(), library_folder(tmp_path, profile.profile_id)
    library = LockedLibrary(profile, folder, vault)
    metadata = TakeMetadata("s-1", DAYS[0], RecordingTarget("sign", "stress"), protocol="counting", tags=("pilot",))
    take_id = library.import_file(speech_file, metadata)
    with library.store.changing():
        library.store.update(take_id, {"job_id": "job-1"})
    record = subject_record("s-1", RecordSource("https://voice.example", "acc-1"), [(DAYS[0], QUEUED)])
    [without] = as_library_knows([record], None, tmp_path, vault, tables=True)
    assert without.recordings[0].details is None
    assert "stay empty" in capsys.readouterr().err
    library.close()
    [known] = as_library_knows([record], None, tmp_path, vault, tables=True)
    details = known.recordings[0].details
    assert (details.protocol, details.tags, details.imported) == ("counting", ("pilot",), True)


def test_a_withdrawn_consent_is_in_the_tables_when_the_recordings_are_gone(profile, tmp_path):
    vault, folder = MemoryVault(), library_folder(tmp_path, profile.profile_id)
    library = LockedLibrary(profile, folder, vault)
    library.consents.give("s-1", ConsentKind.BOTH, at=DAYS[0])
    library.withdraw_consent("s-1")
    library.close()
    record = subject_record("s-1", RecordSource("https://voice.example", "acc-1"), [(DAYS[1], QUEUED)])
    [known] = as_library_knows([record], None, tmp_path, vault, tables=True)
    table = csv_files([known])["recordings.csv"].decode()
    assert [row["consent"] for row in csv.DictReader(io.StringIO(table))] == ["withdrawn"]
    [printed] = as_library_knows([record], None, tmp_path, vault, tables=False)
    assert printed == record, "documents have no columns of the laptop"


def test_an_export_to_a_full_disk_is_said_in_a_sentence_and_room_lets_it_be_written(vbdesk, subject, disk_of):
    folder = disk_of("1m")
    filler = fill(folder)
    done = export(vbdesk, folder, "--format", "json")
    assert done.exit_code == 3
    assert done.stderr == (
        f"The export could not be written to {folder}. The disk is full. Nothing is lost. "
        "Make room, then run the command again.\n"
    )
    filler.unlink()
    assert export(vbdesk, folder, "--format", "json").exit_code == 0


def test_an_export_that_the_audit_log_cannot_take_is_said(profile, tmp_path, monkeypatch, capsys):
    vault = MemoryVault()
    LockedLibrary(profile, library_folder(tmp_path, profile.profile_id), vault).close()
    disk = FailingDisk().under_databases(monkeypatch)
    disk.full = True
    with pytest.raises(typer.Exit) as ended:
        note_export(None, tmp_path, "csv, subjects=1", vault)
    assert ended.value.exit_code == 3
    assert "not in the audit log: The disk is full." in capsys.readouterr().err


def test_tables_as_parquet(vbdesk, subject, tmp_path):
    done = export(vbdesk, tmp_path / "tables", "--format", "parquet")
    assert (done.exit_code, done.stdout) == (0, f"{tmp_path / 'tables'}\n")
    signs = parquet.read_table(tmp_path / "tables" / "signs.parquet")
    assert signs["job_id"].to_pylist() == subject
    assert signs["recorded_at"].to_pylist() == DAYS


def test_a_missing_package_is_said_before_anything_is_asked(vbdesk, near_service, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_module, "find_spec", lambda name: None)
    refused = export(vbdesk, tmp_path, "--format", "parquet")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("Parquet needs the package pyarrow")
    assert near_service.requests == []


def test_a_bundle_has_the_consents_that_this_computer_knows(profile, tmp_path, capsys):
    vault, folder = MemoryVault(), library_folder(tmp_path, profile.profile_id)
    library = LockedLibrary(profile, folder, vault)
    library.consents.give("s-1", ConsentKind.RESEARCH, wording="2.0", language="de", asked_by="Nurse Joy")
    with library.store.changing():
        library.store.journal.note(AuditAction.CONSENT_TAKEN_IN, None, outlasts="s-2")  # nobody can read it
    source = RecordSource("https://voice.example", "acc-1")
    records = [subject_record(name, source, []) for name in ("s-1", "s-2")]
    as_library_knows(records, None, tmp_path, vault, tables=False, consents=True)
    assert capsys.readouterr().err.startswith("Consents, and corrections")
    library.close()
    known, changed = as_library_knows(records, None, tmp_path, vault, tables=False, consents=True)
    assert "The export has no consent of subject s-2" in capsys.readouterr().err
    assert changed.consents == ()
    text = fhir_bundle(known).decode()
    assert '"Wording 2.0"' in text
    assert "Joy" not in text
