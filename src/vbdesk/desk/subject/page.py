"""The Subject page: signals of one person over time, as charts or a table."""

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Slot
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QVBoxLayout, QWidget

from vbdesk.contract.levels import Level
from vbdesk.desk.charts.trajectory_data import SignChart
from vbdesk.desk.charts.trajectory_view import TrajectoryView
from vbdesk.desk.flow.commands import CommandOutcome
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.reports.report_menus import FhirBanner, PrintBanner
from vbdesk.desk.reports.reports import Written
from vbdesk.desk.results.correction_actions import CorrectionDone
from vbdesk.desk.results.recording_correction_card import RecordingCorrectionCard
from vbdesk.desk.subject.consent_card import ConsentCard, ConsentLine
from vbdesk.desk.subject.export import SubjectReport
from vbdesk.desk.subject.export_card import ExportCard
from vbdesk.desk.subject.export_kinds import SUBJECT_EXPORTS, ExportKind, print_kind
from vbdesk.desk.subject.state import SubjectState
from vbdesk.desk.subject.trajectory_text import SubjectReading
from vbdesk.desk.subject.view_model import SubjectViewModel
from vbdesk.desk.ui.accessibility import announce
from vbdesk.desk.ui.badges import LevelBadge
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.breadcrumb import Breadcrumb
from vbdesk.desk.ui.buttons import Button, ButtonKind, ButtonSize, KeyCap, primary_button
from vbdesk.desk.ui.card import Card, scroll_whole
from vbdesk.desk.ui.cell_view import CellView
from vbdesk.desk.ui.empty_state import EmptyState
from vbdesk.desk.ui.flow_layout import FillingStack, FlowLayout, StackingRow
from vbdesk.desk.ui.margins import margins
from vbdesk.desk.ui.notice import NoticeAction, Tone, close_action
from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.text import ElidedText, Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import N_, _, ngettext, pgettext

_ALL, _AGE = "all", "age"
_RANGES = (30, 90, 270)  # days
_LEAST_CHARTS, _LEAST_TABLE = 240, 144  # px at 100 % text; with less, the page scrolls
_KEYS_WIDTH = 960  # px at 100 % text; narrower windows hide the key hint
_AGE_WIDTH = 110  # px at 100 % text; narrower toolbars take two lines
_CORRECT_WIDTH = 110
_DAY_WIDTH, _SIGN_WIDTH, _INCONCLUSIVE_WIDTH, _NOTES_WIDTH = 112, 107, 132, 230
_KEYS_TIP = N_(
    "Left and right: from recording to recording. With Ctrl: to what is unusual. Up and down: another sign. "
    "Plus and minus: zoom. With Shift: earlier and later. Enter: open the recording. Escape: take the cursor away."
)


