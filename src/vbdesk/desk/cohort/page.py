"""The Cohort page: all subjects with levels, and whose recordings to review first."""

from pathlib import Path

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QAction, QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFileDialog, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from vbdesk.desk.cohort.cohort_rows import FEWEST, CohortReading, HeatOrder, Shown
from vbdesk.desk.cohort.group_card import CohortGroupView
from vbdesk.desk.cohort.group_view_model import CohortGroupViewModel
from vbdesk.desk.cohort.view_model import CohortViewModel, heading_of
from vbdesk.desk.flow.commands import CommandOutcome
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.tasks import Progress
from vbdesk.desk.reports.report_menus import SubjectsMenu
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.buttons import secondary_button
from vbdesk.desk.ui.card import Card, horizontal_line, scroll_area
from vbdesk.desk.ui.cell_table import CellTable
from vbdesk.desk.ui.cell_view import CellView
from vbdesk.desk.ui.empty_state import EmptyState
from vbdesk.desk.ui.fields import ChoiceField, LineField
from vbdesk.desk.ui.heat_map import HeatLegend
from vbdesk.desk.ui.notice import NoticeAction, Tone, close_action
from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import N_, _, joined, ngettext, pgettext

_NAME, _AGE, _SIGN, _WIDEST_SIGN = 120, 60, 54, 100
_HEADING_PADDING_PX = 16  # width of a heading without its words, at every text size
_BAR_WIDTHS = (156, 80, 100)
_TRIAGE_WIDTHS = (52, 160, 104)
_BAR_ROW, _TRIAGE_ROW = 36, 58
_HEAT_LEAST, _TRIAGE_LEAST = 240, 4 * _TRIAGE_ROW
_NARROW = 960
_HEAD_ROOM, _LEAST_ABOUT = 270, 110
_FIELDS, _MARGINS_PX = 420, 92  # width of search, tag and order; of the page
_ANY_TAG = N_("Any tag")
_UNREAD, _PROGRESS = "unread", "progress"  # topics of messages


