"""Export formats of a subject, with their texts in menu and card."""

from dataclasses import dataclass

from vbdesk.language import N_


@dataclass(frozen=True, slots=True)
class ExportKind:
    """One entry of the menu.

    Attributes:
        key: name of an `ExportFormat`.
        menu: text of the menu entry; this and the other texts are translated where they are shown.
        title: title of the card.
        sentence: content and purpose.
        scores: default for including raw scores; None if there is no choice.
        to_printer: printed, not written to a folder.
    """

    key: str
    menu: str
    title: str
    sentence: str
    scores: bool | None = None
    to_printer: bool = False


SUBJECT_EXPORTS: tuple[ExportKind, ...] = (
    ExportKind(
        "pdf",
        N_("PDF report"),
        N_("PDF report"),
        N_("One page for the patient's record, then the details. The tables and the FHIR Bundle are attached inside."),
        scores=False,
    ),
    ExportKind("png", N_("Charts as PNG"), N_("Charts as PNG"), N_("A picture for slides and letters, on white.")),
    ExportKind("svg", N_("Charts as SVG"), N_("Charts as SVG"), N_("A drawing for papers, sharp at every size.")),
    ExportKind(
        "csv",
        N_("Tables (CSV)"),
        N_("Tables as CSV"),
        N_("Tidy tables with a data dictionary, for R, pandas and spreadsheets, in a folder of their own."),
        scores=True,
    ),
    ExportKind(
        "fhir",
        N_("FHIR Bundle"),
        N_("FHIR R4 Bundle"),
        N_("A report and its observations as a FHIR R4 Bundle, for systems of a hospital."),
        scores=False,
    ),
    ExportKind(
        "bids",
        N_("BIDS folder"),
        N_("BIDS folder"),
        N_("A folder as researchers share them, with participants, sessions and sidecars. The sound stays here."),
        scores=True,
    ),
)


def print_kind() -> ExportKind:
    """The entry that prints the report."""
    return ExportKind(
        "pdf",
        N_("Print the report"),
        N_("Printed report"),
        N_("The PDF report on paper. No file stays on this computer."),
        scores=False,
        to_printer=True,
    )
