"""The Subjects page: all subjects, with search."""

from enum import Enum, auto

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.reports.report_menus import SubjectsMenu
from vbdesk.desk.subject_data.subject_list import ORDER_OF_COLUMN, Order, SubjectFilter
from vbdesk.desk.subjects.note_card import SubjectNoteCard
from vbdesk.desk.subjects.tagging import TagMany
from vbdesk.desk.subjects.view_model import SubjectsViewModel
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.buttons import primary_button, secondary_button
from vbdesk.desk.ui.card import Card, horizontal_line, scroll_whole
from vbdesk.desk.ui.cell_view import CellView
from vbdesk.desk.ui.empty_state import EmptyState
from vbdesk.desk.ui.fields import ChoiceField, LineField
from vbdesk.desk.ui.notice import NoticeAction, Tone, close_action
from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import N_, _, pgettext
from vbdesk.outbox.library.subject_notes import SubjectNote

_WIDTHS = (240, 144, 164, 96, 106, 146, 116)
_LEAST_SUBJECT = 140
_UNREAD, _COUNT, _HERE = 3, 4, 5
_LEAST_CHOICE = 110  # choices stay in one line, so that the list is near the top
_ROW_HEIGHT = 48
_LEAST_ROWS = 36 + 2 * _ROW_HEIGHT  # with less space the page scrolls, so that the list keeps some rows
_NOTE_WIDTH, _NARROW = 300, 900
_ANY_TAG = N_("Any tag")
_OFFLINE = "offline"  # topic of a message


class _Remedy(Enum):
    """What the button of the empty list does."""

    RECORD = auto()
    EVERYONE = auto()


