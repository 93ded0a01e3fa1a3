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
from vbdesk.report.documents.compiler import missing_letters
from vbdesk.report.documents.report_input import PageSize, ReportOptions
from vbdesk.report.documents.reports import pdf_of_subjects, pdf_report
from vbdesk.report.letterhead import Letterhead
from vbdesk.report.sign_off import SignOff
from vbdesk.report.subject_record import RecordingRecord, SubjectRecord

SQUARE = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>'
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
    waiting = children(pdf.root_object["/StructTreeRoot"])
    while waiting:
        element = waiting.pop(0).get_object()
        if not isinstance(element, int) and "/S" in element:
            yield element
            waiting = [*children(element), *waiting]


def children(element: Any) -> list[Any]:
    inside = element.get("/K", [])
    inside = inside.get_object() if hasattr(inside, "get_object") else inside
    return list(inside) if isinstance(inside, list) else [inside]


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
    assert re.search(r"The Pulse analysis flags about \d+% of healthy speakers", first)
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
    metrics = "How the voice sounded"
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
    assert {"/Title", "/H1", "/P", "/Table", "/TR", "/TH", "/TD", "/Figure"} <= set(roles)
    spoken = [str(element["/Alt"]) for element in elements(pdf) if "/Alt" in element]
    assert any(text.startswith("Charts over time. Mood Disruption:") for text in spoken)
    assert "Elevated" in spoken  # a glyph in the table of voices
    assert pdf.root_object["/MarkInfo"]["/Marked"]
    assert pdf.root_object["/Lang"] == "en"
    assert pdf.metadata.title == "Voice biomarker report: pair"
    assert pdf.xmp_metadata.dc_title["x-default"] == pdf.metadata.title
    headings = [entry.title for entry in pdf.outline if not isinstance(entry, list)]
    assert headings[0] == "pair"
    assert {"Signals", "Over time", "Recording quality"} <= set(headings)


def test_the_document_says_that_it_can_be_archived_and_is_accessible(cases: dict[str, SubjectRecord]) -> None:
    for pdf in (reader(cases["gaps and anomalies"]), PdfReader(io.BytesIO(of_subjects(cases)))):
        said = pdf.root_object["/Metadata"].get_object().get_data().decode()
        assert "<pdfaid:part>3</pdfaid:part>" in said
        assert "<pdfaid:conformance>A</pdfaid:conformance>" in said
        assert "<pdfuaid:part>1</pdfuaid:part>" in said


def of_another_service(record: SubjectRecord) -> SubjectRecord:
    """The record with signals of an unknown calibration, so that the words of the service are printed."""

    def strange(each: RecordingRecord) -> RecordingRecord:
        result = each.job.result
        signals = [signal.model_copy(update={"sign_version": None}) for signal in result.signals]
        result = result.model_copy(update={"signals": signals})
        return replace(each, job=each.job.model_copy(update={"result": result}))

    return replace(record, recordings=tuple(map(strange, record.recordings)))


def test_a_summary_in_another_language_says_so(cases: dict[str, SubjectRecord]) -> None:
    pdf = reader(replace(of_another_service(cases["two"]), language="de"))
    assert [element["/Lang"] for element in elements(pdf) if "/Lang" in element] == ["de"]


def test_everything_drawn_is_tagged_or_decoration(cases: dict[str, SubjectRecord]) -> None:
    """Marks open and close in turn, and nothing is drawn outside them."""
    pdf = reader(cases["gaps and anomalies"])
    for page in pdf.pages:
        code = page.get_contents().get_data().decode("latin-1")
        depth = 0
        for operator in re.findall(r"(?<![\w/])(BDC|BMC|EMC|Tj|TJ)\b", code):
            depth += {"BDC": 1, "BMC": 1, "EMC": -1}.get(operator, 0)
            assert depth in (0, 1)
            assert depth or operator == "EMC"
        assert depth == 0


