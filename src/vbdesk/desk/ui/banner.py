"""Banners: what happened, what was kept, what to do. Used instead of dialogs."""

import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QRectF, Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from vbdesk.desk.ui.buttons import Button, ButtonKind, ButtonSize
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.margins import margins
from vbdesk.desk.ui.notice import Notice, NoticeAction, Tone
from vbdesk.desk.ui.painting import antialiased, rounded
from vbdesk.desk.ui.saved_file import open_file, show_in_folder
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import _, pgettext

_STYLES = {
    Tone.INFO: ("info", "accent", "accenttint"),
    Tone.OK: ("check", "ok", "oktint"),
    Tone.WARN: ("warning", "warn", "warntint"),
    Tone.FAIL: ("error", "fail", "failtint"),
}


_MOST_ACTIONS = 3
_EDGE, _FOOT, _GAP, _LEAST_WIDTH = 20, 4, 6, 360
KEEPS_FOOT = "keepsFoot"
"""Property of a window: floating messages cover the foot of the page, and nothing below it."""
_PLACED = {QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.ParentChange}


class Banner(QWidget):
    """A tinted strip with a notice and its buttons; hidden while it has none.

    In a layout it needs reserved space. With `float_over` it covers the foot of the window, so that nothing moves.
    """

    # defaults for events that Qt delivers after Python's garbage collector has emptied this object
    _page_of: Callable[[], QWidget | None] | None = None
    _notice: Notice | None = None

    def __init__(self, parent: QWidget | None = None) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self._tone = Tone.INFO
        self._icon = IconView("info", "accent", 18)
        self._title = Text("", Role.BODY_STRONG)
        self._sentence = Text("", Role.BODY, "text", wrap=True)
        self._buttons = [Button("", ButtonKind.QUIET) for _place in range(_MOST_ACTIONS)]
        pressed = QButtonGroup(self)
        for index, button in enumerate(self._buttons):
            pressed.addButton(button, index)
        pressed.idClicked.connect(self._perform)
        self._close = Button("", ButtonKind.QUIET, icon="close", size=ButtonSize.ROW)
        self._close.clicked.connect(self._on_close)
        self._close.hide()
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addStretch(1)
        texts.addWidget(self._title)
        texts.addWidget(self._sentence)
        texts.addStretch(1)
        row = self._row = QHBoxLayout(self)
        row.setContentsMargins(margins(20, 6, 12, 6))
        row.setSpacing(14)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addLayout(texts, 1)
        for button in (*reversed(self._buttons), self._close):
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignVCenter)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.setMinimumHeight(48)
        self.hide()

    def float_over(self, page: QWidget) -> None:
        """Cover the foot of the page's window while the page is visible; lay it out nowhere."""
        self._page_of = weakref.ref(page)  # strong, the two would be garbage that only the collector frees
        self.setParent(page)
        page.installEventFilter(self)
        page.destroyed.connect(self.deleteLater)

    def reserve(self, lines: int) -> None:
        """Keep room for this many lines of text in the layout, also while hidden."""
        self.setMinimumHeight(lines * self._theme.line_height(Role.BODY) + 24)
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.setSizePolicy(policy)

    @property
    def button(self) -> Button:
        """The button of the first action, at the end of the row."""
        return self._buttons[0]

    @property
    def other_button(self) -> Button:
        """The button of the second action, before the first."""
        return self._buttons[1]

    @property
    def print_button(self) -> Button:
        """The button of the third action."""
        return self._buttons[2]

    @property
    def offered(self) -> tuple[NoticeAction, ...]:
        """What is offered."""
        return () if self._notice is None else self._notice.actions

    @property
    def topic(self) -> str:
        """What the notice is about; empty for nothing in particular."""
        return "" if self._notice is None else self._notice.topic

    @property
    def empty(self) -> bool:
        """Whether nothing is said."""
        return self._notice is None

    @property
    def tone(self) -> Tone:
        """The severity shown last."""
        return self._tone

    def say(self, tone: Tone, sentence: str, *actions: NoticeAction, title: str = "", topic: str = "") -> None:
        """Show a sentence with actions in place of the notice before, and of its actions."""
        self.show_notice(Notice(tone, sentence, actions, title, topic))

    def show_notice(self, notice: Notice) -> None:
        """Show a notice in place of the one before, and of its actions."""
        before, self._notice, self._tone = self.offered, notice, notice.tone
        icon, ink, _tint = _STYLES[notice.tone]
        self._icon.show_icon(icon, ink)
        self._title.setText(notice.title)
        self._title.setVisible(bool(notice.title))
        self._sentence.setText(notice.sentence)
        self._sentence.set_ink("text2" if notice.title else "text")
        for index, button in enumerate(self._buttons):
            if before[index : index + 1] != notice.actions[index : index + 1]:
                button.setDown(False)  # a press that began on the notice before ends without effect
            button.setText(notice.actions[index].label if index < len(notice.actions) else "")
            button.setVisible(index < len(notice.actions))
        self.button.set_kind(ButtonKind.LINK if notice.tone is Tone.INFO else ButtonKind.QUIET)
        self._close.setAccessibleName(_("Close message"))
        self._close.setVisible(self._page is not None and all(action.run is not None for action in notice.actions))
        self._place()
        self.update()

    def say_saved(
        self, sentence: str, path: Path, *, opens: bool = True, prints: Callable[[], object] | None = None
    ) -> None:
        """Say that a file was saved, with buttons: open it, if a program can, show it in its folder, print it."""
        actions = [NoticeAction(_("Show in folder"), partial(show_in_folder, path), stays=True)]
        if opens:
            actions.insert(0, NoticeAction(pgettext("verb", "Open"), partial(open_file, path), stays=True))
        if prints is not None:
            actions.append(NoticeAction(pgettext("verb", "Print"), prints, stays=True))
        self.say(Tone.OK, sentence, *actions)

    @Slot()
    def clear(self) -> None:
        """Hide the banner; what its buttons would have done is forgotten."""
        self._title.setText("")
        self._sentence.setText("")
        self._notice = None
        self._place()

    def withdraw(self, topic: str) -> None:
        """Hide the banner if its notice is about `topic`."""
        if self.topic == topic:
            self.clear()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: D102
        if event.type() in _PLACED and hasattr(self, "_page"):  # not while Python destroys it together with its page
            self._place()
        return False

    @property
    def _page(self) -> QWidget | None:
        """The page whose message floats; None for a message in a layout."""
        return None if self._page_of is None else self._page_of()

    def _place(self) -> None:
        """Show it where it belongs, or hide it."""
        page = self._page
        if page is None:
            self.setVisible(self._notice is not None and self._page_of is None)
            return
        shown = self._notice is not None and page.isVisible()
        window = page.window()
        if shown and self.parentWidget() is not window:
            self.setParent(window)
        elif not shown and self.parentWidget() is not page:
            self.setParent(page)  # so that nothing of it stays in the window when its page is taken out
        self.setVisible(shown)
        if shown:
            _place_floating(window)

    def text(self) -> str:
        """All text that it shows."""
        return " ".join(part for part in (self._title.text(), self._sentence.text()) if part)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        _icon, ink, tint = _STYLES[self._tone]
        edge = self._theme.colour(ink) if self._page is not None else None
        rounded(painter, QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 10, self._theme.colour(tint), edge)
        painter.end()

    @Slot()
    def _on_close(self) -> None:
        closed = self._notice.closed if self._notice is not None else None
        self.clear()
        if closed is not None:
            closed()

    @Slot(int)
    def _perform(self, index: int) -> None:
        """Do what the notice that is shown offers with this button."""
        if self._notice is None or index >= len(self._notice.actions):
            return
        action = self._notice.actions[index]
        if action.run is None:
            self._on_close()
            return
        if not action.stays:
            self.clear()
        action.run()

    def _float(self, left: int, bottom: int, width: int) -> int:
        """Stand on `bottom`; returns the height."""
        height = max(self.minimumHeight(), self._row.totalHeightForWidth(width), self._row.totalMinimumSize().height())
        self.setGeometry(left, bottom - height, width, height)
        self.raise_()
        return height


def _place_floating(window: QWidget) -> None:
    """Place all floating messages of a window side by side, or above each other where that would be too narrow."""
    children = window.findChildren(Banner, options=Qt.FindChildOption.FindDirectChildrenOnly)
    shown = [(banner, page) for banner in children if banner.isVisible() and (page := banner._page) is not None]
    if not shown:
        return
    pages = [page.mapTo(window, page.rect().topLeft()).x() for _banner, page in shown]
    left, right = min(pages) + _EDGE, max(x + page.width() for x, (_, page) in zip(pages, shown, strict=True)) - _EDGE
    width = (right - left - _GAP * (len(shown) - 1)) // len(shown)
    in_row = width >= app_theme().px(_LEAST_WIDTH)
    bottom = window.height() - _FOOT
    if window.property(KEEPS_FOOT):
        bottom = max(page.mapTo(window, page.rect().bottomLeft()).y() for _banner, page in shown) - _FOOT
    for banner, _page in shown:
        height = banner._float(left, bottom, width if in_row else max(1, right - left))
        if in_row:
            left += width + _GAP
        else:
            bottom -= height + _GAP
