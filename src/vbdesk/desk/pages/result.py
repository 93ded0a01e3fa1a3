"""Result: levels and words first, everything else one click away."""

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from vbdesk.desk import theme
from vbdesk.desk.icons import IconView
from vbdesk.desk.places import Recording
from vbdesk.desk.theme import Role
from vbdesk.desk.viewmodels.result import ResultView, ResultViewModel
from vbdesk.desk.viewmodels.result_reading import ResultReading
from vbdesk.desk.widgets.banner import Banner, Tone
from vbdesk.desk.widgets.buttons import secondary_button
from vbdesk.desk.widgets.card import Card, scrolled
from vbdesk.desk.widgets.crumb import Crumb
from vbdesk.desk.widgets.empty_state import EmptyState
from vbdesk.desk.widgets.page_head import PageHead
from vbdesk.desk.widgets.result_cards import (
    FeaturesCard,
    JsonPanel,
    MetricsCard,
    NarrativeCard,
    OverallCard,
    PlayerCard,
    QualityCard,
)
from vbdesk.desk.widgets.segment import Segment
from vbdesk.desk.widgets.sign_rows import SignRows
from vbdesk.desk.widgets.text import Text
from vbdesk.desk.workspace import Workspace

_ONE_COLUMN_BELOW = 760
_LEFT, _RIGHT = 628, 360
_SCROLL_BAR = 16  # it stands in the margin, so that cards keep their edges


def build_result_page(workspace: Workspace) -> "ResultPage":
    """The page with its view model."""
    return ResultPage(ResultViewModel(workspace))