class SubjectPage(QWidget):
    """One subject over time."""

    def __init__(self, flow: Flow, parent: QWidget | None = None) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self.setObjectName("page")
        self.view_model = view_model = SubjectViewModel(flow, self)
        self.banner = Banner()
        self.charts = TrajectoryView()
        self.table = CellView(_("Recordings of this subject"), view_model.table, (), stretch=0, row_height=48)
        self.table.setMinimumHeight(self._theme.px(_LEAST_TABLE))
        self.table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.empty = EmptyState("chart", _("Nothing to show yet"), "", action=pgettext("verb", "Record"))
        self.export_card = ExportCard(view_model)
        self.consent_line, self.consent_card = ConsentLine(view_model.consent), ConsentCard(view_model.consent)
        self._stack = FillingStack()
        self.correction_card = RecordingCorrectionCard(view_model.corrections)
        for part in (self.empty, self.charts, self.table, self.export_card, self.consent_card, self.correction_card):
            self._stack.addWidget(part)
        card = Card(padding=1)
        card.body.addWidget(self._stack)
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(36, 24, 36, 16)
        layout.setSpacing(12)
        layout.addWidget(self._header())
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(self.sentence)
        texts.addWidget(self._change_row)
        texts.addWidget(self.analysis_change)
        layout.addLayout(texts)
        layout.addWidget(self.consent_line)
        self.banner.float_over(self)
        layout.addWidget(self._toolbar())
        layout.addWidget(card, 1)
        self._content = content
        content.installEventFilter(self)
        scroll_whole(self, content)
        self.charts.recording_chosen.connect(view_model.open_recording)
        self.charts.moved.connect(self.range.choose_none)
        self.table.opened.connect(view_model.open_recording)
        self.table.acted.connect(view_model.correct)
        self.correction_card.opened.connect(self._on_correction_asked)
        self.correction_card.left.connect(self._on_correction_left)
        view_model.corrections.changed.connect(self._on_correction_done)
        view_model.corrections.refused.connect(self._on_correction_refused)
        self.empty.button.clicked.connect(self._record)
        self.export_card.left.connect(self._on_export_left)
        view_model.export.ended.connect(self._on_exported)
        self.printing = PrintBanner(view_model.flow, self.print_action, self)
        self.export_card.print_wanted.connect(self.printing.start)
        self.sending = FhirBanner(view_model.flow, self.export_menu, self)
        self.printing.wanted.connect(self._on_print)
        self.sending.wanted.connect(self._on_send)
        self.consent_line.change_wanted.connect(self._on_consent_wanted)
        self.consent_card.left.connect(self._on_consent_left)
        view_model.consent.done.connect(self._on_consent_done)
        view_model.consent.failed.connect(self._on_consent_failed)
        view_model.changed.connect(self._show)
        view_model.arrived.connect(self._on_arrived)

    def opened(self, argument: object) -> None:
        """Show a subject by its group id."""
        if isinstance(argument, str):
            self.title.setText(self.view_model.subject(argument).text)
            self.banner.clear()
            self._stack.setCurrentWidget(self.empty)
            self.view_model.open(argument)
            self.sending.read_server()

    def closed(self) -> None:
        """Another page is shown."""
        self.view_model.leave()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let either the charts scroll or the whole page."""
        layout = self._content.layout()
        if layout is not None and event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Resize):
            others = layout.minimumHeightForWidth(self._content.width()) - self._stack.minimumHeight()
            self.charts.show_whole(whole=self.height() - others < self._theme.px(_LEAST_CHARTS))
        return False

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._show_keys()

    def _header(self) -> QWidget:
        self.subjects = Breadcrumb(_("Subjects"))
        self.subjects.clicked.connect(self.view_model.open_subjects)
        self.title = ElidedText("", Role.PAGE_TITLE, cut=Qt.TextElideMode.ElideMiddle)
        self.badge = LevelBadge(overall=True)
        self._badge_text = Text(_("in the last recording"), Role.CAPTION, "text2")
        self.sentence = Text("", Role.BODY, "text2", wrap=True)
        self.change = Text("", Role.BODY_MEDIUM, "text", wrap=True)
        self.analysis_change = Text("", Role.CAPTION, "text2", wrap=True)
        self.show_change = Button(_("Show"), ButtonKind.LINK, size=ButtonSize.ROW)
        self.show_change.setAccessibleName(_("Show what is unusual in the charts"))
        self.show_change.clicked.connect(self._on_show_change)
        self._change_row = QWidget()
        change = QHBoxLayout(self._change_row)
        change.setContentsMargins(0, 0, 0, 0)
        change.setSpacing(4)
        change.addWidget(self.change, 1)
        change.addWidget(self.show_change)
        named = QWidget()
        name = FlowLayout(named)
        for part in (self.title, self.badge, self._badge_text):
            name.addWidget(part)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(self.subjects)
        texts.addWidget(named)
        self.export_button = Button(_("Export"), ButtonKind.SECONDARY, icon="export", trailing="chevron-down")
        self.export_button.clicked.connect(self._open_menu)
        self.export_menu = QMenu(self)
        for kind in SUBJECT_EXPORTS:
            self.export_menu.addAction(_(kind.menu)).setData(kind)
        self.export_menu.addSeparator()
        self.print_action = self.export_menu.addAction(_(print_kind().menu))
        self.export_menu.triggered.connect(self._on_kind)
        self.record_button = primary_button(pgettext("verb", "Record"), icon="mic")
        self.record_button.clicked.connect(self._record)
        self._show_head(None)
        return PageHeader(texts, self.export_button, self.record_button, texts_width=360)

    def _toolbar(self) -> QWidget:
        days = [(str(count), ngettext("{count} day", "{count} days", count), "") for count in _RANGES]
        # Translators: all days of the course.
        presets = [*days, (_ALL, pgettext("range", "All"), "")]
        self.range = SegmentedChoice(_("Range"), presets)
        self.range.choose(_ALL)
        self.range.chosen.connect(self._on_range)
        self.view = SegmentedChoice(_("View"), [("charts", _("Charts"), "chart"), ("table", _("Table"), "table")])
        self.view.chosen.connect(self._show_content)
        self.age = Text("", Role.CAPTION, "text3")
        self._keys = QWidget()
        self._keys.setToolTip(_(_KEYS_TIP))
        keys = QHBoxLayout(self._keys)
        keys.setContentsMargins(margins(0, 0, 4, 0))
        keys.setSpacing(6)
        keys.addWidget(Text(_("Move the cursor with"), Role.CAPTION, "text2"))
        arrows = QWidget()
        arrows.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # as time runs, in every language
        pair = QHBoxLayout(arrows)
        pair.setContentsMargins(0, 0, 0, 0)
        pair.setSpacing(6)
        for key in ("←", "→"):
            pair.addWidget(KeyCap(key))
        keys.addWidget(arrows)
        left, right = QWidget(), QWidget()
        for side, parts in ((left, (self.range, self.age)), (right, (self._keys, self.view))):
            line = FlowLayout(side, spacing=10)
            for part in parts:
                line.addWidget(part)
        return StackingRow((left, right), least=0, spacing=10, shares=(1, 0), whole=True)

    @Slot(object, object)
    def _show(self, before: SubjectState, state: SubjectState) -> None:
        reading = state.reading
        self.age.setText(state.age)
        if state.stale != before.stale:
            self._say_stale(state.stale)
        if reading is None:
            action = "" if state.loading else pgettext("verb", "Record")
            self.empty.say(_("Loading") if state.loading else _("Nothing to show yet"), state.waiting, action)
        elif reading is before.reading:
            return
        else:
            widths = (_DAY_WIDTH, *map(_width, reading.chart.signs), _NOTES_WIDTH, _CORRECT_WIDTH)
            self.table.set_widths(widths, stretch=len(widths) - 2)
            self.charts.show_chart(reading.chart, gradually=True)
        self.title.setText(self.view_model.subject(self.view_model.group_id).text)
        self._show_head(reading)
        cards = (self.consent_card,) if reading is None else (self.consent_card, self.export_card, self.correction_card)
        if self._stack.currentWidget() not in cards:
            self._show_content()
        self._set_enabled(enabled=reading is not None)

    @Slot()
    def _show_content(self) -> None:
        """Show charts or table, or why there are none."""
        chosen = self.charts if self.view.choice() == "charts" else self.table
        self._stack.setCurrentWidget(self.empty if self.view_model.reading is None else chosen)
        self._show_keys()

    def _set_enabled(self, *, enabled: bool) -> None:
        for control in (self.range, self.view, self.export_button, self.print_action):
            control.setEnabled(enabled)
        self._show_keys()

    def _show_keys(self) -> None:
        """Hide the key hint first where space is short."""
        charts = self._stack.currentWidget() is self.charts
        parts = (self.range, self.view, self._keys)
        needed = sum(part.sizeHint().width() for part in parts) + self._theme.px(_AGE_WIDTH)
        roomy = self.width() >= max(self._theme.px(_KEYS_WIDTH), needed + 72)
        self._keys.setVisible(charts and roomy)

    def _show_head(self, reading: SubjectReading | None) -> None:
        level = None if reading is None else reading.level
        if level is not None:
            self.badge.show_level(level)
        self.badge.setVisible(level is not None)
        self._badge_text.setVisible(level is not None)
        self.sentence.setText("" if reading is None else reading.sentence)
        change = None if reading is None else reading.change
        self.change.setText("" if change is None else change.sentence)
        self._change_row.setVisible(change is not None)
        changed = "" if reading is None else reading.chart.change_note
        self.analysis_change.setText(changed)
        self.analysis_change.setVisible(bool(changed))

    @Slot()
    def _on_show_change(self) -> None:
        reading = self.view_model.reading
        if reading is not None and reading.change is not None:
            self.view.choose("charts")
            self._show_content()
            self.charts.setFocus()
            self.charts.move_cursor_to(reading.change.moment_s, reading.change.sign)

    def _say_stale(self, sentence: str) -> None:
        if sentence:
            retry = NoticeAction(_("Try again"), self.view_model.reload)
            self.banner.say(Tone.WARN, sentence, retry, topic=_AGE)
        else:
            self.banner.withdraw(_AGE)

    @Slot(str)
    def _on_arrived(self, sentence: str) -> None:
        announce(self, sentence)

    @Slot(str)
    def _on_range(self, key: str) -> None:
        self.charts.show_last(None if key == _ALL else float(key))

    @Slot()
    def _record(self) -> None:
        self.view_model.record()

    @Slot()
    def _open_menu(self) -> None:
        corner = self.export_button.mapToGlobal(QPoint(0, self.export_button.height() + 4))
        self.export_menu.popup(corner)

    @Slot()
    def _on_correction_asked(self) -> None:
        self.banner.clear()
        self._stack.setCurrentWidget(self.correction_card)
        self._show_keys()

    @Slot()
    def _on_correction_left(self) -> None:
        self._show_content()
        self.export_button.setFocus()

    @Slot(object)
    def _on_correction_done(self, changed: CorrectionDone) -> None:
        self.banner.say(Tone.OK, changed.sentence, changed.undo_action() or close_action(), title=changed.title)
        announce(self, changed.sentence)

    @Slot(str)
    def _on_correction_refused(self, sentence: str) -> None:
        if self._stack.currentWidget() is not self.correction_card:
            self.banner.say(Tone.WARN, sentence, close_action())

    @Slot(object)
    def _on_kind(self, action: QAction) -> None:
        if isinstance(action.data(), ExportKind):
            self._begin_export(action.data())

    @Slot()
    def _on_print(self) -> None:
        self._begin_export(print_kind())

    @Slot()
    def _on_send(self) -> None:
        if self.view_model.reading is not None:
            read = self.view_model.reading.read
            shown = self.view_model.subject(read.group_id).text
            self.sending.ask(SubjectReport("", read, self.view_model.look.current), 1, shown)

    def _begin_export(self, kind: ExportKind) -> None:
        reading = self.view_model.reading
        if reading is not None:
            self._stack.setCurrentWidget(self.export_card)
            self._show_keys()
            self.export_card.begin(kind, reading.read)

    @Slot()
    def _on_export_left(self) -> None:
        self._show_content()
        self.export_button.setFocus()

    @Slot()
    def _on_consent_wanted(self) -> None:
        self._stack.setCurrentWidget(self.consent_card)
        self._show_keys()
        self.consent_card.begin()

    @Slot()
    def _on_consent_left(self) -> None:
        self._show_content()
        self.consent_line.button.setFocus()

    @Slot(str, str)
    def _on_consent_done(self, subject: str, sentence: str) -> None:
        self.banner.say(Tone.OK, sentence, close_action(), title=subject)
        announce(self, self.banner.text())

    @Slot(str, str)
    def _on_consent_failed(self, subject: str, sentence: str) -> None:
        self.banner.say(Tone.FAIL, sentence, close_action(), title=subject)
        announce(self, self.banner.text(), urgent=True)

    @Slot(object)
    def _on_exported(self, outcome: CommandOutcome) -> None:
        found = outcome.done.found
        if isinstance(found, Written):
            self.banner.say_saved(outcome.sentence, found.path, prints=self.printing.offer(found.printable))
            announce(self, outcome.sentence)


def _width(sign: SignChart) -> int:
    """Column width for the badge of the longest level."""
    unscored = len(sign.silent) > 0 or Level.INCONCLUSIVE in sign.readings.levels
    return _INCONCLUSIVE_WIDTH if unscored else _SIGN_WIDTH
