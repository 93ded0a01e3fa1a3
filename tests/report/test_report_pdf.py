"""The PDF report, read back by pypdf and pdfium."""

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta, timezone
from typing import Any

import pandas
import pypdfium2
import pytest
from fhir.resources.R4B.bundle import Bundle
from pypdf import PdfReader
from report_cases import AS_OF, PULSE, pulse_scores, subject

from vbdesk.contract.catalog import MODEL_SIGNS, ModelName, SignName
from vbdesk.contract.levels import Level
from vbdesk.report.pdf import PageSize, ReportOptions, pdf_report
from vbdesk.report.report_texts import report_texts
from vbdesk.report.sign_off import SignOff
from vbdesk.report.subject_record import SubjectRecord

OPTIONS = ReportOptions(
    exported_at=AS_OF + timedelta(minutes=20),
    zone=timezone(timedelta(hours=1)),
    sign_off=SignOff("Dr. Ana Müller", AS_OF + timedelta(minutes=15)),
)


def reader(record: SubjectRecord, options: ReportOptions = OPTIONS) -> PdfReader:
    return PdfReader(io.BytesIO(pdf_report(record, options)), strict=True)


def words_of(pdf: PdfReader, page: int | None = None) -> str:
    pages = pdf.pages if page is None else [pdf.pages[page]]
    return " ".join(" ".join(page.extract_text() for page in pages).split())


def elements(pdf: PdfReader) -> Iterator[Any]:
    """Every structure element, in the order of reading."""
    waiting = [*pdf.root_object["/StructTreeRoot"]["/K"]]
    while waiting:
        element = waiting.pop(0).get_object()
        if not isinstance(element, int):
            yield element
            waiting = [*element["/K"], *waiting]


def finished(cases: dict[str, SubjectRecord]) -> dict[str, SubjectRecord]:
    return {name: record for name, record in cases.items() if record.finished}


@pytest.mark.parametrize("size", PageSize)
def test_every_subject_prints_with_what_a_clinician_needs_on_the_first_page(
    cases: dict[str, SubjectRecord], size: PageSize
) -> None:
    for record in finished(cases).values():
        pdf = reader(record, replace(OPTIONS, page_size=size))
        first, newest = words_of(pdf, 0), record.finished[-1]
        assert tuple(float(side) for side in pdf.pages[0].mediabox[2:]) == pytest.approx(size.points, abs=0.1)
        for needed in (
            record.group_id,
            newest.level.value.capitalize(),
            "A signal, not a diagnosis",
            "Dr. Ana Müller",
            "21 November 2026, 11:41 (UTC+01:00)",
            "21 November 2026, 11:56 (UTC+01:00)",
            *(signal.label for signal in newest.signals),
        ):
            assert needed in first, needed


def test_nothing_is_printed_without_a_result(cases: dict[str, SubjectRecord]) -> None:
    with pytest.raises(ValueError, match="no recording with a result yet"):
        pdf_report(cases["nothing yet"], OPTIONS)
    with pytest.raises(ValueError, match="no result yet"):
        pdf_report(cases["mixed models"], replace(OPTIONS, job_id="failed-1"))
    with pytest.raises(ValueError, match="has no recording with the job"):
        pdf_report(cases["two"], replace(OPTIONS, job_id="unknown"))


def test_the_change_and_the_share_of_false_flags_are_printed(cases: dict[str, SubjectRecord]) -> None:
    first = words_of(reader(cases["gaps and anomalies"]), 0)
    assert "Above baseline" in first
    assert "In own range" in first
    assert re.search(r"The Pulse analysis flags about \d+.% of healthy speakers", first)
    assert "Fair research support, not clinically validated" in first


def test_a_recording_without_a_finding_has_a_headline_that_says_so() -> None:
    first = words_of(reader(subject(pulse_scores(1), level=Level.NONE)), 0)
    assert "Nothing stood out" in first
    assert "overall level" not in first


