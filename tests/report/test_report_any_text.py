"""Every export encodes any text of a service or a user, and can be read back."""

import csv
import io
from dataclasses import replace
from xml.etree import ElementTree

from fhir.resources.R4B.bundle import Bundle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pypdf import PdfReader
from report_cases import AS_OF, pulse_scores, subject

from vbdesk.report.documents.report_input import ReportOptions
from vbdesk.report.documents.reports import pdf_report
from vbdesk.report.drawing.shapes import Drawing, TextLine
from vbdesk.report.drawing.svg import to_svg
from vbdesk.report.drawing.text_size import wrapped
from vbdesk.report.fhir import fhir_bundle
from vbdesk.report.sign_off import SignOff
from vbdesk.report.subject_record import SubjectRecord
from vbdesk.report.tidy_csv import csv_files

ODD = (
    "\ud83c half",
    "\ufffe\uffff",
    "\x00\x7f\x85",
    "\u2028x\u2029",
    "\U0001f468\u200d\U0001f469",
    "\u0301\u0301",
    "\ue000",
    "one\rtwo\r\nthree",
    "\r=1+1",
)
ANY = st.one_of(st.sampled_from(ODD), st.text(st.characters(exclude_categories=()), max_size=80))
MANY = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PLAIN = subject(pulse_scores(1))


def saying(narrative: str) -> SubjectRecord:
    """The plain subject with another summary, label and anchor."""
    item = PLAIN.recordings[0]
    result = item.job.result
    description = result.summary.description.model_copy(update={"summary": narrative})
    result = result.model_copy(
        update={
            "summary": result.summary.model_copy(update={"description": description}),
            "signals": [signal.model_copy(update={"label": narrative}) for signal in result.signals],
            "extended_metrics": [
                metric.model_copy(update={"low_anchor": narrative}) for metric in result.extended_metrics
            ],
        }
    )
    return replace(PLAIN, recordings=(replace(item, job=item.job.model_copy(update={"result": result})),))


@MANY
@given(ANY)
def test_tables_and_bundle(narrative: str) -> None:
    record = saying(narrative)
    tables = csv_files([record])
    [row] = csv.DictReader(io.StringIO(tables["recordings.csv"].decode(), newline=""))
    if narrative.isprintable():
        assert row["narrative"] in (narrative, f"'{narrative}")
    Bundle.model_validate_json(fhir_bundle(record, scores=True))


@settings(MANY, max_examples=12)
@given(ANY, ANY.filter(str.strip))
def test_report(narrative: str, name: str) -> None:
    options = ReportOptions(exported_at=AS_OF, sign_off=SignOff(name, AS_OF))
    pdf = PdfReader(io.BytesIO(pdf_report(saying(narrative), options)), strict=True)
    assert "Read by" in pdf.pages[0].extract_text()


@MANY
@given(ANY)
def test_drawing(words: str) -> None:
    svg = to_svg(Drawing(100, 20, words, words, [TextLine((0, 10), words, 8, "#000000")]))
    assert ElementTree.fromstring(svg) is not None


@settings(MANY, max_examples=100)
@given(ANY, st.floats(10, 300))
def test_lines_lose_no_letter(words: str, width: float) -> None:
    assert " ".join(wrapped(words, 9, width)) == " ".join(words.split())
