"""Form fields: a control with its label above, and help or an error below."""

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFocusEvent, QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QSizePolicy,
    QStyle,
    QStyleOptionComboBox,
    QStyleOptionFrame,
    QStylePainter,
    QVBoxLayout,
    QWidget,
)

from vbdesk.desk.ui.icons import IconView, paint_icon
from vbdesk.desk.ui.painting import antialiased, mirrored, paint_tick_box, rounded
from vbdesk.desk.ui.popups import cut_corners, prepare_corners
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, Theme, app_theme
from vbdesk.desk.ui.tokens import RADIUS
from vbdesk.language import _

_BESIDE_LABEL = 8
_TICK_ROOM = 32  # the box of a tick, and the gap before its words
_ANY_LENGTH = 10_000


class Field(QWidget):
    """A control with a label above, and a line of help or an error below."""

    def __init__(self, label: str, control: QWidget, *, optional: bool = False, help_text: str = "") -> None:
        super().__init__()
        self.control = control
        self._help = help_text
        self._label = Text(label, Role.LABEL_MEDIUM, wrap=True)
        self._label.setBuddy(control)
        control.setAccessibleName(label)
        self._fault_icon = IconView("error", "fail", 14)
        self._below = Text(help_text, Role.CAPTION, "text3", wrap=True)
        head = QHBoxLayout()
        head.setSpacing(_BESIDE_LABEL)
        head.addWidget(self._label, 1)
        self._optional = Text(_("Optional"), Role.CAPTION, "text3") if optional else None
        if self._optional is not None:
            head.addWidget(self._optional)
        self._foot = QWidget()
        foot = QHBoxLayout(self._foot)
        foot.setContentsMargins(0, 0, 0, 0)
        foot.setSpacing(6)
        foot.addWidget(self._fault_icon, 0, Qt.AlignmentFlag.AlignTop)
        foot.addWidget(self._below, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addLayout(head)
        column.addWidget(control)
        column.addWidget(self._foot)
        self._show("", fault=False)

    def minimumSizeHint(self) -> QSize:  # noqa: D102
        beside = 0 if self._optional is None else self._optional.sizeHint().width() + _BESIDE_LABEL
        least = super().minimumSizeHint()
        return QSize(max(least.width(), self._label.least_width() + beside), least.height())

    def set_label(self, label: str) -> None:
        """Show another label."""
        self._label.setText(label)
        self.control.setAccessibleName(label)

    def set_help(self, sentence: str) -> None:
        """Show help below the control; an error hides it."""
        self._help = sentence
        self._show("", fault=False)

    def set_fault(self, sentence: str | None) -> None:
        """Show an error; None for no error."""
        self._show(sentence or "", fault=bool(sentence))

    def below_text(self) -> str:
        """The text below the control."""
        return self._below.text()

    def _show(self, sentence: str, *, fault: bool) -> None:
        text = sentence if fault else self._help
        self._below.setText(text)
        self._below.set_ink("fail" if fault else "text3")
        self._fault_icon.setVisible(fault)
        self._foot.setVisible(bool(text))
        self.control.setAccessibleDescription(text)
        edit = self.control
        if edit.property("fault") != fault:
            edit.setProperty("fault", fault)
            edit.style().unpolish(edit)
            edit.style().polish(edit)


_QT_PADDING = 2  # next to the text of a field, by Qt
_LIST_SIDES = 40  # width around the text of a choice, with a scroll bar


class LineField(QLineEdit):
    """One line of text, with an icon before it and an optional icon after it.

    Signals:
        focused: (bool) it received or lost the keyboard focus.
    """

    focused = Signal(bool)

    def __init__(self, *, icon: str = "", placeholder: str = "") -> None:
        self._theme = app_theme()
        super().__init__()
        self.setPlaceholderText(placeholder)
        self._lead = IconView(icon, "text2", 16, self) if icon else None
        self._trail = IconView("", "ok", 16, self)
        self.setProperty("leading", bool(icon))

    def show_mark(self, icon: str, token: str = "ok") -> None:  # noqa: S107
        """Show an icon at the end of the field; empty for none."""
        self._trail.show_icon(icon, token)
        room = self._theme.px(24) if icon else 0
        right = self.layoutDirection() is Qt.LayoutDirection.RightToLeft
        self.setTextMargins(room if right else 0, 0, 0 if right else room, 0)

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: D102
        super().focusInEvent(event)
        self.focused.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: D102
        super().focusOutEvent(event)
        self.focused.emit(False)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        _place_icons(self._theme, self, self._lead, self._trail)
        hint = self.placeholderText()
        if self.toolTip() in ("", hint):  # Qt cuts a hint that does not fit
            option = QStyleOptionFrame()
            self.initStyleOption(option)
            text = self.style().subElementRect(QStyle.SubElement.SE_LineEditContents, option, self)
            room = text.marginsRemoved(self.textMargins()).width() - 2 * _QT_PADDING
            self.setToolTip(hint if self.fontMetrics().horizontalAdvance(hint) > room else "")


class SecretField(QLineEdit):
    """A secret, hidden until the eye button is pressed."""

    def __init__(self) -> None:
        super().__init__()
        self.setEchoMode(QLineEdit.EchoMode.Password)
        self.setProperty("trailing", True)
        self._eye = _EyeButton(self)
        self._eye.toggled.connect(self._show_secret)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        side = self.height()
        end = QRect(self.width() - side, 0, side, side)
        self._eye.setGeometry(QStyle.visualRect(self.layoutDirection(), self.rect(), end))

    @Slot(bool)
    def _show_secret(self, shown: bool) -> None:
        self.setEchoMode(QLineEdit.EchoMode.Normal if shown else QLineEdit.EchoMode.Password)


class _EyeButton(QCheckBox):
    """Shows and hides the secret."""

    def __init__(self, parent: QWidget) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self.setAccessibleName(_("Show what is typed"))
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def hitButton(self, pos: object) -> bool:
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        side = self._theme.px(18)
        corner = (self.height() - side) // 2
        name = "eye-off" if self.isChecked() else "eye"
        paint_icon(painter, name, QRectF(corner, corner, side, side), self._theme.colour("text2"))
        painter.end()


class ChoiceField(QComboBox):
    """A combo box with an icon before its text."""

    def __init__(self, icon: str) -> None:
        self._theme = app_theme()
        super().__init__()
        self.setProperty("leading", True)
        self._lead = IconView(icon, "text2", 16, self)
        self._chevron = IconView("chevron-down", "text2", 16, self)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(12)
        prepare_corners(self.view().window())

    def showPopup(self) -> None:  # noqa: D102
        wanted = self.view().sizeHintForColumn(0) + self._theme.px(_LIST_SIDES)
        self.view().setMinimumWidth(min(max(self.width(), wanted), self.window().width()))  # no choice is cut
        super().showPopup()
        popup = self.view().window()
        if self.isRightToLeft():
            popup.move(max(0, self.mapToGlobal(self.rect().topRight()).x() + 1 - popup.width()), popup.y())
        cut_corners(popup, RADIUS["control"])

    def setAccessibleName(self, name: str) -> None:  # noqa: D102
        super().setAccessibleName(name)
        if not self.accessibleDescription():
            self.setAccessibleDescription(name)  # without a label next to it, Qt reports only the chosen item

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        _place_icons(self._theme, self, self._lead, self._chevron)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        room = self.width() - self._theme.px(40 + 32)  # the icons at both ends, as in the style sheet
        shown = self.currentText() or self.placeholderText()
        option.currentText = self.fontMetrics().elidedText(shown, Qt.TextElideMode.ElideRight, room)
        self.setToolTip("" if option.currentText == shown else shown)
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)


