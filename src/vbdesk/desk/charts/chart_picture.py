"""A subject's charts as a picture."""

from PySide6.QtCore import QBuffer, QPoint, QSize, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QVBoxLayout, QWidget

from vbdesk.desk.charts.trajectory_data import TrajectoryChart
from vbdesk.desk.charts.trajectory_view import TrajectoryView
from vbdesk.desk.ui.card import Card
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, Theme
from vbdesk.language import _, ngettext

SIZE = QSize(1280, 800)
_PIXELS_PER_POINT = 2.0


def chart_png(theme: Theme, chart: TrajectoryChart, *, note: str = "", size: QSize = SIZE) -> bytes:
    """Draw `chart` in the colours of `theme` as PNG, two pixels to the point; on the window's thread."""
    encoded = QBuffer()
    encoded.open(QBuffer.OpenModeFlag.WriteOnly)
    _drawn(theme, chart, note, size).save(encoded, "PNG")  # type: ignore[call-overload]  # a format is a text
    return bytes(encoded.data().data())


def _drawn(theme: Theme, chart: TrajectoryChart, note: str, size: QSize) -> QImage:
    sheet = _sheet(chart, note)
    sheet.resize(size)
    sheet.grab()  # computes the layout without showing a window
    picture = QImage(size * _PIXELS_PER_POINT, QImage.Format.Format_RGB32)
    picture.setDevicePixelRatio(_PIXELS_PER_POINT)
    picture.fill(theme.colour("bg"))
    sheet.render(picture, QPoint())
    sheet.deleteLater()
    return picture


def _sheet(chart: TrajectoryChart, note: str) -> QWidget:
    sheet = QWidget()
    sheet.setObjectName("page")
    sheet.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    layout = QVBoxLayout(sheet)
    layout.setContentsMargins(36, 28, 36, 20)
    layout.setSpacing(4)
    layout.addWidget(Text(chart.group_id, Role.PAGE_TITLE))
    layout.addWidget(
        Text(
            " · ".join(
                part
                for part in (ngettext("{count:,} recording", "{count:,} recordings", chart.recordings), note)
                if part
            ),
            Role.BODY,
            "text2",
        )
    )
    layout.addSpacing(12)
    card = Card(padding=0)
    view = TrajectoryView()
    view.show_chart(chart)
    card.body.addWidget(view)
    layout.addWidget(card, 1)
    layout.addSpacing(6)
    if chart.change_note:
        layout.addWidget(Text(chart.change_note, Role.CAPTION, "text2", wrap=True))
    layout.addWidget(Text(_("Voice biomarker signals, not diagnoses."), Role.CAPTION, "text3"))
    return sheet
