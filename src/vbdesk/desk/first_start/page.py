"""The first start page: this computer, or a service."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QRectF, Qt, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from vbdesk.desk.first_start.view_model import FirstStartViewModel
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.buttons import ButtonSize, primary_button, secondary_button
from vbdesk.desk.ui.card import Card, horizontal_line, scroll_area
from vbdesk.desk.ui.fields import ChoiceField, Field, LineField, SecretField
from vbdesk.desk.ui.flow_layout import FlowLayout, StackingRow
from vbdesk.desk.ui.icons import IconView, mark
from vbdesk.desk.ui.notice import NoticeAction, Tone
from vbdesk.desk.ui.painting import antialiased, mirrored, rounded
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import N_, _
from vbdesk.outbox.library.managed_policy import managed_text

_COLUMN, _DOOR = 920, 360
_PROMISES = (
    N_("Nothing to type: account and key are made for you"),
    N_("Recordings and results stay on this computer"),
    N_("Works without a network"),
    N_("Runs only while vbdesk is open"),
)


class _Tile(QWidget):
    """An icon on a tinted square."""

    def __init__(self, icon: str) -> None:
        self._theme = app_theme()
        super().__init__()
        side = self._theme.px(44)
        self.setFixedSize(side, side)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(IconView(icon, "accent", 24), 0, Qt.AlignmentFlag.AlignCenter)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = antialiased(QPainter(self))
        rounded(painter, self.rect().toRectF(), 10, self._theme.colour("accenttint"))
        painter.end()


class _Mark(QWidget):
    """Logo and name, for pages without a sidebar."""

    def __init__(self) -> None:
        self._theme = app_theme()
        super().__init__()
        self.setFixedHeight(self._theme.px(24))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = antialiased(QPainter(self))
        side = self._theme.px(24)
        whole = QRectF(self.rect())
        area = mirrored(painter, QRectF(0, 0, side, side), whole)
        painter.drawPixmap(area.topLeft(), mark(self._theme, side, self.devicePixelRatioF()))
        painter.setFont(self._theme.font(Role.CARD_TITLE))
        painter.setPen(self._theme.colour("text"))
        name = mirrored(painter, QRectF(side + 10, 0, 200, side), whole)
        painter.drawText(name, Qt.AlignmentFlag.AlignVCenter, "vbdesk")
        painter.end()


class FirstStartPage(QWidget):
    """Two choices; binds `FirstStartViewModel`.

    Signals:
        language_wanted: (str) tag of the language that the user chose.
    """

    language_wanted = Signal(str)

    def __init__(
        self,
        model: FirstStartViewModel,
        data_dir: Path,
        languages: Sequence[tuple[str, str]] = (),
        language: str = "",
        *,
        language_managed: bool = False,
    ) -> None:
        """Make it.

        Args:
            model: what it shows.
            data_dir: where recordings will be.
            languages: tags and names to choose from.
            language: tag of the one that is shown.
            language_managed: whether the organisation has set it.
        """
        self._theme = app_theme()
        super().__init__()
        self.setObjectName("firstStart")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(_("First start"))
        self._model = model
        model.setParent(self)
        self.language = ChoiceField("globe")
        for tag, name in languages:
            self.language.addItem(name, tag)
        self.language.setCurrentIndex(self.language.findData(language))
        self.language.setAccessibleName(_("Language"))
        self.language.setVisible(len(languages) > 1)
        self._language_managed = language_managed
        self.language.setDisabled(language_managed)
        self.banner = Banner()
        self.this_computer = primary_button(_("Use this computer"), size=ButtonSize.LARGE)
        self.passphrase, self.repeated = SecretField(), SecretField()
        self.passphrase_field = Field(_("Passphrase"), self.passphrase, help_text=_("At least 12 characters."))
        self.why_passphrase = Text("", Role.BODY, "text2", wrap=True)
        self._promises, self._passphrase_part = QWidget(), QWidget()
        self._below_this_computer = Text(_("Nothing to set up"), Role.BODY, "text2", wrap=True)
        self._where_keys_are = Text(
            _("Keys are stored in this computer's keyring and nowhere else."), Role.BODY, "text2", wrap=True
        )
        self.address, self.account, self.key = LineField(placeholder="https://"), LineField(), SecretField()
        self.address_field = Field(_("Address"), self.address)
        if model.managed_address is not None:
            self.address.setText(model.managed_address)
            self.address.setDisabled(True)
            self.address_field.set_help(managed_text())
        self.test = secondary_button(_("Test connection"), size=ButtonSize.LARGE)
        self.go_on = primary_button(_("Continue"), size=ButtonSize.LARGE)
        self.answer_icon, self.answer = IconView("", "ok", 16), Text("", Role.LABEL_MEDIUM, "ok", wrap=True)
        self._busy_text = Text("", Role.BODY, "text2")
        self._lay_out(data_dir)
        self._bind()

    def typed(self) -> tuple[str, ...]:
        """What was typed into the fields."""
        return tuple(edit.text() for edit in self._edits)

    def type_in(self, typed: tuple[str, ...]) -> None:
        """Fill the fields with what was typed on another such page; then the language has the focus."""
        for edit, text in zip(self._edits, typed, strict=True):
            edit.setText(text)
        self.language.setFocus(Qt.FocusReason.OtherFocusReason)

    @property
    def _edits(self) -> tuple[QLineEdit, ...]:
        return self.address, self.account, self.key, self.passphrase, self.repeated

    def _bind(self) -> None:
        model = self._model
        self.language.activated.connect(self._on_language)
        self.this_computer.clicked.connect(self._use_this_computer)
        self.passphrase.returnPressed.connect(self.repeated.setFocus)
        self.repeated.returnPressed.connect(self._use_this_computer)
        self.test.clicked.connect(model.test_connection)
        self.go_on.clicked.connect(model.use_service)
        for edit in (self.address, self.account, self.key):
            edit.textChanged.connect(self._on_typed)
        model.busy_changed.connect(self._show_busy)
        model.tested.connect(self._show_test)
        model.failed.connect(self._show_failure)
        model.session_offered.connect(self._offer_session)
        model.keyring_missing.connect(self._show_passphrase)
        model.passphrase_wanted.connect(self._ask_for_passphrase)
        model.passphrase_faulty.connect(self._show_passphrase_fault)
        model.can_go_on_changed.connect(self._allow)
        self._allow(False)
        model.check_keyring()

    def _lay_out(self, data_dir: Path) -> None:
        head = Text(_("Where should recordings be analysed?"), Role.FIRST_TITLE, wrap=True)
        below = Text(
            _("Choose one to begin. Others can be added later under Account, and their recordings never mix."),
            Role.BODY,
            "text2",
            wrap=True,
        )
        doors = StackingRow((self._first_door(data_dir), self._second_door()), least=_DOOR, spacing=24)
        foot = QHBoxLayout()
        foot.setSpacing(10)
        foot.addWidget(IconView("lock", "text2", 16))
        foot.addWidget(self._where_keys_are, 1)
        foot.addWidget(self._busy_text)
        column = QVBoxLayout()
        column.setSpacing(0)
        column.addStretch(1)
        for part in (head, below):
            column.addWidget(part)
            column.addSpacing(8)
        column.addSpacing(12)
        self.banner.float_over(self)
        column.addSpacing(16)
        column.addWidget(doors)
        column.addSpacing(24)
        column.addLayout(foot)
        column.addStretch(2)
        centred = QWidget()
        centred.setMaximumWidth(self._theme.px(_COLUMN))
        centred.setLayout(column)
        inner = QWidget()
        across = QHBoxLayout(inner)
        across.setContentsMargins(8, 0, 8, 0)
        across.addStretch(1)
        across.addWidget(centred, 100)
        across.addStretch(1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(28, 24, 28, 0)
        top = QHBoxLayout()
        top.addWidget(_Mark(), 1)
        if self._language_managed:
            self.language.setAccessibleDescription(managed_text())
            top.addWidget(Text(managed_text(), Role.CAPTION, "text3"))
            top.addSpacing(12)
        top.addWidget(self.language)
        whole.addLayout(top)
        whole.addWidget(scroll_area(inner), 1)

    def _first_door(self, data_dir: Path) -> Card:
        card = Card(padding=28)
        card.body.setSpacing(0)
        card.body.addLayout(_door_head("laptop", _("This computer"), self._below_this_computer))
        card.body.addSpacing(22)
        promises = QVBoxLayout(self._promises)
        promises.setContentsMargins(0, 0, 0, 0)
        promises.setSpacing(8)
        for promise in _PROMISES:
            row = QHBoxLayout()
            row.setSpacing(10)
            row.addWidget(IconView("check", "ok", 16))
            row.addWidget(Text(_(promise), Role.BODY, "text2", wrap=True), 1)
            promises.addLayout(row)
        secret = QVBoxLayout(self._passphrase_part)
        secret.setContentsMargins(0, 0, 0, 0)
        secret.setSpacing(14)
        for part in (self.why_passphrase, self.passphrase_field, Field(_("Passphrase again"), self.repeated)):
            secret.addWidget(part)
        self._passphrase_part.hide()
        card.body.addWidget(self._promises)
        card.body.addWidget(self._passphrase_part)
        card.body.addSpacing(22)
        card.body.addWidget(horizontal_line())
        card.body.addSpacing(18)
        card.body.addWidget(Text(_("Data folder"), Role.LABEL_MEDIUM))
        card.body.addWidget(Text(str(data_dir), Role.CAPTION, "text3", wrap=True))
        card.body.addStretch(1)
        card.body.addSpacing(20)
        card.body.addWidget(self.this_computer)
        return card

    def _second_door(self) -> Card:
        card = Card(padding=28)
        card.body.setSpacing(0)
        card.body.addLayout(
            _door_head("server", _("A service"), Text(_("Run by your clinic or study"), Role.BODY, "text2", wrap=True))
        )
        for field in (self.address_field, Field(_("Account id"), self.account), Field(_("API key"), self.key)):
            card.body.addSpacing(18)
            card.body.addWidget(field)
        card.body.addStretch(1)
        card.body.addSpacing(20)
        answer = QHBoxLayout()
        answer.setSpacing(8)
        answer.addWidget(self.answer_icon)
        answer.addWidget(self.answer, 1)
        card.body.addLayout(answer)
        card.body.addSpacing(12)
        buttons = QWidget()
        line = FlowLayout(buttons)
        for button in (self.test, self.go_on):
            line.addWidget(button)
        card.body.addWidget(buttons)
        return card

    @Slot(int)
    def _on_language(self, index: int) -> None:
        self.language_wanted.emit(self.language.itemData(index))

    @Slot()
    def _on_typed(self) -> None:
        self._model.set_address(self.address.text(), self.account.text(), self.key.text())
        self.address_field.set_fault(self._model.fault)
        self.answer.setText("")
        self.answer_icon.show_icon("")

    @Slot(bool)
    def _allow(self, allowed: bool) -> None:
        self.test.setEnabled(allowed)
        self.go_on.setEnabled(allowed)

    @Slot(str)
    def _show_busy(self, text: str) -> None:
        self._busy_text.setText(text)
        for control in (
            self.this_computer,
            self.passphrase,
            self.repeated,
            self.address,
            self.account,
            self.key,
        ):
            control.setEnabled(not text)
        self.language.setDisabled(bool(text) or self._language_managed)
        self.address.setDisabled(bool(text) or self._model.managed_address is not None)
        self._allow(not text and self._model.can_go_on)

    @Slot(bool, str)
    def _show_test(self, succeeded: bool, sentence: str) -> None:
        ink = "ok" if succeeded else "fail"
        self.answer_icon.show_icon("check" if succeeded else "error", ink)
        self.answer.set_ink(ink)
        self.answer.setText(sentence)

    @Slot(str)
    def _show_failure(self, sentence: str) -> None:
        self.banner.say(Tone.FAIL, sentence)

    @Slot()
    def _use_this_computer(self) -> None:
        if self._passphrase_part.isVisibleTo(self):
            self._model.use_passphrase(self.passphrase.text(), self.repeated.text())
        else:
            self._model.use_this_computer()

    @Slot(str)
    def _ask_for_passphrase(self, why: str) -> None:
        self._show_passphrase(why)
        self.passphrase.setFocus()

    @Slot(str)
    def _show_passphrase(self, why: str) -> None:
        self.why_passphrase.setText(why)
        self._below_this_computer.setText(_("Opens with your passphrase"))
        self._where_keys_are.setText(_("Keys of this computer are stored encrypted with your passphrase."))
        self._promises.hide()
        self._passphrase_part.show()

    @Slot(str)
    def _show_passphrase_fault(self, fault: str) -> None:
        self.passphrase_field.set_fault(fault or None)

    @Slot(str)
    def _offer_session(self, sentence: str) -> None:
        title = _("This computer has no keyring, so there is no safe place for keys")
        use = NoticeAction(_("Use for this session"), self._model.use_session_only, stays=True)
        self.banner.say(Tone.WARN, sentence, use, title=title)


def _door_head(icon: str, title: str, below: Text) -> QHBoxLayout:
    texts = QVBoxLayout()
    texts.setSpacing(0)
    texts.addWidget(Text(title, Role.DOOR_TITLE, wrap=True))
    texts.addWidget(below)
    row = QHBoxLayout()
    row.setSpacing(14)
    row.addWidget(_Tile(icon))
    row.addLayout(texts, 1)
    return row
