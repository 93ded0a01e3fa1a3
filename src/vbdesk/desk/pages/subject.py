"""Subject: one person's signals over time, as charts or as a table."""

from pathlib import Path

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from vbdesk.desk.plots.picture import draw_picture
from vbdesk.desk.plots.trajectory_view import TrajectoryView
from vbdesk.desk.theme import Role
from vbdesk.desk.viewmodels.subject import SubjectViewModel
from vbdesk.desk.viewmodels.subject_reading import SubjectReading
from vbdesk.desk.widgets.badges import LevelBadge
from vbdesk.desk.widgets.banner import Banner, Tone
from vbdesk.desk.widgets.buttons import KeyCap, primary_button, secondary_button
from vbdesk.desk.widgets.card import Card
from vbdesk.desk.widgets.cell_view import CellView
from vbdesk.desk.widgets.empty_state import EmptyState
from vbdesk.desk.widgets.page_head import PageHead
from vbdesk.desk.widgets.segment import Segment
from vbdesk.desk.widgets.text import Text
from vbdesk.desk.workspace import Workspace

_ALL = "270"
_DAY_WIDTH, _SIGN_WIDTH, _NOTES_WIDTH = 112, 120, 140
_LEAST_HEIGHT = 96  # at large text in a low window, rather than squeezing the head


def build_subject_page(workspace: Workspace) -> "SubjectPage":
    """The page with its view model."""
    return SubjectPage(SubjectViewModel(workspace))