class CohortPage(QWidget):
    """All subjects, or one group as a cohort."""

    def __init__(self, flow: Flow, parent: QWidget | None = None) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self.setObjectName("page")
        self.view_model = view_model = CohortViewModel(flow, self)
        self._group_model = CohortGroupViewModel(flow, self)
        self.group: CohortGroupView | None = None
        self.banner = Banner()
        self.banner.float_over(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(36, 28, 36, 24)
        layout.setSpacing(16)
        layout.addWidget(self._header())
        self._views = QStackedWidget()
        layout.addWidget(self._views, 1)
        self._lay_out_account()
        view_model.shown.connect(self._show)
        view_model.tags_changed.connect(self._on_tags)
        view_model.refreshed.connect(self._on_refreshed)
        view_model.service.progressed.connect(self._on_progress)
        view_model.service.ended.connect(self._on_read)
        view_model.service.stopped.connect(self._on_stopped)
        view_model.exported.connect(self._on_exported)

    def opened(self, argument: object) -> None:
        """Show all subjects."""
        self.view_model.show()
        self.export_menu.sending.read_server()

    def closed(self) -> None:
        """Another page is shown."""
        self.view_model.leave()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        narrow = self.width() < self._theme.px(_NARROW)
        direction = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        self._columns.setDirection(direction)
        fields = sum(field.minimumSizeHint().width() for field in (self.search, self.tag, self.order))
        room = self.width() - _MARGINS_PX - self.mode.sizeHint().width()
        low = QBoxLayout.Direction.TopToBottom
        beside = self.width() - _MARGINS_PX >= max(fields, self._theme.px(_FIELDS))
        self._fields.setDirection(QBoxLayout.Direction.LeftToRight if beside else low)
        self._controls.setDirection(low if narrow or room < max(fields, self._theme.px(_FIELDS)) else direction)

    def export_to(self, path: Path) -> None:
        """Export the content as a table."""
        self.view_model.export(path)

    def _shown(self) -> list[str]:
        reading = self.view_model.reading
        return [] if reading is None else [entry.group_id for entry in reading.summaries]

    def _header(self) -> QWidget:
        self.caption = Text("", Role.BODY, "text2", wrap=True)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(Text(_("Cohort"), Role.PAGE_TITLE))
        texts.addWidget(self.caption)
        self.scope = SegmentedChoice(
            _("What is shown"), [("all", _("Subjects"), "person"), ("group", _("One group"), "grid")]
        )
        self.scope.chosen.connect(self._on_scope)
        self.export_button = secondary_button(_("Export"), icon="export")
        self.export_button.setEnabled(False)
        self.export_menu = SubjectsMenu(
            self.view_model.flow, self.view_model.look, self.export_button, self, self.banner, self._shown
        )
        self.printing, self.sending = self.export_menu.printing, self.export_menu.sending
        table = QAction(_("Table of the newest readings (CSV)"), self.export_menu)
        table.triggered.connect(self._ask_where)
        self.export_menu.insertAction(self.export_menu.actions()[1], table)
        return PageHeader(texts, self.scope, self.export_button)

    def _lay_out_account(self) -> None:
        """Build the view of all subjects, outer widgets first: Qt restyles all children of a moved widget."""
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        self._everything = scroll_area(content)
        self._views.addWidget(self._everything)
        self.heat = CellView(
            _("Subjects by sign"),
            self.view_model.heat,
            (_NAME, _AGE),
            stretch=0,
            droppable=1,
            row_height=36,
            least_stretch=_NAME,
        )
        self.bars = CellView(
            _("Levels by sign"),
            self.view_model.distributions,
            _BAR_WIDTHS,
            stretch=1,
            droppable=(),
            row_height=_BAR_ROW,
        )
        self.triage = CellView(
            _("To look at first"),
            self.view_model.triage,
            _TRIAGE_WIDTHS,
            stretch=1,
            droppable=(2, 0),
            row_height=_TRIAGE_ROW,
        )
        self.triage.horizontalHeader().hide()
        self.bars.horizontalHeader().hide()
        self.heat.opened.connect(self.view_model.open_subject)
        self.heat.acted.connect(self.view_model.open_recording)
        self.triage.opened.connect(self.view_model.open_subject)
        self.triage.acted.connect(self.view_model.open_recording)
        self.empty = EmptyState("grid", "", "")
        self.empty.say(_("Loading"), _("The results are being read."), "")
        self.empty.button.clicked.connect(self._show_everyone)
        column.addWidget(self._toolbar())
        self._columns = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._columns.setSpacing(20)
        column.addLayout(self._columns, 1)
        self._columns.addWidget(self._heat_card(), 64)
        right = QVBoxLayout()
        right.setSpacing(20)
        self._columns.addLayout(right, 36)
        right.addWidget(self._bars_card())
        right.addWidget(self._triage_card(), 1)

    def _toolbar(self) -> QWidget:
        self.search = LineField(icon="search", placeholder=_("Search subjects"))
        self.search.setAccessibleName(_("Search subjects"))
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._on_search)
        self.tag = ChoiceField("tag")
        self.tag.setAccessibleName(_("Tag"))
        self.tag.setAccessibleDescription(_("Tag"))
        self.tag.addItem(_(_ANY_TAG), "")
        self.tag.hide()
        self.tag.currentIndexChanged.connect(self._on_tag)
        self.order = ChoiceField("arrow-down")
        self.order.setAccessibleName(pgettext("sorting", "Order"))
        self.order.setAccessibleDescription(pgettext("sorting", "Order"))
        for order in HeatOrder:
            self.order.addItem(order.label, order.value)
        self.order.currentIndexChanged.connect(self._on_order)
        self.mode = SegmentedChoice(
            _("Content of cells"),
            [
                (Shown.LEVEL.value, _("Last level"), ""),
                (Shown.CHANGE.value, _("Against baseline"), ""),
                (Shown.SCORE.value, _("Scores"), ""),
            ],
        )
        self.mode.chosen.connect(self._on_mode)
        bar = QWidget()
        self._controls = QBoxLayout(QBoxLayout.Direction.LeftToRight, bar)
        self._controls.setContentsMargins(0, 0, 0, 0)
        self._controls.setSpacing(10)
        self._fields = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._fields.setSpacing(10)
        for control in (self.search, self.tag, self.order):
            self._fields.addWidget(control, 1)
        self._controls.addLayout(self._fields, 1)
        self._controls.addWidget(self.mode)
        return bar

    def _heat_card(self) -> QWidget:
        card = Card(padding=1)
        card.body.setSpacing(0)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.heat)
        self._stack.setMinimumHeight(self._theme.px(_HEAT_LEAST))
        card.body.addWidget(self._stack, 1)
        card.body.addWidget(horizontal_line())
        self._meaning = Text("", Role.CAPTION, "text2", wrap=True)
        texts = QHBoxLayout()
        texts.setContentsMargins(20, 10, 20, 0)
        texts.addWidget(self._meaning)
        card.body.addLayout(texts)
        self.legend = HeatLegend()
        card.body.addWidget(self.legend)
        return card

    def _bars_card(self) -> QWidget:
        card = Card(padding=1)
        card.body.setSpacing(0)
        card.body.addLayout(_head(_("Levels by sign"), Text(_("Consider or higher"), Role.CAPTION, "text2")))
        card.body.addWidget(self.bars)
        self._few = Text("", Role.CAPTION, "text2", wrap=True)
        foot = QHBoxLayout()
        foot.setContentsMargins(20, 4, 20, 10)
        foot.addWidget(self._few)
        card.body.addLayout(foot)
        return card

    def _triage_card(self) -> QWidget:
        card = Card(padding=1)
        card.body.setSpacing(0)
        self._count = Text("", Role.CAPTION, "text2")
        card.body.addLayout(_head(_("To look at first"), self._count))
        card.body.addWidget(horizontal_line())
        self.calm = Text(_("Nothing stands out in the newest recordings."), Role.BODY, "text2", wrap=True)
        self.calm.setContentsMargins(20, 12, 20, 12)
        self.calm.setAlignment(Qt.AlignmentFlag.AlignTop)
        card.body.addWidget(self.calm, 1)
        self.triage.setMinimumHeight(self._theme.px(_TRIAGE_LEAST))
        card.body.addWidget(self.triage, 1)
        return card

    @Slot(object)
    def _show(self, reading: CohortReading) -> None:
        self.caption.setText(self.view_model.caption)
        self.heat.set_widths((_NAME, _AGE, *(self._sign_width(column.label) for column in reading.columns)), stretch=0)
        self._fit_bars(self.bars, self.view_model.distributions)
        self._stack.setCurrentIndex(1 if reading.summaries else 0)
        self.export_button.setEnabled(bool(reading.summaries))
        count = len(reading.triage)
        self._count.setText(ngettext("{count:,} in all", "{count:,} in all", count) if count else "")
        self.triage.setVisible(bool(reading.triage))
        self.calm.setVisible(not reading.triage)
        few = 0 < len(reading.summaries) < FEWEST
        if few:
            text = ngettext(
                "Only {count} subject: too few to say something of a group.",
                "Only {count} subjects: too few to say something of a group.",
                len(reading.summaries),
            )
        else:
            text = _("Fewer than {count} with a reading are only counted.", count=FEWEST)
        self._few.setText(text)
        self._meaning.setText(_(_MEANING[self.view_model.wanted.mode]))
        if self.search.text() or self.tag.currentIndex() > 0:
            self.empty.say(
                _("No subject fits"), _("None with a result fits all that was chosen above."), _("Show everyone")
            )
        else:
            self.empty.say(_("Nobody to show yet"), _("A subject appears here with the first result."), "")

    def _sign_width(self, label: str) -> int:
        """Width of a column that holds the longest word of its heading, in px at 100 % text."""
        metrics, scale = QFontMetricsF(self._theme.font(Role.CAPTION)), self._theme.scale
        widest = max(map(metrics.horizontalAdvance, heading_of(label).split("\n"))) / scale
        return round(min(max(_SIGN, widest), _WIDEST_SIGN) + _HEADING_PADDING_PX / scale)

    def _fit_bars(self, view: CellView, table: CellTable) -> None:
        rows = max(1, table.rowCount())
        view.setFixedHeight(rows * view.verticalHeader().defaultSectionSize() + 2)

    @Slot()
    def _show_everyone(self) -> None:
        self.search.clear()
        self.tag.setCurrentIndex(0)

    @Slot()
    def _on_tags(self) -> None:
        blocked = self.tag.blockSignals(True)
        self.tag.clear()
        self.tag.addItem(_(_ANY_TAG), "")
        for tag in self.view_model.tags:
            self.tag.addItem(tag, tag)
        self.tag.setCurrentIndex(self.tag.findData(self.view_model.wanted.tag))
        self.tag.blockSignals(blocked)
        self.tag.setVisible(bool(self.view_model.tags))

    @Slot()
    def _on_tag(self) -> None:
        self.view_model.choose(tag=self.tag.currentData() or "")

    @Slot(str)
    def _on_search(self, text: str) -> None:
        self.view_model.choose(text=text.strip())

    @Slot()
    def _on_order(self) -> None:
        self.view_model.choose(order=HeatOrder(self.order.currentData()))
        self.heat.scrollToTop()

    @Slot(str)
    def _on_mode(self, key: str) -> None:
        self.view_model.choose(mode=Shown(key))

    @Slot(str)
    def _on_scope(self, key: str) -> None:
        one = key == "group"
        if self.group is None:  # made on demand, so that the page opens faster
            self.group = CohortGroupView(self._group_model)
            self._views.addWidget(self.group)
        self._views.setCurrentIndex(1 if one else 0)
        self.caption.setVisible(not one)
        self.export_button.setVisible(not one)
        self.export_menu.print_action.setEnabled(not one)
        if one:
            self.group.opened(self.heat.current_key())

    @Slot()
    def _on_refreshed(self) -> None:
        """Say why nothing was read, or offer to read more, unless another message is shown."""
        fault, data = self.view_model.fault, self.view_model.data
        if fault:
            self.banner.say(Tone.FAIL, fault, close_action())
            if data is None:
                self.empty.say_unreadable(fault)
        elif data is None or not (self.banner.empty or self.banner.topic == _UNREAD):
            return
        elif not data.missing:
            self.banner.clear()
        else:
            sentence = ngettext(
                "{count:,} subject has results at the service that were not read here. Reading them takes {time}.",
                "{count:,} subjects have results at the service that were not read here. Reading them takes {time}.",
                data.missing,
                time=self.view_model.time_to_read,
            )
            read = NoticeAction(_("Read them"), self.view_model.read_service)
            self.banner.say(Tone.INFO, sentence, read, topic=_UNREAD)

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        sentence = ngettext(
            "{done:,} of {count:,} subject read from the service. Recordings on their way go first.",
            "{done:,} of {count:,} subjects read from the service. Recordings on their way go first.",
            progress.total,
            done=progress.done,
        )
        cancel = NoticeAction(_("Cancel"), self.view_model.service.cancel)
        self.banner.say(Tone.INFO, sentence, cancel, topic=_PROGRESS)

    @Slot()
    def _on_stopped(self) -> None:
        self.banner.withdraw(_PROGRESS)

    @Slot(object)
    def _on_read(self, outcome: CommandOutcome) -> None:
        self.banner.withdraw(_PROGRESS)
        if outcome.failure is not None:
            rest = _("What was read is kept; the rest is as it was last known.")
            retry = NoticeAction(_("Try again"), self.view_model.read_service)
            self.banner.say(Tone.WARN, joined(outcome.sentence, rest), retry)

    @Slot(object)
    def _on_exported(self, outcome: CommandOutcome) -> None:
        if isinstance(outcome.done.found, Path):
            self.banner.say_saved(outcome.sentence, outcome.done.found)
        else:
            self.banner.say(Tone.FAIL, outcome.sentence, close_action())

    @Slot()
    def _ask_where(self) -> None:
        dialog = QFileDialog(self, _("Export the table"), "cohort.csv", _("CSV table (*.csv)"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("csv")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._on_file)
        dialog.open()

    @Slot(str)
    def _on_file(self, path: str) -> None:
        self.export_to(Path(path))


def _head(title: str, about: QWidget) -> QBoxLayout:
    """A title, and what it is about: next to it, or below it in languages in which both are too long for one line."""
    head = Text(title, Role.CARD_TITLE)
    px = app_theme().px
    room = px(_HEAD_ROOM) - head.sizeHint().width() - max(px(_LEAST_ABOUT), about.sizeHint().width())
    row = QBoxLayout(QBoxLayout.Direction.LeftToRight if room >= 0 else QBoxLayout.Direction.TopToBottom)
    row.setContentsMargins(20, 14, 20, 10)
    row.setSpacing(0)
    row.addWidget(head)
    if room >= 0:
        row.addStretch(1)
    row.addWidget(about)
    return row


_MEANING = {
    Shown.LEVEL: N_("Level of the newest recording; an edge marks what is unusual for the subject."),
    Shown.CHANGE: N_(
        "The newest recording against the subject's own baseline: = within the person's own range, an arrow beyond. "
        "n counts the readings where there are too few."
    ),
    Shown.SCORE: N_("Score of the newest recording, on the colour of its level."),
}
