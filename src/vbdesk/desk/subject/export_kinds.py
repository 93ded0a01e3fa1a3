"""Export formats of a subject, with their texts in menu and card."""

from dataclasses import dataclass

from vbdesk.language import _


@dataclass(frozen=True, slots=True)
class ExportKind:
    """One entry of the menu.

    Attributes:
        key: name of an `ExportFormat`.
        menu: text of the menu entry.
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
        "PDF report",
        "PDF report",
        "One page for the chart of the person, then the details. The tables and the FHIR Bundle are attached inside.",
        scores=False,
    ),
    ExportKind("png", "Charts as PNG", "Charts as PNG", "A picture for slides and letters, on white."),
    ExportKind("svg", "Charts as SVG", "Charts as SVG", "A drawing for papers, sharp at every size."),
    ExportKind(
        "csv",
        "Tables (CSV)",
        "Tables as CSV",
        "Tidy tables with a data dictionary, for R, pandas and spreadsheets, in a folder of their own.",
        scores=True,
    ),
    ExportKind(
        "fhir",
        "FHIR Bundle",
        "FHIR R4 Bundle",
        "A report and its observations as a FHIR R4 Bundle, for systems of a hospital.",
        scores=False,
    ),
    ExportKind(
        "bids",
        "BIDS folder",
        "BIDS folder",
        "A folder as researchers share them, with participants, sessions and sidecars. The sound stays here.",
        scores=True,
    ),
)


def print_kind() -> ExportKind:
    """The entry that prints the report."""
    return ExportKind(
        "pdf",
        _("Print the report"),
        _("Printed report"),
        _("The PDF report on paper. No file stays on this computer."),
        scores=False,
        to_printer=True,
    )