def test_every_font_is_embedded(cases: dict[str, SubjectRecord]) -> None:
    embedded = {"/FontFile", "/FontFile2", "/FontFile3"}
    fonts = [
        inner.get_object()["/FontDescriptor"].get_object()
        for page in reader(cases["gaps and anomalies"]).pages
        for font in page["/Resources"]["/Font"].values()
        for inner in font.get_object()["/DescendantFonts"]
    ]
    assert fonts
    assert all(embedded & set(font) for font in fonts)


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
        assert max(box[3] for box in seen) < height - 20
    first = document[0].get_textpage().get_text_range()
    assert "endofid" in first.replace("\r\n", "").replace("\u200b", "")


def test_more_signs_than_fit_continue_on_the_next_page() -> None:
    record = subject([{sign.value: 0.2 + 0.03 * k for sign in SignName} for k in range(3)], model=PULSE)
    pdf = reader(record)
    printed = words_of(pdf)
    assert all(sign.label in printed for sign in SignName)
    assert sum(str(element["/S"]) == "/Figure" for element in elements(pdf)) >= 2


@pytest.mark.parametrize("size", PageSize)
def test_one_recording_takes_two_pages_at_most(cases: dict[str, SubjectRecord], size: PageSize) -> None:
    for name in ("gaps and anomalies", "first recording", "two"):
        pdf = reader(cases[name], replace(OPTIONS, page_size=size, attach=False))
        assert len(pdf.pages) == 2
        assert "Signature" in words_of(pdf, 0)
        assert "Over time" in words_of(pdf, 1)


def test_the_appendix_holds_evidence_and_method_on_request(cases: dict[str, SubjectRecord]) -> None:
    record = cases["two"]
    known = "What research knows"
    assert known not in words_of(reader(record))
    printed = words_of(reader(record, replace(OPTIONS, appendix=True)))
    assert known in printed
    assert record.finished[-1].job.job_id in printed
    assert "signs.csv" in printed


def test_the_letterhead_stands_above_everything(cases: dict[str, SubjectRecord]) -> None:
    head = Letterhead("Practice #1 *Neurology*", ("12 High Street",), SQUARE)
    first = words_of(reader(cases["two"], replace(OPTIONS, letterhead=head)), 0)
    assert first.startswith("Practice #1 *Neurology* 12 High Street")


def of_subjects(cases: dict[str, SubjectRecord], **options: Any) -> bytes:
    return pdf_of_subjects(list(cases.values()), replace(OPTIONS, **options))


def test_a_cohort_has_an_overview_and_pages_of_every_subject(cases: dict[str, SubjectRecord]) -> None:
    pdf = PdfReader(io.BytesIO(of_subjects(cases)), strict=True)
    overview = words_of(pdf, 0)
    for record in cases.values():
        assert record.group_id in overview
    headings = [entry.title for entry in pdf.outline if not isinstance(entry, list)]
    for record in finished(cases).values():
        assert record.group_id in headings
    signs = pandas.read_csv(io.BytesIO(pdf.attachments["signs.csv"][0]))
    assert set(signs["group_id"]) == {record.group_id for record in finished(cases).values()}
    with pytest.raises(ValueError, match="nothing to print"):
        pdf_of_subjects([cases["nothing yet"]], OPTIONS)


def test_a_subject_of_many_recordings_prints_its_course_and_its_newest(long_course: SubjectRecord) -> None:
    pdf = PdfReader(io.BytesIO(pdf_of_subjects([long_course], replace(OPTIONS, attach=False))))
    printed = words_of(pdf)
    assert "The newest 40 of 401" in printed
    assert len(pdf.pages) <= 4


def test_letters_without_a_font_are_squares_and_the_page_says_so() -> None:
    unknown = "\U0001f399\U000102a0"  # no font is made for the second
    record = of_another_service(subject(pulse_scores(1), narrative=f"Calm {unknown} voice."))
    printed = words_of(reader(record))
    assert "\u25a1 stands for letters that no font of this computer has." in printed
    assert unknown[1] not in printed
    assert "Calm" in printed
    assert "stands for letters" not in words_of(reader(subject(pulse_scores(1), narrative="Calm voice.")))


def test_letters_of_the_languages_have_a_font() -> None:
    assert missing_letters("Äßéñçøłőžğ Ελληνικά Кириллица Հայերեն ქართული עברית العربية “–…−") == ""
    assert missing_letters("a\U000102a0b") == "\U000102a0"
