"""Banners: what happened, what was kept, what to do. Used instead of dialogs."""

import weakref
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from vbdesk.desk.ui.buttons import Button, ButtonKind, ButtonSize
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.margins import margins
from vbdesk.desk.ui.painting import antialiased, rounded
from vbdesk.desk.ui.saved_file import open_file, show_in_folder
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import _, pgettext


class Tone(StrEnum):
    """Severity of a banner."""

    INFO = "info"
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


_LOOKS = {
    Tone.INFO: ("info", "accent", "accenttint"),
    Tone.OK: ("check", "ok", "oktint"),
    Tone.WARN: ("warning", "warn", "warntint"),
    Tone.FAIL: ("error", "fail", "failtint"),
}


_EDGE, _FOOT, _GAP, _LEAST_WIDTH = 20, 4, 6, 360
_PLACED = {QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.ParentChange}


class Banner(QWidget):
    """A tinted strip with a message; hidden while it has no text.

    In a layout it needs reserved space. With `float_over` it covers the foot of the window, so that nothing moves.

    Signals:
        acted: the button was pressed.
        other_acted: the second button was pressed.
        print_wanted: the file that was saved is to be printed.
        closed: the small button took the message away.
    """

    acted = Signal()
    other_acted = Signal()
    print_wanted = Signal()
    closed = Signal()

    # defaults for events that Qt delivers after Python's garbage collector has emptied this object
    _page_of: Callable[[], QWidget | None] | None = None
    _wanted = False

    def __init__(self, parent: QWidget | None = None) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self._saved: Path | None = None
        self._tone = Tone.INFO
        self._icon = IconView("info", "accent", 18)
        self._title = Text("", Role.BODY_STRONG)
        self._sentence = Text("", Role.BODY, "text", wrap=True)
        self._button = Button("", ButtonKind.QUIET)
        self._button.clicked.connect(self._act)
        self._other = Button("", ButtonKind.QUIET)
        self._other.clicked.connect(self._act_otherwise)
        self._print = Button("", ButtonKind.QUIET)
        self._print.clicked.connect(self.print_wanted)
        self._close = Button("", ButtonKind.QUIET, icon="close", size=ButtonSize.ROW)
        self._close.clicked.connect(self._on_close)
        self._close.hide()
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addStretch(1)
        words.addWidget(self._title)
        words.addWidget(self._sentence)
        words.addStretch(1)
        row = self._row = QHBoxLayout(self)
        row.setContentsMargins(margins(20, 6, 12, 6))
        row.setSpacing(14)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addLayout(words, 1)
        row.addWidget(self._print, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._other, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._button, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._close, 0, Qt.AlignmentFlag.AlignVCenter)
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
        """The quiet button; the last one if there are two."""
        return self._button

    @property
    def other_button(self) -> Button:
        """The second button, before the other."""
        return self._other

    @property
    def print_button(self) -> Button:
        """The button that prints the file that was saved."""
        return self._print

    @property
    def tone(self) -> Tone:
        """The severity shown."""
        return self._tone

    def say(self, tone: Tone, sentence: str, *, title: str = "", action: str = "", other: str = "") -> None:
        """Show the banner."""
        self._saved = None
        self._tone = tone
        icon, ink, _tint = _LOOKS[tone]
        self._icon.show_icon(icon, ink)
        self._title.setText(title)
        self._title.setVisible(bool(title))
        self._sentence.setText(sentence)
        self._sentence.set_ink("text2" if title else "text")
        self._button.setText(action)
        self._button.set_kind(ButtonKind.LINK if tone is Tone.INFO else ButtonKind.QUIET)
        self._button.setVisible(bool(action))
        self._other.setText(other)
        self._other.setVisible(bool(other))
        self._print.hide()
        self._close.setAccessibleName(_("Close message"))
        self._close.setVisible(self._page is not None and _("Close") not in (action, other))
        self._wanted = True
        self._place()
        self.update()

    def say_saved(self, sentence: str, path: Path, *, opens: bool = True, prints: bool = False) -> None:
        """Say that a file was saved, with buttons: open it, if a program can, show it in its folder, print it."""
        show, folder = pgettext("verb", "Open"), _("Show in folder")
        self.say(Tone.OK, sentence, action=show if opens else "", other=folder)
        self._saved = path
        self._print.setText(pgettext("verb", "Print"))
        self._print.setVisible(prints)
        self._place()

    @Slot()
    def clear(self) -> None:
        """Hide the banner."""
        self._title.setText("")
        self._sentence.setText("")
        self._wanted = False
        self._place()

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
            self.setVisible(self._wanted and self._page_of is None)
            return
        shown = self._wanted and page.isVisible()
        window = page.window()
        if shown and self.parentWidget() is not window:
            self.setParent(window)
        elif not shown and self.parentWidget() is not page:
            self.setParent(page)  # so that nothing of it stays in the window when its page is taken out
        self.setVisible(shown)
        if shown:
            _place_floating(window)

    def words(self) -> str:
        """All text that it shows."""
        return " ".join(part for part in (self._title.text(), self._sentence.text()) if part)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        _icon, ink, tint = _LOOKS[self._tone]
        edge = self._theme.colour(ink) if self._page is not None else None
        rounded(painter, QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 10, self._theme.colour(tint), edge)
        painter.end()

    @Slot()
    def _on_close(self) -> None:
        self.clear()
        self.closed.emit()

    @Slot()
    def _act(self) -> None:
        if self._saved is None:
            self.acted.emit()
        else:
            open_file(self._saved)

    @Slot()
    def _act_otherwise(self) -> None:
        if self._saved is None:
            self.other_acted.emit()
        else:
            show_in_folder(self._saved)

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
    for banner, _page in shown:
        height = banner._float(left, bottom, width if in_row else max(1, right - left))
        if in_row:
            left += width + _GAP
        else:
            bottom -= height + _GAP
