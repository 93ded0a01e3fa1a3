"""Files attached to a document."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from vbdesk.language import _
from vbdesk.report.data_dictionary import table_definitions
from vbdesk.report.documents.report_input import ReportOptions
from vbdesk.report.fhir import fhir_bundle
from vbdesk.report.subject_record import SubjectRecord
from vbdesk.report.tidy_csv import DICTIONARY_FILE, csv_files


@dataclass(frozen=True, slots=True)
class Attached:
    """A file attached to the document.

    Attributes:
        description: what it is, in the reader's language.
        relationship: what the file is to the document: the data that it shows, or another form of the same.
    """

    name: str
    media_type: str
    description: str
    content: str
    relationship: Literal["data", "alternative"] = "data"

    @property
    def listed(self) -> str:
        """Its name with the description, as one text."""
        return _("{file}: {description}", file=self.name, description=self.description)


def attached_tables(records: Sequence[SubjectRecord], options: ReportOptions) -> list[Attached]:
    """The tables of these subjects, with their dictionary."""
    tables, attached = table_definitions(), []
    for name, content in csv_files(records, scores=options.scores).items():
        table = tables.get(name.removesuffix(".csv"))
        text = _("Data dictionary of the tables")
        if name != DICTIONARY_FILE and table is not None:
            text = _("Tidy table: {title}", title=_(table.title))
        attached.append(Attached(name, "text/csv", text, content.decode()))
    return attached


def attached_bundle(record: SubjectRecord, options: ReportOptions) -> Attached:
    """A FHIR Bundle of a subject's recordings."""
    bundle = fhir_bundle(record, scores=options.scores, sign_off=options.sign_off)
    text = _("The recording of this report as FHIR R4 Bundle")
    return Attached("report.fhir.json", "application/fhir+json", text, bundle.decode(), "alternative")
