"""A breadcrumb: a link back to the parent page."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from vbdesk.desk.ui.theme import Role, app_theme


class Breadcrumb(QAbstractButton):
    """A small link."""

    def __init__(self, text: str = "") -> None:
        self._theme = app_theme()
        super().__init__()
        self.setText(text)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setProperty("ringRadius", 4)
        if not text:
            self.hide()

    def show_text(self, text: str) -> None:
        """Show another name."""
        self.setText(text)
        self.setVisible(bool(text))  # a link without a name is no link
        self.updateGeometry()

    def sizeHint(self) -> QSize:  # noqa: D102
        metrics = QFontMetricsF(self._theme.font(Role.CAPTION))
        return QSize(round(metrics.horizontalAdvance(self.text()) + 1), self._theme.px(20))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = QPainter(self)
        painter.setFont(self._theme.font(Role.CAPTION))
        painter.setPen(self._theme.colour("text" if self.underMouse() else "text2"))
        painter.drawText(QRectF(self.rect()), Qt.AlignmentFlag.AlignVCenter, self.text())
        painter.end()
