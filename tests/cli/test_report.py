"""`vbdesk report` prints results in files, without any service."""

import io
import json
import sys
from pathlib import Path

import pytest
from pypdf import PdfReader
from typer.testing import CliRunner

sys.path.append(str(Path(__file__).parents[1] / "report"))  # report_cases, by name

from report_cases import golden

from vbdesk.cli.main import app
from vbdesk.report.exports import subject_json


@pytest.fixture
def subject(tmp_path):
    record = golden()["gaps and anomalies"]
    (tmp_path / "ward.json").write_bytes(subject_json(record))
    return record


def report(*arguments):
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def words_of(file):
    pages = PdfReader(io.BytesIO(file.read_bytes())).pages
    return " ".join(" ".join(page.extract_text() for page in pages).split())


def test_an_exported_subject_becomes_a_pdf_of_its_newest_recording_or_its_course(subject, tmp_path):
    out = tmp_path / "report.pdf"
    assert report(tmp_path / "ward.json", "--out", out, "--sign-off", "Dr. A. Example").exit_code == 0
    newest = words_of(out)
    assert subject.group_id in newest
    assert "Dr. A. Example" in newest
    again = report(tmp_path / "ward.json", "--out", out, "--over-time")
    assert again.exit_code == 1
    assert "--force" in again.output
    assert report(tmp_path / "ward.json", "--out", out, "--over-time", "--force").exit_code == 0
    assert "Subject over time" in words_of(out)


def test_jobs_in_files_are_one_subject_named_as_their_file(subject, tmp_path):
    lines = [item.job.model_dump_json() for item in subject.recordings]
    (tmp_path / "visits.jsonl").write_text("\n".join([*lines, lines[0], ""]))
    out = tmp_path / "visits.pdf"
    assert report(tmp_path / "visits.jsonl", "--out", out, "--over-time").exit_code == 0
    printed = words_of(out)
    assert "visits" in printed
    assert f"Recordings {len(lines)}" in printed.replace("Recordings\n", "Recordings ")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[1, 2]", "something else than results"),
        ('{"recordings": 3}', "something else than results"),
        ('{"job_id": "x"}', "something else than results"),
        ("no json", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        (json.dumps({"group_id": "g", "recordings": [], "trajectory": None}), "nothing to print"),
    ],
)
def test_other_files_are_refused_in_one_sentence(tmp_path, content, told):
    (tmp_path / "odd.json").write_text(content)
    done = report(tmp_path / "odd.json", "--out", tmp_path / "odd.pdf")
    assert done.exit_code == 1
    assert told in " ".join(done.output.split())
    assert not (tmp_path / "odd.pdf").exists()
