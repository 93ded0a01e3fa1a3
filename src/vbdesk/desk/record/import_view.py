"""The Record page while files are imported: a table to edit, then one batch."""

from math import ceil

from PySide6.QtCore import Slot
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from vbdesk.desk.record.import_consent_card import ImportConsentCard
from vbdesk.desk.record.import_model import ImportViewModel
from vbdesk.desk.record.import_rows import EDITABLE, headings
from vbdesk.desk.record.name_pattern_card import NamePatternCard
from vbdesk.desk.ui.buttons import primary_button, quiet_button, secondary_button
from vbdesk.desk.ui.card import Card, scroll_area, scroll_whole
from vbdesk.desk.ui.cell_editing import Choices, EditableCellView
from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.progress import ProgressBar
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import _, ngettext, pgettext
from vbdesk.outbox.imports.import_draft import RowField

_WIDTHS = (190, 118, 140, 130, 100, 300, 70, 90)
_FATE, _TAGS, _LENGTH, _ANALYSIS = 5, 4, 6, 7
_LEAST_FATE = 175
_HEADING_PADDING = 32
_TEXT_WIDTH = 260
_LEAST_HEIGHT = 124  # one row and the headings, at 100 % text


class ImportView(QWidget):
    """Binds `ImportViewModel`."""

    def __init__(self, model: ImportViewModel) -> None:
        super().__init__()
        self._model = model
        self.sentence = Text("", Role.BODY, "text2", wrap=True)
        self.names, self.consent = NamePatternCard(model), ImportConsentCard(model)
        self.table = EditableCellView(
            _("Files to import"),
            model.table,
            _widths(),
            stretch=_FATE,
            droppable=(_ANALYSIS, _LENGTH, _TAGS),
            least_stretch=_LEAST_FATE,
            choices=self._choices,
            completions=self._completions,
        )
        self.table.setMinimumHeight(app_theme().px(_LEAST_HEIGHT))
        self.table.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        self.row_text = Text("", Role.CAPTION, "text2", wrap=True)
        model.chosen = self.table.chosen_keys
        self.progress = ProgressBar(_("Files done"))
        self._how_far = Text("", Role.CAPTION, "text2")
        self.cancel = quiet_button(_("Cancel"))
        self.keep = secondary_button(_("Import, do not send"))
        self.send = primary_button(_("Import and send"), icon="import")
        self._lay_out()
        self.cancel.clicked.connect(model.cancel)
        self.keep.clicked.connect(self._on_keep)
        self.send.clicked.connect(self._on_send)
        model.begun.connect(self._show_looking)
        model.progressed.connect(self._show_progress)
        model.listed.connect(self._show_listed)
        model.changed.connect(self._show_changed)
        model.imported.connect(self._show_done)
        self.names.leave_out.clicked.connect(self._on_leave_out)
        self.consent.check_wanted.connect(self._check_without_consent)
        self.table.delete_wanted.connect(self._on_leave_out)
        self.table.chosen_changed.connect(self._show_row)
        self.table.selectionModel().currentChanged.connect(self._show_row)

    def _lay_out(self) -> None:
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(Text(pgettext("page", "Import"), Role.PAGE_TITLE))
        texts.addWidget(self.sentence)
        # at the head: a message floats over the foot of the window
        head = PageHeader(texts, self.cancel, self.keep, self.send, texts_width=_TEXT_WIDTH)
        card = Card(padding=1)
        card.body.setSpacing(0)
        card.body.addWidget(self.table)
        foot = QHBoxLayout()
        foot.setSpacing(12)
        foot.addWidget(self._how_far)
        foot.addWidget(self.progress, 1)
        for part in (self._how_far, self.progress):
            policy = part.sizePolicy()
            policy.setRetainSizeWhenHidden(True)
            part.setSizePolicy(policy)
        whole = QWidget()
        column = QVBoxLayout(whole)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        column.addWidget(head)
        content = QWidget()
        body = QVBoxLayout(content)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(12)
        body.addWidget(self.names)
        body.addWidget(card, 1)
        body.addWidget(self.row_text)
        body.addWidget(self.consent)
        column.addWidget(scroll_area(content), 1)  # large text in a low window
        column.addLayout(foot)
        scroll_whole(self, whole)

    @Slot()
    def _on_keep(self) -> None:
        self._begin(queue=False)

    @Slot()
    def _on_send(self) -> None:
        self._begin(queue=True)

    @Slot()
    def _on_leave_out(self) -> None:
        self._model.leave_out(self.table.chosen_keys())

    @Slot()
    def _check_without_consent(self) -> None:
        self.table.choose_keys([str(row.number) for row in self._model.rows if row.lacks_consent])

    def _begin(self, *, queue: bool) -> None:
        self._show_busy(busy=True)
        self._model.take_in(queue=queue)

    def _choices(self, column: int) -> Choices:
        if EDITABLE.get(column) is not RowField.PROTOCOL:
            return ()
        known = [(protocol.protocol_id, protocol.title) for protocol in self._model.protocols]
        return [*known, ("", _("Not known"))]

    def _completions(self, column: int) -> tuple[str, ...]:
        opened = self._model.opened
        return opened.subjects if opened is not None and EDITABLE.get(column) is RowField.SUBJECT else ()

    @Slot()
    def _show_looking(self) -> None:
        self.sentence.setText(self._model.text())
        self.cancel.setText(_("Cancel"))
        self.row_text.setText("")
        self.names.setEnabled(False)
        self._show_busy(busy=True)

    @Slot()
    def _show_listed(self) -> None:
        self.names.setEnabled(True)
        self._show_changed()
        self.table.setFocus()
        self.table.setCurrentIndex(self._model.table.index(0, 0))
        self.table.clearSelection()

    @Slot(int, int)
    def _show_progress(self, done: int, total: int) -> None:
        self.progress.show_share(done / max(1, total))
        self._how_far.setText(ngettext("{done:,} of {count:,} file", "{done:,} of {count:,} files", total, done=done))

    @Slot()
    def _show_changed(self) -> None:
        busy, (ready, _faulty) = self._model.busy, self._model.counts()
        self.progress.setVisible(busy)
        self._how_far.setVisible(busy)
        self.sentence.setText(self._model.text())
        self.send.setText(
            ngettext("Import {count:,} and send", "Import {count:,} and send", ready) if ready else _("Import and send")
        )
        for button in (self.keep, self.send):
            button.setEnabled(ready > 0 and not busy)
        self._show_row()

    @Slot()
    def _show_row(self) -> None:
        """Say everything about the current row, and for which rows an edit is meant."""
        chosen = len(self.table.chosen_keys())
        self.names.leave_out.setEnabled(chosen > 0)
        self.consent.show_state()
        lines = [self._model.row_text(self.table.current_key())]
        if chosen > 1:
            lines.append(
                ngettext(
                    "An edit in the {count} checked row changes it.",
                    "An edit in one of the {count} checked rows changes all of them.",
                    chosen,
                )
            )
        self.row_text.setText(" ".join(lines).strip())

    @Slot(int, int)
    def _show_done(self, well: int, badly: int) -> None:
        self.cancel.setText(_("Close"))
        self._show_changed()

    def _show_busy(self, *, busy: bool) -> None:
        self.progress.setVisible(busy)
        self._how_far.setVisible(busy)
        self._how_far.setText("")
        self.progress.show_share(0.0)
        for button in (self.keep, self.send):
            button.setEnabled(not busy)


def _widths() -> tuple[int, ...]:
    """Widths of the columns at 100 % text, each wide enough for its heading."""
    theme = app_theme()
    text_width = QFontMetricsF(theme.font(Role.CAPTION)).horizontalAdvance
    return tuple(
        max(width, ceil(text_width(heading) / theme.scale) + _HEADING_PADDING)
        for width, heading in zip(_WIDTHS, headings(), strict=True)
    )
