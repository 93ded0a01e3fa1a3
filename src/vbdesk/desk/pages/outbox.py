"""Outbox: every recording made here, from the first check to the result."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from vbdesk.desk.theme import Role
from vbdesk.desk.viewmodels.outbox import News, OutboxViewModel
from vbdesk.desk.viewmodels.outbox_rows import Figures, Show
from vbdesk.desk.widgets.banner import Banner, Tone
from vbdesk.desk.widgets.card import Card, upright_line
from vbdesk.desk.widgets.cell_view import CellView
from vbdesk.desk.widgets.empty_state import EmptyState
from vbdesk.desk.widgets.page_head import PageHead
from vbdesk.desk.widgets.segment import Segment
from vbdesk.desk.widgets.text import Text
from vbdesk.desk.workspace import Workspace

_WIDTHS = (158, 172, 300, 156, 142)
_STRETCH, _ESTIMATE = 2, 3
_EMPTY = {
    Show.ALL: ("Nothing here yet", "Recordings appear here as soon as they are checked."),
    Show.ON_THEIR_WAY: ("Nothing on its way", "Recordings you send appear here."),
    Show.ATTENTION: ("Nothing waits for you", "Recordings that need a decision appear here."),
    Show.DONE: ("No results yet", "Recordings with a result appear here."),
}
_LEAST_HEIGHT = 96  # at large text in a low window, rather than squeezing the head


def build_outbox_page(workspace: Workspace) -> "OutboxPage":
    """The page with its view model."""
    return OutboxPage(OutboxViewModel(workspace))


class OutboxPage(QWidget):
    """Where every recording is on its way."""

    def __init__(self, view_model: OutboxViewModel) -> None:
        super().__init__()
        self.setObjectName("page")
        self.view_model = view_model
        view_model.setParent(self)
        self.figures = FiguresCard()
        self.banner = Banner()
        self.notice = Banner()
        self.segment = Segment(
            "Which recordings",
            [
                (Show.ALL, "All", ""),
                (Show.ON_THEIR_WAY, "On their way", ""),
                (Show.ATTENTION, "Needs attention", ""),
                (Show.DONE, "Done", ""),
            ],
        )
        self.list = CellView("Recordings", view_model.table, _WIDTHS, stretch=_STRETCH, droppable=_ESTIMATE)
        self.empty = EmptyState("outbox", *_EMPTY[Show.ALL], action="Record")
        self._stack = QStackedWidget()
        self._stack.setMinimumHeight(_LEAST_HEIGHT)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.list)
        card = Card(padding=1)
        card.body.addWidget(self._stack)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(36, 28, 36, 24)
        layout.setSpacing(16)
        layout.addWidget(self._header())
        for part in (self.figures, self.banner, self.notice):
            layout.addWidget(part)
        layout.addWidget(card, 1)
        self.segment.chosen.connect(self._choose)
        self.list.opened.connect(view_model.open)
        self.list.acted.connect(view_model.act)
        self.banner.acted.connect(view_model.act_on_news)
        self.notice.acted.connect(self.notice.clear)
        self.empty.button.clicked.connect(view_model.record)
        view_model.figures_changed.connect(self.figures.show_figures)
        view_model.news_changed.connect(self._show_news)
        view_model.listed.connect(self._on_listed)
        view_model.refused.connect(self._on_refused)

    def opened(self, argument: object) -> None:
        """Show the list; an argument chooses which recordings."""
        if isinstance(argument, Show):
            self.segment.choose(argument)
            self.view_model.choose(argument)
        self.view_model.refresh()

    def left(self) -> None:
        """Another page is shown."""
        self.notice.clear()

    def _header(self) -> QWidget:
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(Text("Outbox", Role.PAGE_TITLE))
        words.addWidget(Text("Every recording made here, from the first check to the result.", Role.BODY, "text2"))
        return PageHead(words, self.segment, words_width=420)

    @Slot(str)
    def _choose(self, key: str) -> None:
        self.view_model.choose(Show(key))

    @Slot(object)
    def _show_news(self, news: News | None) -> None:
        if news is None:
            self.banner.clear()
        else:
            self.banner.say(Tone.WARN if news.warning else Tone.INFO, news.sentence, action=news.act)

    @Slot()
    def _on_listed(self) -> None:
        some = self.view_model.table.rowCount() > 0
        if not some:
            self.empty.say(*_EMPTY[self.view_model.show])
        self._stack.setCurrentIndex(1 if some else 0)

    @Slot(str)
    def _on_refused(self, sentence: str) -> None:
        self.notice.say(Tone.WARN, sentence, action="Close")


class FiguresCard(Card):
    """Five figures side by side."""

    _INKS = ("text", "accent", "accent", "warn", "text")
    _WORDS = ("Waiting", "Uploading", "Running", "Need attention", "Done today")

    def __init__(self) -> None:
        super().__init__(padding=1)
        row = QHBoxLayout()
        row.setSpacing(0)
        self._figures: list[Text] = []
        self._names: list[Text] = []
        for place, words in enumerate(self._WORDS):
            if place:
                row.addWidget(upright_line())
            figure, name = Text("0", Role.FIGURE, "text"), Text(words, Role.LABEL, "text2")
            column = QVBoxLayout()
            column.setContentsMargins(20, 12, 20, 12)
            column.setSpacing(2)
            column.addWidget(figure)
            column.addWidget(name)
            row.addLayout(column, 1)
            self._figures.append(figure)
            self._names.append(name)
        self.body.addLayout(row)

    @Slot(object)
    def show_figures(self, figures: Figures) -> None:
        """Show other figures; nothing is coloured at zero."""
        values = (figures.waiting, figures.uploading, figures.running, figures.attention, figures.done_today)
        for text, value, ink in zip(self._figures, values, self._INKS, strict=True):
            text.setText(str(value))
            text.set_ink(ink if value else "text")
        self._names[3].setText("Needs attention" if figures.attention == 1 else "Need attention")

    def words(self) -> list[str]:
        """What it says, for tests and screen readers alike."""
        return [f"{figure.text()} {name.text()}" for figure, name in zip(self._figures, self._names, strict=True)]
