"""The card of Account for the desk: colours, text size, language, pedal, data folder."""

from itertools import pairwise
from typing import Protocol

from PySide6.QtCore import QSignalBlocker, Qt, QUrl, Slot
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QKeySequenceEdit, QLineEdit, QWidget

from vbdesk.capture.protocols import protocol_languages
from vbdesk.client.update_notice import read_notice_source
from vbdesk.contract.spoken_language import primary_language
from vbdesk.desk.account.update_notice import UpdateNoticeRead
from vbdesk.desk.flow.flow import ProgramFlow
from vbdesk.desk.language_choice import language_name
from vbdesk.desk.preferences import PEDAL_KEY, ChangePreferences, Preferences, PreferencesRead
from vbdesk.desk.ui.buttons import quiet_button, secondary_button
from vbdesk.desk.ui.card import Card, horizontal_line
from vbdesk.desk.ui.fields import ChoiceField, Field, LineField
from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.language import N_, _, pgettext, translated
from vbdesk.outbox.library.managed_policy import managed_text

TEXT_SIZES = (90, 100, 110, 125, 150, 175, 200)
_TAKEN = {
    Qt.Key.Key_Space: N_("Space records, stops and plays."),
    Qt.Key.Key_Escape: N_("Esc leaves what is under way."),
    Qt.Key.Key_Tab: N_("Tab moves to the next control."),
    Qt.Key.Key_Backtab: N_("Tab moves to the control before."),
    Qt.Key.Key_Return: N_("Enter sends a recording."),
    Qt.Key.Key_Enter: N_("Enter sends a recording."),
}
_TWO_COLUMNS_FROM = 560
_NAME_WIDTH = 100
_LANGUAGE_HELP = N_("Of what people read or say aloud. A summary comes in the language that the service is set to.")
_READING_HELP = N_("Of this window. The language of prompts does not change with it.")


class ReadingChoice(Protocol):
    """The language that the window is read in."""

    tag: str
    managed: bool

    def choices(self) -> list[tuple[str, str]]:
        """Tags and names of the languages."""

    def choose(self, tag: str) -> str:
        """Change it; empty for the system's. Returns why it stays as it is, or nothing."""


