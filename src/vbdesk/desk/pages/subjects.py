"""Subjects: everyone, with search; a click shows one."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from vbdesk.desk import theme
from vbdesk.desk.theme import Role
from vbdesk.desk.viewmodels.subjects import SubjectsViewModel
from vbdesk.desk.widgets.banner import Banner, Tone
from vbdesk.desk.widgets.buttons import primary_button
from vbdesk.desk.widgets.card import Card
from vbdesk.desk.widgets.cell_view import CellView
from vbdesk.desk.widgets.empty_state import EmptyState
from vbdesk.desk.widgets.fields import LineField
from vbdesk.desk.widgets.page_head import PageHead
from vbdesk.desk.widgets.text import Text
from vbdesk.desk.workspace import Workspace

_WIDTHS = (300, 190, 170, 110, 160)
_HERE = 4
_NEAR_END_ROWS = 30
_LEAST_HEIGHT = 96  # at large text in a low window, rather than squeezing the head


def build_subjects_page(workspace: Workspace) -> "SubjectsPage":
    """The page with its view model."""
    return SubjectsPage(SubjectsViewModel(workspace))


class SubjectsPage(QWidget):
    """The list of subjects."""

    def __init__(self, view_model: SubjectsViewModel) -> None:
        super().__init__()
        self.setObjectName("page")
        self.view_model = view_model
        view_model.setParent(self)
        self.search = LineField(icon="search", placeholder="Search subjects")
        self.search.setAccessibleName("Search subjects")
        self.search.setClearButtonEnabled(True)
        self.search.setFixedWidth(theme.active().px(300))
        self.record_button = primary_button("Record", icon="mic")
        self.caption = Text("", Role.BODY, "text2")
        self.banner = Banner()
        self.list = CellView("Subjects", view_model.table, _WIDTHS, stretch=0, droppable=_HERE, row_height=44)
        self.empty = EmptyState("person", "No subjects yet", "", action="Record")
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
        layout.addWidget(self.banner)
        layout.addWidget(card, 1)
        self.search.textChanged.connect(view_model.look_for)
        self.search.returnPressed.connect(self._open_first)
        self.record_button.clicked.connect(self._record)
        self.empty.button.clicked.connect(self._record)
        self.banner.acted.connect(self._ask_again)
        self.list.opened.connect(view_model.open)
        self.list.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        view_model.listed.connect(self._on_listed)
        view_model.offline.connect(self._on_offline)
        self._on_listed()

    def opened(self, argument: object) -> None:
        """Show the list as it is now."""
        self.view_model.show()
        self.search.setFocus(Qt.FocusReason.OtherFocusReason)

    def left(self) -> None:
        """Another page is shown."""
        self.view_model.leave()

    def _header(self) -> QWidget:
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(Text("Subjects", Role.PAGE_TITLE))
        words.addWidget(self.caption)
        return PageHead(words, self.search, self.record_button)

    @Slot()
    def _on_listed(self) -> None:
        self.caption.setText(self.view_model.caption)
        some = self.view_model.table.rowCount() > 0
        self._stack.setCurrentIndex(1 if some else 0)
        if some:
            return
        search = self.view_model.search
        if search:
            new = "Record it as a new subject." if self.view_model.can_record_search() else "Try another part of it."
            self.empty.say(f"No subject called {search}", new)
        else:
            self.empty.say("No subjects yet", "A subject appears here with its first recording.")

    @Slot()
    def _open_first(self) -> None:
        """Enter in the search opens the first that fits, and goes on to the list when there are several."""
        count = self.view_model.table.rowCount()
        if count == 1:
            self.view_model.open(self.view_model.table.row(0).key)
        elif count:
            self.list.setFocus()
            self.list.select_key(self.view_model.table.row(0).key)

    @Slot(int)
    def _on_scrolled(self, value: int) -> None:
        bar = self.list.verticalScrollBar()
        if value >= bar.maximum() - _NEAR_END_ROWS * self.list.verticalHeader().defaultSectionSize():
            self.view_model.more()

    @Slot(str)
    def _on_offline(self, sentence: str) -> None:
        if sentence:
            self.banner.say(Tone.WARN, sentence, action="Try again")
        else:
            self.banner.clear()

    @Slot()
    def _ask_again(self) -> None:
        self.view_model.ask_service()

    @Slot()
    def _record(self) -> None:
        self.view_model.record()
