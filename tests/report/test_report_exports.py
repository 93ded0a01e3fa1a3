"""Export formats, and writing their files."""

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pypdf import PdfReader
from report_cases import AS_OF, SOURCE

from vbdesk.contract.groups import GroupJobItem
from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.privacy import set_export_mode
from vbdesk.report import exports
from vbdesk.report.documents.report_input import ReportOptions, ReportScope
from vbdesk.report.documents.reports import pdf_report
from vbdesk.report.drawing.style import Look, style
from vbdesk.report.exports import ExportFormat, WouldOverwrite, expected_files, export_files, write_files
from vbdesk.report.sign_off import SignOff
from vbdesk.report.subject_reader import read_subject
from vbdesk.report.subject_record import RecordSource, SubjectRecord

OPTIONS = ReportOptions(exported_at=AS_OF)


def test_every_format_makes_files_for_every_subject(cases: dict[str, SubjectRecord]) -> None:
    records = [cases["first recording"], cases["two"]]
    found = {kind: set(export_files(kind, records, OPTIONS)) for kind in ExportFormat}
    assert found[ExportFormat.FHIR] == {"first.fhir.json", "two.fhir.json"}
    assert found[ExportFormat.PDF] == {"first.pdf", "two.pdf"}
    assert found[ExportFormat.JSON] == {"first.json", "two.json"}
    assert found[ExportFormat.SVG] == {"first.svg", "two.svg"}
    assert found[ExportFormat.PNG] == {"first.png", "two.png"}
    assert "signs.csv" in found[ExportFormat.CSV]
    for kind, names in found.items():
        assert set(expected_files(kind, ["first", "two"])) <= names
    assert "sub-two/sub-two_sessions.tsv" in found[ExportFormat.BIDS]


def test_subjects_over_time_have_a_file_each_or_one_together(cases: dict[str, SubjectRecord]) -> None:
    records = [cases["first recording"], cases["two"]]
    each = export_files(ExportFormat.PDF, records, replace(OPTIONS, scope=ReportScope.OVER_TIME))
    assert set(each) == {"first.pdf", "two.pdf"}
    assert "Subject over time" in printed(each["two.pdf"])
    options = replace(OPTIONS, scope=ReportScope.TOGETHER, appendix=True)
    [(name, content)] = export_files(ExportFormat.PDF, records, options).items()
    assert [name] == expected_files(ExportFormat.PDF, ["first", "two"], ReportScope.TOGETHER) == ["subjects.pdf"]
    words = printed(content)
    assert all(record.group_id in words for record in records)
    assert "What research knows" in words


@pytest.mark.parametrize("look", Look)
def test_pictures_are_drawn_in_every_look(cases: dict[str, SubjectRecord], look: Look) -> None:
    options = replace(OPTIONS, look=look)
    [svg] = export_files(ExportFormat.SVG, [cases["two"]], options).values()
    [png] = export_files(ExportFormat.PNG, [cases["two"]], options).values()
    assert isinstance(svg, bytes)
    assert isinstance(png, bytes)
    assert style(look).colour.accent.encode() in svg
    assert png.startswith(b"\x89PNG")
    assert pdf_report(cases["two"], options).startswith(b"%PDF")


def printed(content: object) -> str:
    assert isinstance(content, bytes)
    return " ".join(" ".join(page.extract_text() for page in PdfReader(io.BytesIO(content)).pages).split())


def test_the_pages_of_the_desk_do_not_load_typst() -> None:
    """It loads with the first document, in the task that makes it."""
    code = "import sys, vbdesk.report.exports; sys.exit('typst' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_json_holds_the_reads_unchanged(case: SubjectRecord) -> None:
    [content] = export_files(ExportFormat.JSON, [case], OPTIONS).values()
    document = json.loads(content)
    assert [one["job"] for one in document["recordings"]] == [
        item.job.model_dump(mode="json") for item in case.recordings
    ]
    if case.trajectory is not None:
        assert TrajectoryRead.model_validate(document["trajectory"]) == case.trajectory


def test_files_are_written_and_copied_into_folders_that_are_made(tmp_path: Path) -> None:
    sound = tmp_path / "sound"
    sound.write_bytes(b"fLaC")
    write_files(tmp_path / "out" / "new", {"a/b.txt": b"text", "c.flac": sound})
    assert (tmp_path / "out/new/a/b.txt").read_bytes() == b"text"
    assert (tmp_path / "out/new/c.flac").read_bytes() == b"fLaC"