class DeskCard(Card):
    """Preferences of the desk: every choice is applied and saved immediately."""

    def __init__(self, flow: ProgramFlow, reading: ReadingChoice | None = None) -> None:
        """Make it; `reading` is None where the language of the window cannot change."""
        self._theme = app_theme()
        self.scheme = SegmentedChoice(
            _("Colours"),
            [
                (Scheme.SYSTEM.value, _("As the system"), "laptop"),
                (Scheme.LIGHT.value, pgettext("colours", "Light"), "sun"),
                (Scheme.DARK.value, pgettext("colours", "Dark"), "moon"),
            ],
        )
        super().__init__(_("This desk"), padding=20)
        self._ports, self._reading, self.content = flow.ports, reading, flow.screen(self)
        self._managed = flow.ports.policy.update_notice is not None
        self._chosen = Preferences()
        self.text_size, self.language = ChoiceField("eye"), ChoiceField("globe")
        self.text_size.addItem(_("As the system"), None)
        for percent in TEXT_SIZES:
            self.text_size.addItem(_("{share:.0%}", share=percent / 100), percent)
        self.language.addItem(_("As the system"), "")
        for tag in protocol_languages():
            self.language.addItem(language_name(primary_language(tag)), tag)
        self.reading = ChoiceField("globe")
        self.reading.addItem(_("As the system"), "")
        for tag, name in reading.choices() if reading is not None else ():
            self.reading.addItem(name, tag)
        self.reading_field = Field(_("Language"), self.reading, help_text=_(_READING_HELP))
        if reading is not None and reading.managed:
            self.reading.setDisabled(True)
            self.reading_field.set_help(managed_text())
        self.pedal = QKeySequenceEdit()
        self.pedal.setMaximumSequenceLength(1)
        self.pedal_field = Field(
            _("Pedal key"), self.pedal, help_text=_("Press the pedal here. On Record it starts, stops and plays.")
        )
        for inner in self.pedal.findChildren(QLineEdit):  # for screen readers
            inner.setAccessibleName(_("Pedal key"))
        self.pedal_back = quiet_button(_("Back to {key}", key=PEDAL_KEY))
        self.open_folder = secondary_button(_("Open folder"), icon="folder")
        self.notice = LineField(placeholder="https://")
        self.notice.setDisabled(self._managed)
        self.notice_field = Field(_("Notice of new versions"), self.notice, optional=True)
        self.notice_field.set_help(managed_text() if self._managed else _("Off while empty. Nothing is downloaded."))
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(24)
        self._grid.setVerticalSpacing(18)
        self._parts: tuple[QWidget, ...] = (
            *((self.reading_field,) if reading is not None else ()),
            Field(_("Text size"), self.text_size, help_text=_("The system's font, or a size of its own for vbdesk.")),
            Field(_("Language of prompts"), self.language, help_text=_(_LANGUAGE_HELP)),
            self.pedal_field,
            self.notice_field,
        )
        self.update_text = Text("", Role.CAPTION, "text2", wrap=True)
        self.update_text.hide()
        self._columns = 0
        self.body.addWidget(self._colours())
        self.body.addWidget(horizontal_line())
        self.body.addLayout(self._grid)
        self.body.addWidget(self.pedal_back, 0, Qt.AlignmentFlag.AlignLeft)
        self.body.addWidget(self.update_text)
        self.body.addWidget(horizontal_line())
        self.body.addWidget(self._folder())
        self._bind()

    def open(self) -> None:
        """Show the present preferences, and ask for a new version if that is due."""
        self.content.show(PreferencesRead())

    def fit(self, width: int) -> None:
        """Use two columns if `width` allows."""
        columns = 2 if width >= self._theme.px(_TWO_COLUMNS_FROM) else 1
        if columns != self._columns:
            self._columns = columns
            for part in self._parts:
                self._grid.removeWidget(part)
            for index, part in enumerate(self._parts):
                row, column = divmod(index, columns)
                self._grid.addWidget(part, row, column, Qt.AlignmentFlag.AlignTop)
            self._grid.setColumnStretch(0, 1)
            self._grid.setColumnStretch(1, columns - 1)

    def _bind(self) -> None:
        self.scheme.chosen.connect(self._on_scheme)
        self.text_size.activated.connect(self._on_text_size)
        self.language.activated.connect(self._on_language)
        self.reading.activated.connect(self._on_reading)
        self.pedal.editingFinished.connect(self._on_pedal)
        self.pedal_back.clicked.connect(self._on_pedal_back)
        self.open_folder.clicked.connect(self._open_folder)
        self.notice.editingFinished.connect(self._on_notice)
        self.content.changed.connect(self._show)
        self.scheme.choose(self._theme.scheme.value)
        self.fit(0)
        order = (
            self.scheme.option(Scheme.DARK.value),
            *((self.reading,) if self._reading is not None else ()),
            self.text_size,
            self.language,
            self.pedal,
            self.pedal_back,
            self.notice,
            self.open_folder,
        )
        for before, after in pairwise(order):
            self.setTabOrder(before, after)

    def _colours(self) -> QWidget:
        texts = QHBoxLayout()
        texts.addWidget(Text(_("Colours"), Role.LABEL_MEDIUM))
        texts.addStretch(1)
        row = PageHeader(texts, self.scheme, texts_width=_NAME_WIDTH)
        row.setMinimumWidth(1)
        return row

    def _folder(self) -> QWidget:
        row = QWidget()
        box = QHBoxLayout(row)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(12)
        text = _("Recordings and settings of every profile are in {folder}", folder=self._ports.data_dir)
        box.addWidget(Text(text, Role.LABEL, "text2", wrap=True), 1)
        box.addWidget(self.open_folder)
        return row

    @Slot()
    def _show(self) -> None:
        chosen = self.content.of(PreferencesRead).value
        if chosen is None:
            return
        notice = UpdateNoticeRead(chosen.update_notice)
        if self.content.read(UpdateNoticeRead) != notice:
            self.content.add(notice)  # and shows what follows
            return
        if chosen is not self._chosen:
            self._show_choices(chosen)
        snapshot = self.content.of(UpdateNoticeRead)
        address, update_text = snapshot.value or ("", "")
        self._show_notice(address, update_text or (snapshot.failure.sentence if snapshot.failure else ""))

    def _show_choices(self, chosen: Preferences) -> None:
        self._chosen = chosen
        self.scheme.choose(self._theme.scheme.value)
        index = self.text_size.findData(chosen.text_size)
        if index < 0 and chosen.text_size is not None:  # a size set in the file
            self.text_size.addItem(_("{share:.0%}", share=chosen.text_size / 100), chosen.text_size)
            index = self.text_size.count() - 1
        self.text_size.setCurrentIndex(index)
        self.language.setCurrentIndex(max(0, self.language.findData(chosen.language)))
        self._show_pedal(chosen.pedal_key)
        self._show_reading()

    def _show_reading(self) -> None:
        tag = self._reading.tag if self._reading is not None else ""
        self.reading.setCurrentIndex(max(0, self.reading.findData(tag)))

    def _show_pedal(self, key: str) -> None:
        blocker = QSignalBlocker(self.pedal)
        self.pedal.setKeySequence(QKeySequence.fromString(key, QKeySequence.SequenceFormat.PortableText))
        blocker.unblock()
        self.pedal_back.setVisible(key != PEDAL_KEY)

    def _show_notice(self, address: str, update_text: str) -> None:
        if not self.notice.hasFocus():
            self.notice.setText(address)
            self.notice.setCursorPosition(0)
        self.update_text.setText(update_text)
        self.update_text.setVisible(bool(update_text))

    @Slot()
    def _on_notice(self) -> None:
        if not self.notice.isModified():
            return
        self.notice.setModified(False)
        try:
            address = str(read_notice_source(self.notice.text())) if self.notice.text().strip() else ""
        except ValueError as fault:
            self.notice_field.set_fault(translated(fault))
            return
        self.notice_field.set_fault(None)
        self._store_changes(update_notice=address)

    @Slot(str)
    def _on_scheme(self, key: str) -> None:
        self._theme.set_scheme(Scheme(key))
        self._store_changes(scheme=Scheme(key))

    @Slot(int)
    def _on_text_size(self, index: int) -> None:
        percent = self.text_size.itemData(index)
        self._theme.set_text_size(None if percent is None else percent / 100)
        self._store_changes(text_size=percent)

    @Slot(int)
    def _on_language(self, index: int) -> None:
        self._store_changes(language=self.language.itemData(index))

    @Slot(int)
    def _on_reading(self, index: int) -> None:
        if self._reading is not None:
            why = self._reading.choose(self.reading.itemData(index))
            self.reading_field.set_fault(why or None)
            if why:
                self._show_reading()

    @Slot()
    def _on_pedal(self) -> None:
        if self.pedal.keySequence() != QKeySequence(self._chosen.pedal_key):
            self._choose_pedal(self.pedal.keySequence())

    @Slot()
    def _on_pedal_back(self) -> None:
        self._choose_pedal(QKeySequence(PEDAL_KEY))

    def _choose_pedal(self, keys: QKeySequence) -> None:
        fault = _pedal_fault(keys)
        self.pedal_field.set_fault(fault)
        if fault is None:
            self._store_changes(pedal_key=keys.toString(QKeySequence.SequenceFormat.PortableText))
        else:
            self._show_pedal(self._chosen.pedal_key)

    @Slot()
    def _open_folder(self) -> None:
        self._ports.open_page(QUrl.fromLocalFile(str(self._ports.data_dir)).toString())

    def _store_changes(self, **changes: object) -> None:
        self.content.do(ChangePreferences(changes))


def _pedal_fault(keys: QKeySequence) -> str | None:
    """Why the foot pedal cannot send these keys; None if it can."""
    if keys.isEmpty():
        return _("Press the pedal, or a key.")
    key = keys[0]  # type: ignore[index]  # not in the stubs
    if key.keyboardModifiers() == Qt.KeyboardModifier.NoModifier and key.key() in _TAKEN:
        return " ".join((_(_TAKEN[key.key()]), _("Choose another key.")))
    return None