def test_an_inconclusive_recording_is_compared_with_nothing(cases: dict[str, SubjectRecord]) -> None:
    first = words_of(reader(cases["inconclusive only"]), 0)
    assert "Record again." in first
    assert "Not compared" in first
    assert "In own range" not in first


def test_an_older_recording_can_be_printed(cases: dict[str, SubjectRecord]) -> None:
    record = cases["gaps and anomalies"]
    older = record.finished[2]
    first = words_of(reader(record, replace(OPTIONS, job_id=older.job.job_id)), 0)
    assert "3 recordings" in first
    assert older.level.value.capitalize() in first


def test_the_attached_tables_and_bundle_are_complete(cases: dict[str, SubjectRecord]) -> None:
    record = cases["gaps and anomalies"]
    pdf = reader(record)
    attached = {name: contents[0] for name, contents in pdf.attachments.items()}
    signs = pandas.read_csv(io.BytesIO(attached["signs.csv"]))
    assert len(signs) == 6 * 24
    bundle = Bundle.model_validate_json(attached["report.fhir.json"])
    reports = [entry.resource for entry in bundle.entry if entry.resource.__resource_type__ == "DiagnosticReport"]
    assert len(reports) == 1
    files = [file.get_object() for file in pdf.root_object["/AF"]]
    assert {file["/UF"]: file["/AFRelationship"] for file in files}["signs.csv"] == "/Data"
    assert all(int(file["/EF"]["/F"].get_object()["/Params"]["/Size"]) == len(attached[file["/UF"]]) for file in files)
    assert files[0]["/EF"]["/F"].get_object()["/Subtype"] == "/text/csv"


def test_scores_are_printed_and_attached_for_research_only(cases: dict[str, SubjectRecord]) -> None:
    record = cases["two"]
    score = f"{record.finished[-1].signals[0].score:.3f}"
    care, research = (reader(record, replace(OPTIONS, scores=scores)) for scores in (False, True))
    assert score not in words_of(care)
    assert score in words_of(research)
    metrics = report_texts().details.metrics
    assert metrics not in words_of(care)
    assert metrics in words_of(research)
    exact = str(record.finished[-1].signals[0].score).encode()
    assert not any(exact in files[0] for files in care.attachments.values())
    assert exact in research.attachments["signs.csv"][0]
    assert exact in research.attachments["report.fhir.json"][0]


def test_the_document_is_readable_by_screen_readers(cases: dict[str, SubjectRecord]) -> None:
    pdf = reader(cases["diarized"])
    roles = [str(element["/S"]) for element in elements(pdf)]
    assert roles[0] == "/Document"
    assert roles.count("/H1") == 2
    assert {"/H2", "/P", "/Table", "/TR", "/TH", "/TD", "/Figure"} <= set(roles)
    spoken = [str(element["/Alt"]) for element in elements(pdf) if "/Alt" in element]
    assert any(text.startswith("Charts over time. Mood Disruption:") for text in spoken)
    assert "Moderate" in spoken  # a glyph in the list of recordings
    assert pdf.root_object["/MarkInfo"]["/Marked"]
    assert pdf.root_object["/Lang"] == "en"
    assert pdf.metadata.title == "Voice biomarker report: pair"
    assert pdf.xmp_metadata.dc_title["x-default"] == pdf.metadata.title
    assert [entry.title for entry in pdf.outline if not isinstance(entry, list)] == [
        "Voice biomarker report",
        "Over time",
    ]


def test_a_summary_in_another_language_says_so(cases: dict[str, SubjectRecord]) -> None:
    pdf = reader(replace(cases["two"], language="de"))
    assert [element["/Lang"] for element in elements(pdf) if "/Lang" in element] == ["de"]