def _place_icons(theme: Theme, control: QWidget, lead: IconView | None, trail: IconView) -> None:
    side = theme.px(16)
    top = (control.height() - side) // 2
    direction, area = control.layoutDirection(), control.rect()
    if lead is not None:
        lead.setGeometry(QStyle.visualRect(direction, area, QRect(theme.px(13), top, side, side)))
    end = QRect(control.width() - theme.px(12) - side, top, side, side)
    trail.setGeometry(QStyle.visualRect(direction, area, end))


class TagsField(QWidget):
    """Tags as chips in one field: Enter or a comma adds one, Backspace removes the last.

    Signals:
        changed: the tags differ from before.
    """

    changed = Signal()

    def __init__(self, placeholder: str = "") -> None:
        self._theme = app_theme()
        super().__init__()
        self._tags: list[str] = []
        self._chips: list[_TagChip] = []
        self._placeholder = placeholder
        self._edit = QLineEdit()
        self._edit.setProperty("bare", True)
        self._edit.setProperty("ringAround", self)
        self._edit.setPlaceholderText(placeholder)
        self._edit.textEdited.connect(self._on_edited)
        self._edit.editingFinished.connect(self._commit)
        self._edit.installEventFilter(self)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(12, 6, 12, 6)
        self._row.setSpacing(8)
        self._row.addWidget(self._edit, 1)
        self.setFocusProxy(self._edit)
        self.setMinimumHeight(self._theme.px(38))

    def setAccessibleName(self, name: str) -> None:  # noqa: D102
        super().setAccessibleName(name)
        self._edit.setAccessibleName(name)

    @property
    def edit(self) -> QLineEdit:
        """The line edit for a new tag."""
        return self._edit

    def tags(self) -> tuple[str, ...]:
        """The tags, in the order of entry."""
        return tuple(self._tags)

    def set_tags(self, tags: tuple[str, ...]) -> None:
        """Show other tags."""
        self._tags = list(dict.fromkeys(tags))
        self._rebuild()

    def eventFilter(self, watched: object, event: QEvent) -> bool:  # noqa: D102
        if event.type() == QEvent.Type.KeyPress and watched is self._edit:
            key = event.key()  # type: ignore[attr-defined]
            if key == Qt.Key.Key_Backspace and not self._edit.text() and self._tags:
                self._tags.pop()
                self._rebuild()
                return True
        return False

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        rounded(painter, QRectF(self.rect()), 8, self._theme.colour("surface"), self._theme.colour("control"))
        painter.end()

    @Slot(str)
    def _on_edited(self, text: str) -> None:
        if text.endswith(","):
            self._commit()

    @Slot()
    def _commit(self) -> None:
        tag = self._edit.text().strip(" ,")
        self._edit.clear()
        if tag and tag not in self._tags:
            self._tags.append(tag)
            self._rebuild()

    def _rebuild(self) -> None:
        for chip in self._chips:
            self._row.removeWidget(chip)
            chip.deleteLater()
        self._chips = [_TagChip(tag) for tag in self._tags]
        for index, chip in enumerate(self._chips):
            self._row.insertWidget(index, chip)
        self._edit.setPlaceholderText("" if self._tags else self._placeholder)
        self.changed.emit()


