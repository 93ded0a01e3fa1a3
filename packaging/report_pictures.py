"""Draw the pictures of docs/exports.md: two pages of a report.

    .venv/bin/python packaging/report_pictures.py

The subject is made up (tests/report/report_cases.py): a drift, a gap, recordings with quality issues.
"""

import sys
from datetime import timedelta, timezone
from pathlib import Path

import pypdfium2

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "report"))  # report_cases, by name

from report_cases import AS_OF, golden

from vbdesk.report.documents.report_input import ReportOptions
from vbdesk.report.documents.reports import pdf_report
from vbdesk.report.sign_off import SignOff

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "screenshots"
PICTURES = {0: "report-front.png", 1: "report-over-time.png"}
SCALE = 1.4


def main() -> None:
    """Print the report, and keep its first two pages as pictures."""
    options = ReportOptions(
        exported_at=AS_OF + timedelta(minutes=20),
        zone=timezone(timedelta(hours=1)),
        sign_off=SignOff("Dr. A. Example", AS_OF + timedelta(minutes=15)),
    )
    document = pypdfium2.PdfDocument(pdf_report(golden()["gaps and anomalies"], options))
    for page, name in PICTURES.items():
        picture = document[page].render(scale=SCALE).to_pil()
        picture.save(FOLDER / name, optimize=True)


if __name__ == "__main__":
    main()
