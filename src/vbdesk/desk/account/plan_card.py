"""The card of Account for credits and plan: prices, and use of the limits."""

from PySide6.QtCore import QEvent, Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QWidget

from vbdesk.contract.limits import Bucket
from vbdesk.desk.account.connection import PriceList, PricesRead, Use, use_of_plan
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.ui.card import Card, horizontal_line
from vbdesk.desk.ui.progress import ProgressBar
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import N_, _, formats, ngettext

_REFRESH_INTERVAL_MS = 1000
_NAME_WIDTH = 150
_NAMES = {
    Bucket.ANALYZE: N_("Uploads and analyses"),
    Bucket.POLLING: N_("Questions for a result"),
    Bucket.GENERAL: N_("Everything else"),
}
_HEADS = (N_("For one recording"), N_("Signs"), N_("Credits"), N_("Recordings"))
_SHARES = (5, 2, 2, 3)  # of the width, for each column of prices
_RIGHT = Qt.AlignmentFlag.AlignRight


class PlanCard(Card):
    """Credits, prices, and the plan's three counters, updated while the card is visible."""

    def __init__(self, flow: Flow) -> None:
        self._theme = app_theme()
        self._context, profile = flow.context, flow.context.profile
        self._free = profile.on_this_computer
        super().__init__(_("Requests") if self._free else _("Credits and plan"), padding=20)
        self._prices: PriceList | None = None
        self._balance: int | None = None
        self.credits = Text("–", Role.FIGURE)
        figures = QHBoxLayout()
        figures.setSpacing(8)
        figures.addWidget(self.credits)
        figures.addWidget(Text(_("credits"), Role.BODY, "text2"), 0, Qt.AlignmentFlag.AlignBottom)
        figures.addStretch(1)
        self._table = QGridLayout()
        self._table.setHorizontalSpacing(24)
        self._table.setVerticalSpacing(6)
        for column, share in enumerate(_SHARES):
            self._table.setColumnStretch(column, share)
        self.note = Text("", Role.CAPTION, "text3", wrap=True)
        if not self._free:
            self.body.addLayout(figures)
            self.body.addLayout(self._table)
            self.body.addWidget(self.note)
            self.body.addWidget(horizontal_line())
        plan = profile.plan.value.capitalize()  # a product's name
        said = _("{plan} plan: requests of the last minute, made by this program", plan=plan)
        self.body.addWidget(Text(said, Role.BODY_MEDIUM, wrap=True))
        self._use = QGridLayout()
        self._use.setHorizontalSpacing(16)
        self._use.setVerticalSpacing(8)
        self._use.setColumnStretch(1, 1)
        self._rows = {use.bucket: self._use_row(index, use) for index, use in enumerate(use_of_plan(self._context))}
        self.body.addLayout(self._use)
        self._timer = QTimer(self)
        self._timer.setInterval(_REFRESH_INTERVAL_MS)
        self._timer.timeout.connect(self.refresh)
        self._fit()
        self.content = flow.screen(self)
        self.content.changed.connect(self._show_prices)
        self.content.show(PricesRead())

    def show_balance(self, balance: int | None) -> None:
        """Show the credits; None if unknown."""
        if balance is None or balance == self._balance:
            return
        self._balance = balance
        self.credits.setText(formats.number(balance))
        self._fill()

    @Slot()
    def refresh(self) -> None:
        """Update the counters."""
        for use in use_of_plan(self._context):
            bar, figure = self._rows[use.bucket]
            bar.show_share(use.used / use.limit)
            figure.setText(_("{used} of {limit:,}", used=use.used, limit=use.limit))

    def showEvent(self, event: QShowEvent) -> None:  # noqa: D102
        super().showEvent(event)
        self.refresh()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: D102
        super().hideEvent(event)
        self._timer.stop()

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._fit()

    def _fit(self) -> None:
        for grid in (self._table, self._use):
            grid.setColumnMinimumWidth(0, self._theme.px(_NAME_WIDTH))

    def prices(self) -> list[str]:
        """The price rows as texts."""
        return [
            " ".join(self._at(row, column).text() for column in range(len(_HEADS)))
            for row in range(1, self._table.rowCount())
        ]

    def _at(self, row: int, column: int) -> Text:
        item = self._table.itemAtPosition(row, column)
        widget = None if item is None else item.widget()
        return widget if isinstance(widget, Text) else Text()

    def _use_row(self, index: int, use: Use) -> tuple[ProgressBar, Text]:
        bar, figure = ProgressBar(_(_NAMES[use.bucket])), Text("", Role.LABEL_MEDIUM)
        self._use.addWidget(Text(_(_NAMES[use.bucket]), Role.LABEL, "text2"), index, 0)
        self._use.addWidget(bar, index, 1)
        self._use.addWidget(figure, index, 2, _RIGHT)
        return bar, figure

    @Slot()
    def _show_prices(self) -> None:
        prices = self.content.of(PricesRead).value
        if prices is not None and prices != self._prices:
            self._prices = prices
            self._fill()

    def _fill(self) -> None:
        if self._prices is None or self._free:
            return
        _empty(self._table)
        for column, head in enumerate(_HEADS):
            self._put(Text(_(head), Role.CAPTION, "text3", wrap=True), 0, column)
        for row, price in enumerate(self._prices.prices, 1):
            buys = "–" if self._balance is None else formats.number(price.recordings(self._balance))
            self._put(Text(_(price.what), Role.BODY_MEDIUM, wrap=True), row, 0)
            for column, figure in enumerate((formats.number(price.signs), formats.number(price.credits), buys), 1):
                self._put(Text(figure, Role.BODY, "text2" if column < len(_HEADS) - 1 else "text"), row, column)
        whose = _("The interface does not tell prices: these are vbdesk's own, another service may ask others.")
        speakers = ngettext(
            "Telling speakers apart costs {count} credit more a recording.",
            "Telling speakers apart costs {count} credits more a recording.",
            self._prices.diarize,
        )
        self.note.setText(f"{speakers} {whose}")

    def _put(self, text: Text, row: int, column: int) -> None:
        if column:
            self._table.addWidget(text, row, column, _RIGHT)
        else:
            self._table.addWidget(text, row, column)


def _empty(grid: QGridLayout) -> None:
    while grid.count():
        item = grid.takeAt(0)
        widget: QWidget | None = None if item is None else item.widget()
        if widget is not None:
            widget.hide()
            widget.deleteLater()