class _TagChip(QWidget):
    """A tag."""

    def __init__(self, tag: str) -> None:
        self._theme = app_theme()
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(9, 3, 9, 3)
        row.addWidget(Text(tag, Role.LABEL, "text2"))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = antialiased(QPainter(self))
        rounded(painter, QRectF(self.rect()), 6, self._theme.colour("sunken"))
        painter.end()


class TickBox(QCheckBox):
    """A check box with its text and a caption below."""

    def __init__(self, text: str, caption: str = "") -> None:
        self._theme = app_theme()
        super().__init__(text)
        self._caption = caption
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def caption(self) -> str:
        """The caption."""
        return self._caption

    def set_caption(self, caption: str) -> None:
        """Show another caption."""
        self._caption = caption
        self.setAccessibleDescription(caption)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: D102
        theme = self._theme
        return QSize(theme.px(200), max(theme.px(20), sum(self._heights(self.width() - theme.px(_TICK_ROOM)))))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()  # the number of lines may change

    def _heights(self, room: int) -> tuple[int, int]:
        """Heights of the text and of the caption, broken into lines of this width."""
        heights = []
        for text, role in ((self.text(), Role.LABEL_MEDIUM), (self._caption, Role.CAPTION)):
            if not text:
                heights.append(0)
                continue
            metrics = QFontMetrics(self._theme.font(role))
            broken = metrics.boundingRect(QRect(0, 0, max(1, room), _ANY_LENGTH), Qt.TextFlag.TextWordWrap, text)
            line = metrics.boundingRect(QRect(0, 0, _ANY_LENGTH, _ANY_LENGTH), 0, text).height()
            heights.append(self._theme.line_height(role) + broken.height() - line)
        return heights[0], heights[1]

    def hitButton(self, pos: object) -> bool:  # noqa: D102
        return True

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        theme = self._theme
        side = theme.px(20)
        box = mirrored(painter, QRectF(0, (self.height() - side) / 2, side, side), QRectF(self.rect()))
        paint_tick_box(
            self._theme, painter, box, ticked=self.isChecked(), hovered=self.underMouse(), pressed=self.isDown()
        )
        self._paint_text(painter, theme.px(_TICK_ROOM))
        painter.end()

    def _paint_text(self, painter: QPainter, x: float) -> None:
        theme = self._theme
        first, second = self._heights(self.width() - int(x))
        top = (self.height() - first - second) / 2
        how = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap
        painter.setFont(theme.font(Role.LABEL_MEDIUM))
        painter.setPen(self._theme.colour("text" if self.isEnabled() else "text3"))
        text = mirrored(painter, QRectF(x, top, self.width() - x, first), QRectF(self.rect()))
        painter.drawText(text, how, self.text())
        painter.setFont(theme.font(Role.CAPTION))
        painter.setPen(self._theme.colour("text3"))
        below = QRectF(x, top + first, self.width() - x, second)
        painter.drawText(mirrored(painter, below, QRectF(self.rect())), how, self._caption)