def test_everything_drawn_is_tagged_or_decoration(cases: dict[str, SubjectRecord]) -> None:
    """Marks open and close in turn, and every mark of a page belongs to an element."""
    pdf = reader(cases["gaps and anomalies"])
    parents = pdf.root_object["/StructTreeRoot"]["/ParentTree"]["/Nums"]
    for number, page in enumerate(pdf.pages):
        code = page.get_contents().get_data().decode("latin-1")
        marks = [int(mark) for mark in re.findall(r"/MCID (\d+)>> BDC", code)]
        assert marks == list(range(len(marks)))
        assert len(parents[2 * number + 1].get_object()) == len(marks)
        depth = 0
        for operator in re.findall(r"\b(BDC|BMC|EMC|Tj|re f|S)\b", code):
            depth += {"BDC": 1, "BMC": 1, "EMC": -1}.get(operator, 0)
            assert depth in (0, 1)
            assert depth or operator in {"EMC"}
        assert depth == 0


def test_every_font_is_embedded(cases: dict[str, SubjectRecord]) -> None:
    for page in reader(cases["gaps and anomalies"]).pages:
        for font in page["/Resources"]["/Font"].values():
            assert "/FontFile2" in font.get_object()["/FontDescriptor"]


def test_the_same_report_has_the_same_bytes_and_another_hour_another_time(cases: dict[str, SubjectRecord]) -> None:
    record = cases["two"]
    assert pdf_report(record, OPTIONS) == pdf_report(record, OPTIONS)
    later = reader(record, replace(OPTIONS, exported_at=OPTIONS.exported_at + timedelta(hours=1)))
    assert later.metadata.creation_date == OPTIONS.exported_at + timedelta(hours=1)


def test_hostile_names_stay_on_the_page() -> None:
    """No letter is drawn outside the page, with any text."""
    group_id = "Z" + "a1-b.c_d~" * 56 + "endofid"
    record = subject(
        [{sign.value: 0.3 + 0.1 * k for sign in MODEL_SIGNS[ModelName.APEX]} for k in range(5)],
        group_id=group_id,
        model=ModelName.APEX,
        issues={4: ("clipping", "x" * 200)},
        narrative='שלום 🎙 "quoted"\n=1+1\tنص ' + "w" * 400 + "\x00",
        speakers=3,
    )
    sign_off = SignOff("دكتورة ליאה 王 <b>&" + " von und zu" * 12, AS_OF)
    document = pypdfium2.PdfDocument(pdf_report(record, replace(OPTIONS, page_size=PageSize.LETTER, sign_off=sign_off)))
    width, height = PageSize.LETTER.points
    for page in document:
        text = page.get_textpage()
        boxes = [text.get_charbox(place) for place in range(text.count_chars())]
        seen = [box for box in boxes if box[2] > box[0]]
        assert min(box[0] for box in seen) > 40
        assert max(box[2] for box in seen) < width - 40
        assert min(box[1] for box in seen) > 20
        assert max(box[3] for box in seen) < height - 30
    first = document[0].get_textpage().get_text_range()
    assert "endofid" in first.replace("\r\n", "")


def test_more_signs_than_fit_continue_on_the_next_page() -> None:
    record = subject([{sign.value: 0.2 + 0.03 * k for sign in SignName} for k in range(3)], model=PULSE)
    pdf = reader(record)
    printed = words_of(pdf)
    assert all(sign.label in printed for sign in SignName)
    assert sum(str(element["/S"]) == "/Figure" for element in elements(pdf)) >= 2


def test_the_report_texts_declare_their_language() -> None:
    assert report_texts().language == "en"


def test_a_thousand_recordings_print(thousand: SubjectRecord) -> None:
    pdf = reader(thousand, replace(OPTIONS, attach=False))
    assert "1001 recordings" in words_of(pdf, 0)
    assert len(pdf.pages) < 8


def test_one_recording_of_six_signs_fits_the_first_page() -> None:
    pdf = reader(subject(pulse_scores(1)), replace(OPTIONS, page_size=PageSize.LETTER))
    assert "Signature" in words_of(pdf, 0)
    assert "Over time" in words_of(pdf, 1)