class SubjectsPage(QWidget):
    """The list of subjects, and the note of one."""

    def __init__(self, flow: Flow, parent: QWidget | None = None) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self.setObjectName("page")
        self.view_model = view_model = SubjectsViewModel(flow, self)
        self.record_button = primary_button(pgettext("verb", "Record"), icon="mic")
        self.banner = Banner()
        self.banner.float_over(self)
        self.export_button = secondary_button(_("Export"), icon="export")
        self.export_menu = SubjectsMenu(
            view_model.flow, view_model.look, self.export_button, self, self.banner, self._chosen
        )
        self.printing, self.sending = self.export_menu.printing, self.export_menu.sending
        self.caption = Text("", Role.BODY, "text2")
        drop = (_HERE, _COUNT, _UNREAD)
        self.list = CellView(
            _("Subjects"),
            view_model.table,
            _WIDTHS,
            stretch=0,
            droppable=drop,
            row_height=_ROW_HEIGHT,
            choosable=True,
            least_stretch=_LEAST_SUBJECT,
        )
        self._let_heads_sort()
        self.empty = EmptyState("person", "", "")
        self._note: SubjectNoteCard | None = None
        self._remedy = _Remedy.RECORD
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(36, 28, 36, 24)
        layout.setSpacing(16)
        layout.addWidget(self._header())
        layout.addWidget(self._toolbar())
        self._card = self._list_card()
        self._parts = QHBoxLayout()
        self._parts.setSpacing(16)
        self._parts.addWidget(self._card, 1)
        layout.addLayout(self._parts, 1)
        scroll_whole(self, content)
        self.search.textChanged.connect(view_model.search_for)
        self.search.returnPressed.connect(self._open_first)
        self.record_button.clicked.connect(self._record)
        self.empty.button.clicked.connect(self._on_empty_button)
        self.list.opened.connect(view_model.open)
        self.list.acted.connect(self._edit_note)
        view_model.listed.connect(self._on_listed)
        view_model.tags_changed.connect(self._on_tags)
        view_model.offline.connect(self._on_offline)
        view_model.failed.connect(self._on_failed)
        self._on_listed()

    def opened(self, argument: object) -> None:
        """Show the list as it is now."""
        self.view_model.show()
        self.export_menu.sending.read_server()
        self.search.setFocus(Qt.FocusReason.OtherFocusReason)

    def closed(self) -> None:
        """Another page is shown."""
        if self._note is not None:
            self._note.leave()
            self._make_room()
        self.view_model.leave()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._make_room()
        self._controls.setDirection(
            QBoxLayout.Direction.TopToBottom if self._narrow() else QBoxLayout.Direction.LeftToRight
        )

    @property
    def note(self) -> SubjectNoteCard:
        """The note card, made on first use."""
        if self._note is None:
            self._note = SubjectNoteCard()
            self._note.hide()
            self._note.stored.connect(self._store_note)
            self._note.closed.connect(self._back_to_list)
            self._parts.addWidget(self._note)
        return self._note

    def _narrow(self) -> bool:
        return self.width() < self._theme.px(_NARROW)

    def _make_room(self) -> None:
        """Show the note instead of the list if both do not fit."""
        if self._note is None:
            return
        px, narrow = self._theme.px, self._narrow()
        self._note.setMaximumWidth(px(4000 if narrow else _NOTE_WIDTH))
        self._note.setMinimumWidth(0 if narrow else px(_NOTE_WIDTH))
        alone = narrow and not self._note.isHidden()
        self._bar.setVisible(not alone)
        self._card.setVisible(not alone)

    def _header(self) -> QWidget:
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(Text(_("Subjects"), Role.PAGE_TITLE))
        texts.addWidget(self.caption)
        return PageHeader(texts, self.export_button, self.record_button)

    def _toolbar(self) -> QWidget:
        self.search = LineField(icon="search", placeholder=_("Search subjects, tags, notes"))
        self.search.setAccessibleName(_("Search subjects"))
        self.search.setClearButtonEnabled(True)
        self.only = _choice("person", _("Which subjects"), [(only.label, only.value) for only in SubjectFilter])
        self.tag = _choice("tag", _("Tag"), [(_(_ANY_TAG), "")])
        self.tag.hide()
        self.order = _choice(
            "arrow-down", pgettext("sorting", "Order"), [(order.label, order.value) for order in Order]
        )
        self.only.currentIndexChanged.connect(self._on_only)
        self.tag.currentIndexChanged.connect(self._on_tag)
        self.order.currentIndexChanged.connect(self._on_order)
        self._bar = QWidget()
        self._controls = QBoxLayout(QBoxLayout.Direction.LeftToRight, self._bar)
        self._controls.setContentsMargins(0, 0, 0, 0)
        self._controls.setSpacing(10)
        choices = QHBoxLayout()
        choices.setSpacing(10)
        for control in (self.only, self.tag, self.order):
            control.setMinimumWidth(self._theme.px(_LEAST_CHOICE))
            choices.addWidget(control, 1)
        self._controls.addWidget(self.search, 2)
        self._controls.addLayout(choices, 3)
        return self._bar

    def _list_card(self) -> Card:
        self._stack = QStackedWidget()
        self._stack.setMinimumHeight(self._theme.px(_LEAST_ROWS))
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.list)
        card = Card(padding=1)
        card.body.setSpacing(0)
        card.body.addWidget(self._stack, 1)
        card.body.addWidget(horizontal_line())
        self.many = TagMany()
        self.many.tagged.connect(self._tag_many)
        self.many.none_wanted.connect(self.list.clearSelection)
        self.list.chosen_changed.connect(self._on_chosen)
        card.body.addWidget(self.many)
        return card

    @Slot()
    def _on_chosen(self) -> None:
        self.many.show_chosen(self.list.chosen_keys())

    @Slot(object, object, bool)
    def _tag_many(self, keys: tuple[str, ...], tags: tuple[str, ...], added: bool) -> None:
        self.view_model.tag_many(keys, tags, added=added)

    def _let_heads_sort(self) -> None:
        head = self.list.horizontalHeader()
        head.setSectionsClickable(True)
        head.sectionClicked.connect(self._on_head)

    @Slot()
    def _on_listed(self) -> None:
        model = self.view_model
        self.caption.setText(model.caption)
        some = model.table.rowCount() > 0
        self._stack.setCurrentIndex(1 if some else 0)
        if some:
            return
        if model.loading:
            self.empty.say(_("Loading"), _("The subjects are being read."), "")
        elif model.search and not (model.tag or model.only is not SubjectFilter.ALL):
            new = _("Record it as a new subject.") if model.can_record_search() else _("Try another part of it.")
            self._say_empty(_("No subject called {name}", name=model.search), new, _Remedy.RECORD)
        elif model.everyone:
            self._say_empty(_("No subject fits"), _("None fits all that was chosen above."), _Remedy.EVERYONE)
        else:
            first = _("A subject appears here with its first recording.")
            self._say_empty(_("No subjects yet"), first, _Remedy.RECORD)

    def _say_empty(self, title: str, sentence: str, remedy: "_Remedy") -> None:
        self._remedy = remedy
        self.empty.say(title, sentence, pgettext("verb", "Record") if remedy is _Remedy.RECORD else _("Show everyone"))

    @Slot()
    def _on_empty_button(self) -> None:
        if self._remedy is _Remedy.RECORD:
            self._record()
            return
        self.search.clear()
        self.tag.setCurrentIndex(0)
        self.only.setCurrentIndex(0)

    @Slot()
    def _on_tags(self) -> None:
        wanted = self.view_model.tag
        blocked = self.tag.blockSignals(True)
        self.tag.clear()
        self.tag.addItem(_(_ANY_TAG), "")
        for tag in self.view_model.tags:
            self.tag.addItem(tag, tag)
        self.tag.setCurrentIndex(self.tag.findData(wanted))
        self.tag.blockSignals(blocked)
        self.tag.setVisible(bool(self.view_model.tags))

    @Slot()
    def _on_only(self) -> None:
        self.view_model.show_only(SubjectFilter(self.only.currentData()))

    @Slot()
    def _on_tag(self) -> None:
        self.view_model.show_tag(self.tag.currentData() or "")

    @Slot()
    def _on_order(self) -> None:
        self.view_model.sort(Order(self.order.currentData()))
        self.list.scrollToTop()

    @Slot(int)
    def _on_head(self, column: int) -> None:
        """Sort by the clicked column header; a second click on the newest-first column reverses it."""
        if column >= len(ORDER_OF_COLUMN):
            return
        order = ORDER_OF_COLUMN[column]
        if order is Order.NEWEST and self.view_model.order is Order.NEWEST:
            order = Order.OLDEST
        self.order.setCurrentIndex(self.order.findData(order.value))

    @Slot(str)
    def _edit_note(self, group_id: str) -> None:
        self.note.edit(group_id, self.view_model.note_of(group_id), self.view_model.detail)
        self._make_room()

    @Slot(str, object)
    def _store_note(self, group_id: str, note: SubjectNote) -> None:
        self.view_model.store_note(group_id, note)

    @Slot()
    def _back_to_list(self) -> None:
        self._make_room()
        self.list.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot()
    def _open_first(self) -> None:
        """Open the only match on Enter, or move to the list if there are several."""
        count = self.view_model.table.rowCount()
        if count == 1:
            self.view_model.open(self.view_model.table.row(0).key)
        elif count:
            self.list.setFocus()
            self.list.select_key(self.view_model.table.row(0).key)

    @Slot(str)
    def _on_offline(self, sentence: str) -> None:
        if sentence:
            retry = NoticeAction(_("Try again"), self.view_model.ask_service)
            self.banner.say(Tone.WARN, sentence, retry, topic=_OFFLINE)
            if self.view_model.loading:
                self.empty.say_unreadable(_("The reason stands above."))
        else:
            self.banner.withdraw(_OFFLINE)

    @Slot(str)
    def _on_failed(self, sentence: str) -> None:
        self.banner.say(Tone.FAIL, sentence, close_action())

    def _chosen(self) -> list[str]:
        """The checked subjects, or all that are listed if none is checked."""
        chosen = self.list.chosen_keys() if self.list.choosable else []
        return list(chosen) or [row.key for row in self.view_model.table.rows()]

    @Slot()
    def _record(self) -> None:
        self.view_model.record()


def _choice(icon: str, name: str, options: list[tuple[str, str]]) -> ChoiceField:
    """A field with labels and the value of each."""
    field = ChoiceField(icon)
    field.setAccessibleName(name)
    field.setAccessibleDescription(name)  # Qt uses the chosen item as the name of a combo box without a label
    for label, value in options:
        field.addItem(label, value)
    return field
