"""The rows of an import as cells: what each recording is, and all that keeps it from being imported."""

from dataclasses import dataclass

from vbdesk.contract.catalog import label_of
from vbdesk.desk.ui.cells import Cell, LabelCell, TwoLineCell
from vbdesk.desk.ui.time_text import clock_text
from vbdesk.language import _, pgettext, translated
from vbdesk.outbox.imports.file_import import ImportOutcome
from vbdesk.outbox.imports.import_draft import RowField
from vbdesk.outbox.imports.import_row import ImportRow
from vbdesk.outbox.library.subject_names import isolated

EDITABLE = {1: RowField.SUBJECT, 2: RowField.TIME, 3: RowField.PROTOCOL, 4: RowField.TAGS}
"""Column and field."""


def headings() -> tuple[str, ...]:
    """Headings of the columns."""
    return (
        pgettext("one recording", "Recording"),
        _("Subject"),
        pgettext("when", "Recorded"),
        _("Protocol"),
        _("Tags"),
        _("What will happen"),
        _("Length"),
        _("Analysis"),
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
    texts: tuple[str, ...]
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
        subject, time, _protocol, tags = self.texts
        length = "–" if row.duration_s is None else clock_text(row.duration_s)
        return (
            TwoLineCell(row.path.name, row.path.parent.name),
            LabelCell(isolated(subject) or "–", "text" if subject else "fail", strong=True, name=True),
            LabelCell(time or "–", "text2" if row.recorded_at is not None else "fail"),
            LabelCell(self.protocol or "–"),
            LabelCell(tags or "–"),
            self._fate(),
            LabelCell(length, right=True),
            LabelCell(_(label_of(row.target.name))),
        )

    def edit_text(self, column: int) -> str | None:
        """A cell's content as it is edited; None if it cannot be edited."""
        return self.texts[column - 1] if column in EDITABLE and not self.imported else None

    def text(self) -> str:
        """Everything there is to say about the row."""
        return self._fate().text

    def _fate(self) -> LabelCell:
        if self.became is not None and self.became.not_queued is not None:
            return LabelCell(f"{_('Imported, and not sent.')} {translated(self.became.not_queued)}", "warn")
        if self.imported:
            return LabelCell(_("Imported."), "ok")
        if self.row.faults:
            return LabelCell(" ".join(map(translated, self.row.faults)), "fail")
        if self.became is not None and self.became.error is not None:
            return LabelCell(translated(self.became.error), "fail")
        if self.row.facts is None:
            return LabelCell(_("The file is being read."), "text3")
        return LabelCell(" ".join((_("Ready."), *map(translated, self.row.notes))), "text2")
