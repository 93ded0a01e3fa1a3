"""Draw the pictures of README.md and docs/exports.md: two pages of a report with a letterhead.

    .venv/bin/python packaging/report_pictures.py

The subject is made up (tests/report/report_cases.py): a drift, a gap, recordings with quality issues.
"""

import sys
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path

import pypdfium2

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "report"))  # report_cases, by name

from report_cases import AS_OF, golden

from vbdesk.report.documents.report_input import ReportOptions
from vbdesk.report.documents.reports import pdf_report
from vbdesk.report.letterhead import Letterhead
from vbdesk.report.shipped_signs import shipped_signs
from vbdesk.report.sign_off import SignOff
from vbdesk.report.subject_record import RecordingRecord

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "screenshots"
PICTURES = {0: "report-front.png", 1: "report-over-time.png"}
SCALE = 1.4


def main() -> None:
    """Print the report, and keep its first two pages as pictures."""
    options = ReportOptions(
        exported_at=AS_OF + timedelta(minutes=20),
        zone=timezone(timedelta(hours=1)),
        sign_off=SignOff("Dr. A. Example", AS_OF + timedelta(minutes=15)),
        letterhead=Letterhead("Voice clinic St. Anne", ("12 Harbour Road", "Bristol")),
    )
    subject = golden()["gaps and anomalies"]
    subject = replace(subject, recordings=tuple(map(of_this_release, subject.recordings)))
    document = pypdfium2.PdfDocument(pdf_report(subject, options))
    for page, name in PICTURES.items():
        picture = document[page].render(scale=SCALE).to_pil()
        picture.save(FOLDER / name, optimize=True)


def of_this_release(recording: RecordingRecord) -> RecordingRecord:
    """The recording as if the shipped calibration had made its scores."""
    job, result = recording.job, recording.job.result
    if result is None:
        return recording
    signs = shipped_signs()
    signals = [signal.model_copy(update={"sign_version": signs[signal.name].version}) for signal in result.signals]
    return replace(recording, job=job.model_copy(update={"result": result.model_copy(update={"signals": signals})}))


if __name__ == "__main__":
    main()
