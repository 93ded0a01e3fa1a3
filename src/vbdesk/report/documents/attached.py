"""Files attached to a document."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from vbdesk.report.data_dictionary import table_definitions
from vbdesk.report.documents.report_input import ReportOptions
from vbdesk.report.fhir import fhir_bundle
from vbdesk.report.report_texts import report_texts
from vbdesk.report.subject_record import SubjectRecord
from vbdesk.report.tidy_csv import DICTIONARY_FILE, csv_files


@dataclass(frozen=True, slots=True)
class Attached:
    """A file attached to the document.

    Attributes:
        relationship: what the file is to the document: the data that it shows, or another form of the same.
    """

    name: str
    media_type: str
    description: str
    content: str
    relationship: Literal["data", "alternative"] = "data"


def attached_tables(records: Sequence[SubjectRecord], options: ReportOptions) -> list[Attached]:
    """The tables of these subjects, with their dictionary."""
    texts, tables, attached = report_texts().attachment, table_definitions(), []
    for name, content in csv_files(records, scores=options.scores).items():
        table = tables.get(name.removesuffix(".csv"))
        words = texts.dictionary if name == DICTIONARY_FILE or table is None else texts.csv.format(title=table.title)
        attached.append(Attached(name, "text/csv", words, content.decode()))
    return attached


def attached_bundle(record: SubjectRecord, options: ReportOptions) -> Attached:
    """A FHIR Bundle of a subject's recordings."""
    bundle = fhir_bundle(record, scores=options.scores, sign_off=options.sign_off)
    words = report_texts().attachment.fhir
    return Attached("report.fhir.json", "application/fhir+json", words, bundle.decode(), "alternative")