class ResultPage(QWidget):
    """What was heard in one recording."""

    def __init__(self, view_model: ResultViewModel) -> None:
        super().__init__()
        self.setObjectName("page")
        self.view_model = view_model
        view_model.setParent(self)
        self._reading: ResultReading | None = None
        self._cards: list[Card] = []
        self.banner = Banner()
        self.banner.acted.connect(view_model.reload)
        self.player = PlayerCard(view_model.playback)
        self.json_panel = JsonPanel()
        self.json_panel.closed.connect(self._hide_json)
        self.json_panel.hide()
        self.empty = EmptyState("chart", "Reading the result", "")
        self._columns = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._columns.setSpacing(20)
        self._columns.setContentsMargins(0, 0, 0, 0)
        self._left, self._right = QWidget(), QWidget()
        for column, stretch in ((self._left, _LEFT), (self._right, _RIGHT)):
            box = QVBoxLayout(column)
            box.setContentsMargins(0, 0, 0, 0)
            box.setSpacing(16)
            self._columns.addWidget(column, stretch)
        self._right_box().addWidget(self.player)
        self._right_box().addWidget(self.json_panel, 1)
        content = QWidget()
        self._around = QVBoxLayout(content)
        self._around.setContentsMargins(0, 0, _SCROLL_BAR, 0)
        self._around.addLayout(self._columns)
        self._around.addStretch(1)
        self._area = scrolled(content)
        self._area.viewport().installEventFilter(self)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._area)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(36, 28, 36 - _SCROLL_BAR, 24)
        layout.setSpacing(16)
        layout.addWidget(self._header())
        layout.addWidget(self.banner)
        layout.addWidget(self._stack, 1)
        view_model.shown.connect(self._show)
        view_model.failed.connect(self._on_failed)
        theme.active().changed.connect(self._rebuild)

    def opened(self, argument: object) -> None:
        """Show the recording that was asked for."""
        if isinstance(argument, Recording):
            self._reading = None
            self.banner.clear()
            self.player.begin()
            self.player.hide()
            self._hide_json()
            self._say("Reading the result", "")
            self.view_model.open(argument)

    def left(self) -> None:
        """Another page is shown."""
        self.view_model.leave()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        """One column where two have no room."""
        narrow = self.width() < theme.active().px(_ONE_COLUMN_BELOW)
        direction = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        self._columns.setDirection(direction)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: D102
        if event.type() == QEvent.Type.Resize:  # the cards end where the header does, with a scroll bar or without
            bar = self._area.width() - self._area.viewport().width()
            self._around.setContentsMargins(0, 0, max(0, _SCROLL_BAR - bar), 0)
        return False

    def _header(self) -> QWidget:
        self.subjects_button = Crumb("Subjects")
        self.subjects_button.clicked.connect(self._open_subjects)
        self.subject_button = Crumb()
        self.subject_button.clicked.connect(self._open_subject)
        self._chevron = IconView("chevron-right", "text3", 14)
        self._title = Text("", Role.PAGE_TITLE)
        self._caption = Text("", Role.CAPTION, "text3")
        self.segment = Segment("How much to show", [("clinical", "Clinical", ""), ("researcher", "Researcher", "")])
        self.segment.chosen.connect(self._rebuild_for)
        self.json_button = secondary_button("Raw JSON", icon="code")
        self.json_button.clicked.connect(self._toggle_json)
        crumbs = QHBoxLayout()
        crumbs.setContentsMargins(0, 0, 0, 0)
        crumbs.setSpacing(8)
        for part in (self.subjects_button, self._chevron, self.subject_button):
            crumbs.addWidget(part)
        crumbs.addStretch(1)
        title = QHBoxLayout()
        title.setSpacing(12)
        title.addWidget(self._title)
        title.addWidget(self._caption, 0, Qt.AlignmentFlag.AlignVCenter)
        title.addStretch(1)
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addLayout(crumbs)
        words.addLayout(title)
        head = PageHead(words, self.segment, self.json_button, words_width=440)
        head.setContentsMargins(0, 0, _SCROLL_BAR, 0)
        return head

    def _left_box(self) -> QVBoxLayout:
        return _box(self._left)

    def _right_box(self) -> QVBoxLayout:
        return _box(self._right)

    @Slot(object)
    def _show(self, view: ResultView) -> None:
        self._title.setText(view.title)
        self._caption.setText(view.caption)
        self.subject_button.show_text(view.group_id)
        self.subject_button.setVisible(bool(view.group_id))
        self._chevron.setVisible(bool(view.group_id))
        self.player.setVisible(view.take_id is not None)
        self.banner.clear()
        self._reading = view.reading
        self.segment.setEnabled(view.reading is not None)
        self.json_button.setEnabled(view.reading is not None)
        if view.reading is None:
            self._say("No result yet", view.waiting)
            return
        self._rebuild()

    @Slot(str)
    def _rebuild_for(self, choice: str) -> None:
        self._rebuild()

    @Slot()
    def _rebuild(self) -> None:
        """Make the cards afresh: for another result, another view, another theme."""
        reading = self._reading
        if reading is None:
            return
        self._arrange()
        researcher = self.segment.choice() == "researcher"
        for box, kept in ((self._left_box(), 0), (self._right_box(), 2)):
            _empty(box, kept)
        self.sign_rows = SignRows(reading, researcher=researcher)
        left: list[QWidget] = [OverallCard(reading), self.sign_rows]
        if reading.narrative:
            left.append(NarrativeCard(reading.narrative))
        for card in left:
            self._left_box().addWidget(card)
        self._left_box().addStretch(1)
        self._cards = [QualityCard(reading)]
        if researcher and reading.metrics:
            self._cards.insert(0, MetricsCard(reading.metrics))
        if reading.features:
            self._cards.insert(0, FeaturesCard(reading.features))
        for card in self._cards:
            self._right_box().addWidget(card)
            card.setVisible(self.json_panel.isHidden())
        self._right_box().addStretch(1)
        self.json_panel.show_text(reading.raw)
        self._stack.setCurrentIndex(1)

    @Slot()
    def _toggle_json(self) -> None:
        self._set_json(shown=self.json_panel.isHidden())

    @Slot()
    def _hide_json(self) -> None:
        self._set_json(shown=False)

    def _set_json(self, *, shown: bool) -> None:
        self.json_panel.setVisible(shown)
        self.json_panel.setMinimumHeight(theme.active().px(480) if shown else 0)
        for card in self._cards:
            card.setVisible(not shown)
        if shown:
            self.json_panel.text.setFocus()

    @Slot(str)
    def _on_failed(self, sentence: str) -> None:
        if self._reading is None:
            self._say("No result to show", sentence)
        self.banner.say(Tone.WARN, sentence, action="Try again")

    @Slot()
    def _open_subjects(self) -> None:
        self.view_model.open_subjects()

    @Slot()
    def _open_subject(self) -> None:
        self.view_model.open_subject()

    def _say(self, title: str, sentence: str) -> None:
        self.empty.say(title, sentence)
        self._stack.setCurrentIndex(0)


def _box(column: QWidget) -> QVBoxLayout:
    box = column.layout()
    if not isinstance(box, QVBoxLayout):
        raise TypeError("A column of the page has a vertical layout.")
    return box


def _empty(box: QVBoxLayout, kept: int) -> None:
    """Take everything but the first `kept` widgets out of a column."""
    while box.count() > kept:
        item = box.takeAt(kept)
        widget = None if item is None else item.widget()
        if widget is not None:
            widget.hide()
            widget.deleteLater()
