"""Page header: text at the left, controls at the right or, in narrow windows, below, there in lines."""

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLayout, QSizePolicy, QWidget

from vbdesk.desk.ui.flow_layout import FlowLayout, is_styled
from vbdesk.desk.ui.theme import app_theme

_GAP = 12


class PageHeader(QWidget):
    """Two parts, side by side or one below the other."""

    def __init__(self, texts: QLayout, *controls: QWidget, texts_width: int = 300) -> None:
        """Make the header; below `texts_width` (at 100 % text) for the text, the controls move below."""
        self._theme = app_theme()
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self._texts_width = texts_width
        self._texts, self._parts = texts, controls
        self._controls = QWidget()
        line = FlowLayout(self._controls, spacing=_GAP)
        for control in controls:
            line.addWidget(control)
        self._box = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(_GAP)
        self._box.addLayout(texts, 1)
        self._box.addWidget(self._controls, 0, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)

    def minimumSizeHint(self) -> QSize:  # noqa: D102
        widest = max(self._texts.minimumSize().width(), self._controls.minimumSizeHint().width())
        return QSize(widest, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._arrange()

    def event(self, event: QEvent) -> bool:  # noqa: D102
        if event.type() == QEvent.Type.LayoutRequest:  # a control came or went
            self._arrange()
        return super().event(event)

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._arrange()

    def _arrange(self) -> None:
        if not is_styled(self):
            return
        shown = [part for part in self._parts if not part.isHidden()]
        controls = sum(part.sizeHint().width() + _GAP for part in shown)
        narrow = max(self._theme.px(self._texts_width), self._texts.minimumSize().width()) + controls > self.width()
        direction = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        if self._box.direction() is not direction:
            self._box.setDirection(direction)
            self.updateGeometry()
