"""One group as a cohort: level counts, regularity and sound of its recordings."""

from PySide6.QtCore import QStringListModel, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QCompleter, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from vbdesk.desk.cohort.group_view_model import CohortGroupViewModel, GroupState
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.buttons import secondary_button
from vbdesk.desk.ui.card import Card, horizontal_line, scroll_area
from vbdesk.desk.ui.cell_view import CellView
from vbdesk.desk.ui.empty_state import EmptyState
from vbdesk.desk.ui.fields import LineField, TickBox
from vbdesk.desk.ui.heat_map import HeatLegend
from vbdesk.desk.ui.notice import NoticeAction, Tone
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import _, pgettext

_WIDTHS = (150, 180, 220, 150)
_BAR = 176
_SCORES = 3
_LEAST_HEIGHT = 240
_NARROW = 960


class CohortGroupView(QWidget):
    """The aggregate read of one group."""

    def __init__(self, view_model: CohortGroupViewModel) -> None:
        self._theme = app_theme()
        super().__init__()
        self.view_model = view_model
        view_model.setParent(self)
        self.banner = Banner()
        self.table = CellView(
            _("Levels by sign in this group"), view_model.table, _WIDTHS, stretch=1, row_height=40, least_stretch=_BAR
        )
        self.empty = EmptyState("grid", _("No group chosen"), _("Enter the id of a group above."))
        self._known = QStringListModel(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        layout.addWidget(self._toolbar())
        self.banner.float_over(self)
        self._parts = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._parts.setContentsMargins(0, 0, 0, 0)
        self._parts.setSpacing(20)
        self._parts.addWidget(self._table_card(), 68)
        self._parts.addWidget(self._facts_card(), 32)
        content = QWidget()
        content.setLayout(self._parts)
        layout.addWidget(scroll_area(content), 1)
        view_model.changed.connect(self._show)
        view_model.groups_changed.connect(self._on_groups)
        self._on_scores(shown=False)

    def opened(self, group_id: str | None) -> None:
        """Show the group chosen in Subjects, or the previous one."""
        self.view_model.start()
        if group_id and group_id != self.view_model.group_id:
            self.field.setText(group_id)
            self._ask()
        else:
            self.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        narrow = self.width() < self._theme.px(_NARROW)
        self._parts.setDirection(QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight)

    def _toolbar(self) -> QWidget:
        self.field = LineField(icon="grid", placeholder=_("Group id"))
        self.field.setAccessibleName(_("Group to read as a cohort"))
        completer = QCompleter(self._known, self)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.activated.connect(self._ask_for)
        self.field.setCompleter(completer)
        self.field.returnPressed.connect(self._ask)
        self.read_button = secondary_button(pgettext("verb", "Read"))
        self.read_button.clicked.connect(self._ask)
        self.scores = TickBox(_("Scores"))
        self.scores.toggled.connect(self._on_ticked)
        bar = QWidget()
        row = QHBoxLayout(bar)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(self.field, 2)
        row.addWidget(self.read_button)
        row.addWidget(self.scores, 1)
        return bar

    def _table_card(self) -> QWidget:
        card = Card(padding=1)
        card.body.setSpacing(0)
        self.sentence = Text("", Role.LABEL, "text2", wrap=True)
        head = QHBoxLayout()
        head.setContentsMargins(20, 14, 20, 10)
        head.addWidget(self.sentence)
        card.body.addLayout(head)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.table)
        self._stack.setMinimumHeight(self._theme.px(_LEAST_HEIGHT))
        card.body.addWidget(self._stack, 1)
        card.body.addWidget(horizontal_line())
        note = _(
            "Every recording counts for itself; in brackets, where the share of more such recordings would lie (95%)."
        )
        texts = QHBoxLayout()
        texts.setContentsMargins(20, 10, 20, 0)
        texts.addWidget(Text(note, Role.CAPTION, "text2", wrap=True))
        card.body.addLayout(texts)
        card.body.addWidget(HeatLegend())
        return card

    def _facts_card(self) -> QWidget:
        self._facts = Card(_("The recordings"), padding=20)
        self._facts_box = QVBoxLayout()
        self._facts_box.setSpacing(10)
        self._facts.body.addLayout(self._facts_box)
        self._facts.body.addStretch(1)
        self._facts.hide()
        return self._facts

    @Slot()
    def _ask(self) -> None:
        self.view_model.open(self.field.text())

    @Slot(str)
    def _ask_for(self, group_id: str) -> None:
        self.view_model.open(group_id)

    @Slot(object)
    def _show(self, state: GroupState) -> None:
        if state.stale:
            self.banner.say(Tone.WARN, state.stale, NoticeAction(_("Try again"), self.view_model.reload, stays=True))
        else:
            self.banner.clear()
        self._stack.setCurrentIndex(0 if state.reading is None else 1)
        self.empty.say(state.group_id or _("No group chosen"), state.waiting)
        self.sentence.setText("" if state.reading is None else state.reading.sentence)
        facts = () if state.reading is None else state.reading.facts
        while (item := self._facts_box.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for title, text in facts:
            self._facts_box.addWidget(Text(title, Role.CAPTION, "text2"))
            self._facts_box.addWidget(Text(text, Role.BODY, "text", wrap=True))
        self._facts.setVisible(bool(facts))

    @Slot(object)
    def _on_groups(self, groups: tuple[str, ...]) -> None:
        self._known.setStringList(list(groups))

    @Slot(bool)
    def _on_ticked(self, ticked: bool) -> None:
        self._on_scores(shown=ticked)

    def _on_scores(self, *, shown: bool) -> None:
        """Show or hide scores."""
        self.table.show_column(_SCORES, shown=shown)
