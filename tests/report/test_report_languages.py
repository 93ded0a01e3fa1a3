"""Reports in the language of their readers: every text, the direction of lines, numbers and dates; data stays."""

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any
from xml.etree import ElementTree

import pypdfium2
import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from pypdf import PdfReader
from report_cases import AS_OF, golden, subject

from other_catalogs import catalogs_in
from vbdesk.contract.levels import Level
from vbdesk.contract.results import AudioQuality
from vbdesk.language import Language, available_languages, current, language_of, reading_in
from vbdesk.report.documents import reports
from vbdesk.report.documents.recording_document import recording_document
from vbdesk.report.documents.report_input import ReportOptions, ReportScope, report_input
from vbdesk.report.documents.reports import pdf_of_subjects, pdf_report
from vbdesk.report.documents.subjects_document import subjects_document
from vbdesk.report.exports import ExportFormat, export_files
from vbdesk.report.letterhead import Letterhead
from vbdesk.report.result_texts import quality_text
from vbdesk.report.sign_off import SignOff
from vbdesk.report.subject_record import SubjectRecord

PSEUDO = Language("en_XA", "en_GB")
ARABIC = Language("ar", "ar_EG")
SVG = "{http://www.w3.org/2000/svg}"
OPTIONS = ReportOptions(
    exported_at=AS_OF + timedelta(minutes=20), sign_off=SignOff("Dr. A. B", AS_OF), scores=True, appendix=True
)
DATE = re.compile(r"(\d+ )?[A-Z][a-z]+( 20\d\d)?")
NOT_FOR_PEOPLE = {"glyphs", "look", "paper", "language", "region", "fonts", "producer", "attachments", "digits"}
NOT_FOR_PEOPLE |= {"level"}
WRITTEN_BY_OTHERS = {
    "narrative",  # in the language that the service was asked for
    "line",
    "running_head",
    "letterhead",
}


@pytest.fixture
def arabic(tmp_path):
    """Arabic without a translation: its direction, digits and dates."""
    with (tmp_path / "ar.mo").open("wb") as file:
        write_mo(file, Catalog(locale="ar"))
    with catalogs_in(tmp_path):
        yield ARABIC