def test_no_file_is_overwritten_without_permission(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(b"old")
    with pytest.raises(WouldOverwrite, match=r"b\.txt would be overwritten"):
        write_files(tmp_path, {"a.txt": b"new", "b.txt": b"new"})
    assert not (tmp_path / "a.txt").exists()
    write_files(tmp_path, {"a.txt": b"new", "b.txt": b"new"}, overwrite=True)
    assert (tmp_path / "b.txt").read_bytes() == b"new"


def test_a_file_that_appears_during_an_export_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def another_appears(unfinished: Path) -> None:
        (tmp_path / "a.txt").write_bytes(b"of somebody else")

    monkeypatch.setattr(exports, "set_export_mode", another_appears)
    with pytest.raises(WouldOverwrite, match=r"a\.txt would be overwritten"):
        write_files(tmp_path, {"a.txt": b"new"})
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_bytes() == b"of somebody else"


def test_two_exports_to_one_file_do_not_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def another_export(unfinished: Path) -> None:
        monkeypatch.setattr(exports, "set_export_mode", set_export_mode)
        write_files(tmp_path, {"a.txt": b"in between"}, overwrite=True)

    monkeypatch.setattr(exports, "set_export_mode", another_export)
    write_files(tmp_path, {"a.txt": b"the last one"}, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_bytes() == b"the last one"


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "c.flac").write_bytes(b"old")
    with pytest.raises(FileNotFoundError):
        write_files(tmp_path, {"c.flac": tmp_path / "missing"}, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["c.flac"]
    assert (tmp_path / "c.flac").read_bytes() == b"old"


def test_a_failed_write_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "c.pdf").mkdir()
    with pytest.raises(OSError) as refused:
        write_files(tmp_path, {"c.pdf": b"text"}, overwrite=True)
    assert refused.value.filename == str(tmp_path / "c.pdf")
    assert [path.name for path in tmp_path.iterdir()] == ["c.pdf"]
    with pytest.raises(FileNotFoundError) as missing:
        write_files(tmp_path, {"d.flac": tmp_path / "missing"})
    assert Path(missing.value.filename) == tmp_path / "missing"


class Reads:
    """A client's groups and jobs, from a record."""

    def __init__(self, record: SubjectRecord) -> None:
        self._record = record

    def all_jobs(self, group_id):
        for item in reversed(self._record.recordings):
            job = item.job
            yield GroupJobItem(
                job_id=job.job_id,
                status=job.status,
                recorded_at=item.recorded_at,
                created_at=job.created_at,
                use_case=None,
                condition=None,
                audio_duration_seconds=job.audio_duration_seconds,
            )

    def wait_trajectory(self, group_id, *, timeout_s=None):
        return self._record.trajectory

    def get(self, job_id):
        return self._record.recording(job_id).job


def test_a_subject_is_read_through_a_client(cases: dict[str, SubjectRecord]) -> None:
    record, told = cases["mixed models"], []
    reads = Reads(record)
    found = read_subject("mixed", SOURCE, reads, reads, on_progress=lambda done, total: told.append((done, total)))
    assert found == record
    assert told[0] == (0, 10)
    assert told[-1] == (10, 10)


def test_the_service_is_named_and_one_that_vbdesk_runs_needs_no_address() -> None:
    embedded = RecordSource.of(None, "a")
    assert (embedded.service, embedded.url) == ("this-computer", "http://localhost")
    near, other = RecordSource.of("http://127.0.0.1:4711", "a"), RecordSource.of("http://localhost:9000/", "a")
    assert (near.service, other.service) == ("http://127.0.0.1:4711", "http://localhost:9000"), "two services"
    assert near.url == other.url == embedded.url, "ids of FHIR stay as they were"
    far = RecordSource.of("https://h.example:8443/", "a")
    assert far.service == far.url == "https://h.example:8443"


def test_a_sign_off_names_a_person_and_a_time_with_a_zone() -> None:
    for name in ("", " ", "x" * 201):
        with pytest.raises(ValueError, match="Give the name"):
            SignOff(name, AS_OF)
    assert SignOff("x" * 200, AS_OF).name == "x" * 200
    with pytest.raises(ValueError, match="needs a time zone"):
        SignOff("Dr. A", AS_OF.replace(tzinfo=None))


def test_nothing_is_drawn_without_a_result(cases: dict[str, SubjectRecord]) -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        export_files(ExportFormat.SVG, [cases["nothing yet"]], OPTIONS)


def test_the_recording_to_print_must_be_there(cases: dict[str, SubjectRecord]) -> None:
    with pytest.raises(ValueError, match="has no recording with the job"):
        export_files(ExportFormat.PDF, [cases["two"]], replace(OPTIONS, job_id="nobody"))
