"""The rows of an import as cells: what each recording is, and all that keeps it from being imported."""

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from vbdesk.desk.ui.cells import Cell, LabelCell, TwoLineCell
from vbdesk.desk.ui.time_text import clock_words
from vbdesk.outbox.imports.file_import import ImportOutcome
from vbdesk.outbox.imports.import_draft import RowField
from vbdesk.outbox.imports.import_row import ImportRow
from vbdesk.outbox.library.subject_names import isolated

EDITABLE = {1: RowField.SUBJECT, 2: RowField.TIME, 3: RowField.PROTOCOL, 4: RowField.TAGS}
"""Column and field."""


def headings() -> tuple[str, ...]:
    """Headings of the columns."""
    return (
        QCoreApplication.translate("ImportRow", "Recording"),
        QCoreApplication.translate("ImportRow", "Subject"),
        QCoreApplication.translate("ImportRow", "Recorded"),
        QCoreApplication.translate("ImportRow", "Protocol"),
        QCoreApplication.translate("ImportRow", "Tags"),
        QCoreApplication.translate("ImportRow", "What will happen"),
        QCoreApplication.translate("ImportRow", "Length"),
        QCoreApplication.translate("ImportRow", "Analysis"),
    )


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """One recording of an import.

    Attributes:
        row: what is known of it.
        texts: subject, time, protocol and tags as they are edited.
        protocol: title of its protocol.
        became: outcome of the last attempt to import it.
    """

    row: ImportRow
    texts: tuple[str, str, str, str]
    protocol: str
    became: ImportOutcome | None = None

    @property
    def key(self) -> str:
        """Its number."""
        return str(self.row.number)

    @property
    def imported(self) -> bool:
        """Whether it is in the library."""
        return self.became is not None and self.became.error is None

    @property
    def cells(self) -> tuple[Cell, ...]:
        """File, subject, time, protocol, tags, outcome, length and analysis."""
        row = self.row
        subject, time, _, tags = self.texts
        length = "–" if row.duration_s is None else clock_words(row.duration_s)
        return (
            TwoLineCell(row.path.name, row.path.parent.name),
            LabelCell(isolated(subject) or "–", "text" if subject else "fail", strong=True, name=True),
            LabelCell(time or "–", "text2" if row.recorded_at is not None else "fail"),
            LabelCell(self.protocol or "–"),
            LabelCell(tags or "–"),
            self._fate(),
            LabelCell(length, right=True),
            LabelCell(row.target.name.replace("_", " ").capitalize()),
        )

    def edit_text(self, column: int) -> str | None:
        """A cell's content as it is edited; None if it cannot be edited."""
        return self.texts[column - 1] if column in EDITABLE and not self.imported else None

    def words(self) -> str:
        """Everything there is to say about the row."""
        return self._fate().text

    def _fate(self) -> LabelCell:
        translate = QCoreApplication.translate
        if self.became is not None and self.became.not_queued is not None:
            told = translate("ImportRow", "Imported, and not sent. {reason}").format(reason=self.became.not_queued)
            return LabelCell(told, "warn")
        if self.imported:
            return LabelCell(translate("ImportRow", "Imported."), "ok")
        if self.row.faults:
            return LabelCell(" ".join(self.row.faults), "fail")
        if self.became is not None and self.became.error is not None:
            return LabelCell(self.became.error, "fail")
        if self.row.facts is None:
            return LabelCell(translate("ImportRow", "The file is being read."), "text3")
        return LabelCell(" ".join((translate("ImportRow", "Ready."), *self.row.notes)), "text2")