def texts_of(value: Any) -> Iterator[str]:
    """What a document prints, with the words of its charts."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            if key == "svg":
                svg = ElementTree.fromstring(each)
                words = [text.text or "" for text in svg.iter(f"{SVG}text")]
                yield " ".join(word for word in words if not DATE.fullmatch(word))  # a text may have several lines
            elif key not in NOT_FOR_PEOPLE | WRITTEN_BY_OTHERS:
                yield from texts_of(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts_of(each)
    elif isinstance(value, str):
        yield value


def untranslated(texts: Iterator[str], *names: str) -> set[str]:
    """Texts with letters outside of brackets that are neither a name of the case nor a date of an axis."""
    found = set()
    for text in texts:
        rest = text.replace("] and [", "][")  # a list, whose signs are those of the region
        while (shorter := re.sub(r"\[[^\[\]]*\]", "", rest)) != rest:
            rest = shorter
        if re.search("[A-Za-z]{2}", rest.replace(", ", "")) and text not in names:
            found.add(text)
    return found


@pytest.mark.parametrize("name", golden())
def test_no_text_of_a_document_stays_untranslated(cases: dict[str, SubjectRecord], name: str) -> None:
    record = cases[name]
    if not record.finished:
        return
    with reading_in(PSEUDO):
        documents = [recording_document(report_input(record, OPTIONS)), subjects_document([record], OPTIONS)]
        documents.append(subjects_document([record, cases["two"]], OPTIONS))
        texts = [text for document in documents for text in texts_of(document)]
    assert len(texts) > 60
    assert untranslated(iter(texts), record.group_id, "two", "Dr. A. B") == set()


def test_the_attached_files_are_described_in_the_language(cases: dict[str, SubjectRecord]) -> None:
    with reading_in(PSEUDO):
        attached = recording_document(report_input(cases["two"], OPTIONS))["attachments"]
    assert len(attached) > 5
    assert all(each["description"].startswith("[") and each["listed"].startswith("[") for each in attached)


def checked(pdf: bytes) -> PdfReader:
    """A document that says it is archivable and accessible; Typst refuses to write one that is not."""
    document = PdfReader(io.BytesIO(pdf), strict=True)
    said = document.root_object["/Metadata"].get_object().get_data().decode()
    assert "<pdfaid:conformance>A</pdfaid:conformance>" in said
    assert "<pdfuaid:part>1</pdfuaid:part>" in said
    return document


@pytest.mark.parametrize("language", [*(language_of(name) for name in available_languages()), PSEUDO])
def test_a_report_has_the_tag_of_its_language(cases: dict[str, SubjectRecord], language: Language) -> None:
    record, before = cases["two"], current()
    options = replace(OPTIONS, language=language)
    for pdf in (pdf_report(record, options), pdf_of_subjects([record, cases["diarized"]], options)):
        assert checked(pdf).root_object["/Lang"].lower() == language.tag.lower()
    assert current() == before


def test_a_report_from_right_to_left(cases: dict[str, SubjectRecord], arabic: Language) -> None:
    pdf = checked(pdf_report(cases["two"], replace(OPTIONS, language=arabic)))
    assert pdf.root_object["/Lang"] == "ar"
    assert pdf.root_object["/ViewerPreferences"]["/Direction"] == "/R2L"
    printed = " ".join(page.extract_text() for page in pdf.pages)
    assert re.search("[٠-٩]{4}", printed), "the year in Arabic digits"
    assert not re.search(r"\b20\d\d\b", printed)


@pytest.mark.parametrize("name", ["clinic.north-", "Müller <b>"])
def test_names_keep_the_order_of_their_signs_in_lines_from_right_to_left(cases, arabic, name) -> None:
    """What a person typed is isolated, and no mark is added where lines run from left to right."""
    record = replace(cases["two"], group_id=name)
    letterhead = Letterhead(name="Clinic (north)", address=("1 Road -",))
    options = replace(OPTIONS, sign_off=SignOff("Dr. B (M.D.)", AS_OF), subject_line="Ann -", letterhead=letterhead)
    typed = {name, "Dr. B (M.D.)", "Ann -", "Clinic (north)", "1 Road -"}

    def printed(language: Language) -> set[str]:
        with reading_in(language):
            documents = [
                recording_document(report_input(record, options)),
                subjects_document([record], options),
                subjects_document([record, cases["gaps and anomalies"]], options),
            ]
        return set(_strings(documents))

    isolated = {f"\u2068{each}\u2069" for each in typed}
    assert isolated <= printed(arabic)
    assert not typed & printed(arabic)
    assert typed <= printed(language_of("de"))
    assert not isolated & printed(language_of("de"))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(each)


def test_low_letters_of_the_overall_level_stay_clear_of_the_line_below(cases, arabic, monkeypatch) -> None:
    def document(source):
        made = recording_document(source)
        return made | {"overall": made["overall"] | {"word": "مرتفع", "advice": "لا" * 30}}

    monkeypatch.setattr(reports, "recording_document", document)
    text = pypdfium2.PdfDocument(pdf_report(cases["two"], replace(OPTIONS, language=arabic)))[0].get_textpage()
    boxes = [(text.get_text_range(at, 1), text.get_charbox(at)) for at in range(text.count_chars())]
    (lowest,) = (box[1] for letter, box in boxes if letter == "ع")
    highest = max(box[3] for letter, box in boxes if letter in "لا")
    assert highest < lowest


@pytest.mark.parametrize(("from_right", "low", "high"), [(False, "qqq", "zzz"), (True, "ققق", "ششش")])
def test_a_scale_begins_where_lines_begin(cases, arabic, monkeypatch, from_right, low, high) -> None:
    def document(source):
        made = recording_document(source)
        columns = [
            {"low": low, "high": high} if isinstance(column, dict) else column for column in made["signals"]["columns"]
        ]
        return made | {"signals": made["signals"] | {"columns": columns}}

    monkeypatch.setattr(reports, "recording_document", document)
    options = replace(OPTIONS, language=arabic) if from_right else OPTIONS
    page = pypdfium2.PdfDocument(pdf_report(cases["two"], options))[0]
    text = page.get_textpage()
    left = {text.get_text_range(at, 1): text.get_charbox(at)[0] for at in range(text.count_chars())}
    lower, higher = left[low[0]], left[high[0]]
    assert (lower > higher) is from_right


def drawn(record: SubjectRecord, language: Language) -> ElementTree.Element:
    options = replace(OPTIONS, language=language, zone=UTC)
    (content,) = export_files(ExportFormat.SVG, [record], options).values()
    return ElementTree.fromstring(content)


def test_time_runs_from_left_to_right_and_names_stand_where_lines_begin(
    cases: dict[str, SubjectRecord], arabic: Language
) -> None:
    record = cases["gaps and anomalies"]
    english, mirrored = drawn(record, Language("en", "en_GB")), drawn(record, arabic)
    label = record.trajectory.signs[0].label
    for svg, anchor in ((english, "start"), (mirrored, "end")):
        [name] = [text for text in svg.iter(f"{SVG}text") if text.text == label]
        assert name.get("text-anchor") == anchor
        ringed = [float(circle.get("cx", "")) for circle in svg.iter(f"{SVG}circle") if circle.get("r") == "3.4"]
        middle = float(svg.get("viewBox", "").split()[2]) / 2
        assert ringed
        assert min(ringed) > middle - 20, "the unusual readings are the last ones"
    width = 540.0
    assert all(0 <= float(text.get("x", "")) <= width for text in mirrored.iter(f"{SVG}text"))


def test_a_long_legend_gets_more_lines(cases: dict[str, SubjectRecord]) -> None:
    record = cases["gaps and anomalies"]
    svg = drawn(record, PSEUDO)
    legend = [text for text in svg.iter(f"{SVG}text") if (text.text or "").startswith(("[Réá", "[Çöñs"))]
    heights = {float(text.get("y", "")) for text in legend[-2:]}
    assert len(heights) == 2
    assert max(heights) < float(svg.get("viewBox", "").split()[3])


@pytest.mark.parametrize(
    "kind", [ExportFormat.CSV, ExportFormat.PARQUET, ExportFormat.FHIR, ExportFormat.BIDS, ExportFormat.JSON]
)
def test_data_is_the_same_in_every_language(cases: dict[str, SubjectRecord], kind: ExportFormat) -> None:
    records = [cases["two"], cases["diarized"]]
    expected = export_files(kind, records, OPTIONS)
    with reading_in(PSEUDO):
        assert export_files(kind, records, OPTIONS) == expected
    assert export_files(kind, records, replace(OPTIONS, language=PSEUDO)) == expected


def test_the_text_of_a_fhir_resource_has_the_tag_of_its_language(cases: dict[str, SubjectRecord]) -> None:
    record = replace(cases["two"], language="de")
    (content,) = export_files(ExportFormat.FHIR, [record], OPTIONS).values()
    texts = re.findall(r"<div[^>]*>", content.decode())
    assert len(texts) > 10
    assert all(r"lang=\"en\" xml:lang=\"en\"" in text for text in texts)


def test_an_error_about_a_report_is_a_sentence_of_the_reader(cases: dict[str, SubjectRecord]) -> None:
    from vbdesk.language import translated

    with pytest.raises(ValueError, match="nothing to print") as told:
        pdf_report(cases["nothing yet"], replace(OPTIONS, scope=ReportScope.RECORDING))
    with reading_in(PSEUDO):
        assert translated(told.value).startswith("[Sûbjéçt ")


def test_an_inconclusive_level_is_named_in_every_place() -> None:
    record = subject([{"stress": 0.3}], model=None, level=Level.INCONCLUSIVE)
    with reading_in(PSEUDO):
        document = recording_document(report_input(record, OPTIONS))
        assert untranslated(texts_of(document), record.group_id, "Dr. A. B") == set()


@pytest.mark.parametrize("share", [None, 61.2])
def test_clarity_of_a_hundred_has_the_digits_of_one_region(share: float | None) -> None:
    quality = AudioQuality.model_construct(voice_percentage=share, audio_clarity=74.0, issues=[])
    with reading_in(ARABIC):
        assert not re.search("[0-9]", quality_text(quality).figures)
        assert "٧٤" in quality_text(quality).figures
        assert "١٠٠" in quality_text(quality).figures