class SubjectPage(QWidget):
    """One subject over time."""

    def __init__(self, view_model: SubjectViewModel) -> None:
        super().__init__()
        self.setObjectName("page")
        self.view_model = view_model
        view_model.setParent(self)
        self.banner = Banner()
        self.banner.acted.connect(self._on_banner)
        self.charts = TrajectoryView()
        self.table = CellView("Recordings of this subject", view_model.table, (), stretch=0, row_height=48)
        self.table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.empty = EmptyState("chart", "Nothing to show yet", "", action="Record")
        self._stack = QStackedWidget()
        self._stack.setMinimumHeight(_LEAST_HEIGHT)
        for part in (self.empty, self.charts, self.table):
            self._stack.addWidget(part)
        card = Card(padding=1)
        card.body.addWidget(self._stack)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(36, 24, 36, 16)
        layout.setSpacing(12)
        layout.addWidget(self._header())
        layout.addWidget(self.banner)
        layout.addWidget(self._toolbar())
        layout.addWidget(card, 1)
        self.charts.recording_chosen.connect(view_model.open_recording)
        self.table.opened.connect(view_model.open_recording)
        self.empty.button.clicked.connect(self._record)
        view_model.shown.connect(self._show)
        view_model.waiting.connect(self._wait)
        view_model.stale.connect(self._on_stale)
        view_model.exported.connect(self._on_exported)
        view_model.export_failed.connect(self._on_export_failed)

    def opened(self, argument: object) -> None:
        """Show a subject by its group id."""
        if isinstance(argument, str):
            self.title.setText(argument)
            self.banner.clear()
            self.view_model.open(argument)

    def left(self) -> None:
        """Another page is shown."""
        self.view_model.leave()

    def export_to(self, path: Path) -> None:
        """Write the charts, all of them and in full, as a picture."""
        reading = self.view_model.reading
        if reading is not None:
            self.view_model.export(draw_picture(reading.chart), path)

    def _header(self) -> QWidget:
        self.title = Text("", Role.PAGE_TITLE)
        self.badge = LevelBadge()
        self._badge_words = Text("last level", Role.CAPTION, "text2")
        self.sentence = Text("", Role.BODY, "text2", wrap=True)
        name = QHBoxLayout()
        name.setSpacing(12)
        for part in (self.title, self.badge, self._badge_words):
            name.addWidget(part)
        name.addStretch(1)
        words = QVBoxLayout()
        words.setSpacing(4)
        words.addLayout(name)
        words.addWidget(self.sentence)
        self.export_button = secondary_button("Export chart", icon="export")
        self.export_button.clicked.connect(self._ask_where)
        self.record_button = primary_button("Record", icon="mic")
        self.record_button.clicked.connect(self._record)
        self._show_level(None)
        return PageHead(words, self.export_button, self.record_button, words_width=360)

    def _toolbar(self) -> QWidget:
        bar = QWidget()
        self.range = Segment("Range", [("30", "30 days", ""), ("90", "90 days", ""), (_ALL, "270 days", "")])
        self.range.choose(_ALL)
        self.range.chosen.connect(self._on_range)
        self.view = Segment("View", [("charts", "Charts", "chart"), ("table", "Table", "table")])
        self.view.chosen.connect(self._on_view)
        self._keys = QWidget()
        keys = QHBoxLayout(self._keys)
        keys.setContentsMargins(0, 0, 4, 0)
        keys.setSpacing(6)
        keys.addWidget(Text("Move the cursor with", Role.CAPTION, "text2"))
        keys.addWidget(KeyCap("←"))
        keys.addWidget(KeyCap("→"))
        row = QHBoxLayout(bar)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(self.range)
        row.addStretch(1)
        row.addWidget(self._keys)
        row.addWidget(self.view)
        return bar

    @Slot(object)
    def _show(self, reading: SubjectReading) -> None:
        self.title.setText(reading.group_id)
        self._show_level(reading)
        self.sentence.setText(reading.sentence)
        signs = len(reading.headings) - 2
        self.table.set_widths((_DAY_WIDTH, *(_SIGN_WIDTH,) * signs, _NOTES_WIDTH), stretch=-1)
        self.table.horizontalHeader().setStretchLastSection(True)
        self.charts.show_chart(reading.chart, gradually=True)
        self._on_view(self.view.choice())
        self._set_enabled(enabled=True)

    @Slot(str)
    def _wait(self, sentence: str) -> None:
        self._show_level(None)
        self.sentence.setText("")
        self.empty.say("Nothing to show yet", sentence)
        self._stack.setCurrentIndex(0)
        self._set_enabled(enabled=False)

    def _set_enabled(self, *, enabled: bool) -> None:
        for control in (self.range, self.view, self.export_button):
            control.setEnabled(enabled)
        self._keys.setVisible(enabled and self.view.choice() == "charts")

    def _show_level(self, reading: SubjectReading | None) -> None:
        level = None if reading is None else reading.level
        if level is not None:
            self.badge.show_level(level)
        self.badge.setVisible(level is not None)
        self._badge_words.setVisible(level is not None)

    @Slot(str)
    def _on_stale(self, sentence: str) -> None:
        if sentence:
            self.banner.say(Tone.WARN, sentence, action="Try again")
        else:
            self.banner.clear()

    @Slot()
    def _on_banner(self) -> None:
        if self.banner.tone is Tone.WARN:
            self.view_model.reload()
        self.banner.clear()

    @Slot(str)
    def _on_range(self, key: str) -> None:
        self.charts.show_last(None if key == _ALL else float(key))

    @Slot(str)
    def _on_view(self, key: str) -> None:
        if self.view_model.reading is not None:
            self._stack.setCurrentIndex(1 if key == "charts" else 2)
            self._keys.setVisible(key == "charts")

    @Slot()
    def _record(self) -> None:
        self.view_model.record()

    @Slot()
    def _ask_where(self) -> None:
        dialog = QFileDialog(self, "Export the charts", f"{self.view_model.group_id}.png", "PNG picture (*.png)")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("png")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._on_file)
        dialog.open()

    @Slot(str)
    def _on_file(self, path: str) -> None:
        self.export_to(Path(path))

    @Slot(str)
    def _on_exported(self, path: str) -> None:
        self.banner.say(Tone.OK, f"The charts were written to {path}.", action="Close")

    @Slot(str)
    def _on_export_failed(self, sentence: str) -> None:
        self.banner.say(Tone.FAIL, sentence, action="Close")
