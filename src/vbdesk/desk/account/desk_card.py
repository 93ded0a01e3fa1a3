"""The card of Account for the desk: colours, text size, language, pedal, data folder."""

from itertools import pairwise

from PySide6.QtCore import QKeyCombination, QSignalBlocker, Qt, Slot
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QKeySequenceEdit, QLineEdit, QWidget

from vbdesk.contract.spoken_language import primary_language
from vbdesk.desk.account.desk_settings import TEXT_SIZES, DeskChoices
from vbdesk.desk.account.update_notice_model import UpdateNoticeViewModel
from vbdesk.desk.models.language_choice import language_name
from vbdesk.desk.models.preferences import PEDAL_KEY, Preferences
from vbdesk.desk.ui.buttons import quiet_button, secondary_button
from vbdesk.desk.ui.card import Card, horizontal_line
from vbdesk.desk.ui.fields import ChoiceField, Field, LineField
from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.language import N_, _, pgettext
from vbdesk.outbox.library.managed_policy import managed_words

_TWO_COLUMNS_FROM = 560
_NAME_WIDTH = 100
_LANGUAGE_WORDS = N_("Of what people read or say aloud. A summary comes in the language that the service is set to.")
_READING_WORDS = N_("Of this window. The language of prompts does not change with it.")


class DeskCard(Card):
    """Binds `DeskChoices`: every choice is applied and saved immediately; and `UpdateNoticeViewModel`."""

    def __init__(self, model: DeskChoices, updates: UpdateNoticeViewModel | None = None) -> None:
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
        self.model, self.updates = model, updates
        self._chosen = Preferences()
        self.text_size, self.language = ChoiceField("eye"), ChoiceField("globe")
        self.text_size.addItem(_("As the system"), None)
        for percent in TEXT_SIZES:
            self.text_size.addItem(_("{share:.0%}", share=percent / 100), percent)
        self.language.addItem(_("As the system"), "")
        for tag in model.languages:
            self.language.addItem(language_name(primary_language(tag)), tag)
        self.reading = ChoiceField("globe")
        self.reading.addItem(_("As the system"), "")
        for tag, name in model.reading.choices() if model.reading is not None else ():
            self.reading.addItem(name, tag)
        self.reading_field = Field(_("Language"), self.reading, help_text=_(_READING_WORDS))
        if model.reading is not None and model.reading.managed:
            self.reading.setDisabled(True)
            self.reading_field.set_help(managed_words())
        self.pedal = QKeySequenceEdit()
        self.pedal.setMaximumSequenceLength(1)
        self.pedal_field = Field(
            _("Pedal key"), self.pedal, help_text=_("Press the pedal here. On Record it starts, stops and plays.")
        )
        for inner in self.pedal.findChildren(QLineEdit):  # for screen readers
            inner.setAccessibleName(_("Pedal key"))
        self.pedal_back = quiet_button(_("Back to {key}", key=PEDAL_KEY))
        self.open_folder = secondary_button(_("Open folder"), icon="folder")
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(24)
        self._grid.setVerticalSpacing(18)
        self._parts: tuple[QWidget, ...] = (
            *((self.reading_field,) if model.reading is not None else ()),
            Field(_("Text size"), self.text_size, help_text=_("The system's font, or a size of its own for vbdesk.")),
            Field(_("Language of prompts"), self.language, help_text=_(_LANGUAGE_WORDS)),
            self.pedal_field,
        )
        self.news = Text("", Role.CAPTION, "text2", wrap=True)
        self.news.hide()
        self.notice = LineField(placeholder="https://")
        self.notice_field = Field(_("Notice of new versions"), self.notice, optional=True)
        if updates is not None:
            self._parts = (*self._parts, self.notice_field)
            self._show_notice("", "")
        self._columns = 0
        self.body.addWidget(self._colours())
        self.body.addWidget(horizontal_line())
        self.body.addLayout(self._grid)
        self.body.addWidget(self.pedal_back, 0, Qt.AlignmentFlag.AlignLeft)
        self.body.addWidget(self.news)
        self.body.addWidget(horizontal_line())
        self.body.addWidget(self._folder())
        self._bind()

    def fit(self, width: int) -> None:
        """Use two columns if `width` allows."""
        columns = 2 if width >= self._theme.px(_TWO_COLUMNS_FROM) else 1
        if columns != self._columns:
            self._columns = columns
            for part in self._parts:
                self._grid.removeWidget(part)
            for place, part in enumerate(self._parts):
                row, column = divmod(place, columns)
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
        self.open_folder.clicked.connect(self.model.open_folder)
        self.model.shown.connect(self.show_choices)
        if self.updates is not None:
            self.updates.shown.connect(self._show_notice)
            self.notice.editingFinished.connect(self._on_notice)
        self.scheme.choose(self._theme.scheme.value)
        self.fit(0)
        order = (
            self.scheme.option(Scheme.DARK.value),
            *((self.reading,) if self.model.reading is not None else ()),
            self.text_size,
            self.language,
            self.pedal,
            self.pedal_back,
            *((self.notice,) if self.updates is not None else ()),
            self.open_folder,
        )
        for before, after in pairwise(order):
            self.setTabOrder(before, after)

    def _colours(self) -> QWidget:
        words = QHBoxLayout()
        words.addWidget(Text(_("Colours"), Role.LABEL_MEDIUM))
        words.addStretch(1)
        row = PageHeader(words, self.scheme, words_width=_NAME_WIDTH)
        row.setMinimumWidth(1)
        return row

    def _folder(self) -> QWidget:
        row = QWidget()
        box = QHBoxLayout(row)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(12)
        words = _("Recordings and settings of every profile are in {folder}", folder=self.model.folder)
        box.addWidget(Text(words, Role.LABEL, "text2", wrap=True), 1)
        box.addWidget(self.open_folder)
        return row

    @Slot(object)
    def show_choices(self, chosen: Preferences) -> None:
        """Show the preferences."""
        self._chosen = chosen
        self.scheme.choose(self._theme.scheme.value)
        place = self.text_size.findData(chosen.text_size)
        if place < 0 and chosen.text_size is not None:  # a size set in the file
            self.text_size.addItem(_("{share:.0%}", share=chosen.text_size / 100), chosen.text_size)
            place = self.text_size.count() - 1
        self.text_size.setCurrentIndex(place)
        self.language.setCurrentIndex(max(0, self.language.findData(chosen.language)))
        self._show_pedal(chosen.pedal_key)
        self._show_reading()

    def _show_reading(self) -> None:
        tag = self.model.reading.tag if self.model.reading is not None else ""
        self.reading.setCurrentIndex(max(0, self.reading.findData(tag)))

    def _show_pedal(self, key: str) -> None:
        blocker = QSignalBlocker(self.pedal)
        self.pedal.setKeySequence(QKeySequence.fromString(key, QKeySequence.SequenceFormat.PortableText))
        blocker.unblock()
        self.pedal_back.setVisible(key != PEDAL_KEY)

    @Slot(str, str)
    def _show_notice(self, address: str, news: str) -> None:
        managed = self.updates is not None and self.updates.managed
        self.notice.setDisabled(managed)
        self.notice_field.set_help(managed_words() if managed else _("Off while empty. Nothing is downloaded."))
        if not self.notice.hasFocus():
            self.notice.setText(address)
            self.notice.setCursorPosition(0)
        self.news.setText(news)
        self.news.setVisible(bool(news))

    @Slot()
    def _on_notice(self) -> None:
        if self.updates is not None and self.notice.isModified():
            self.notice.setModified(False)
            self.notice_field.set_fault(self.updates.choose(self.notice.text()))

    @Slot(str)
    def _on_scheme(self, key: str) -> None:
        self.model.choose_scheme(Scheme(key))

    @Slot(int)
    def _on_text_size(self, place: int) -> None:
        self.model.choose_text_size(self.text_size.itemData(place))

    @Slot(int)
    def _on_language(self, place: int) -> None:
        self.model.choose_language(self.language.itemData(place))

    @Slot(int)
    def _on_reading(self, place: int) -> None:
        if self.model.reading is not None:
            why = self.model.reading.choose(self.reading.itemData(place))
            self.reading_field.set_fault(why or None)
            if why:
                self._show_reading()

    @Slot()
    def _on_pedal(self) -> None:
        if self.pedal.keySequence() == QKeySequence(self._chosen.pedal_key):
            return
        fault = self._choose_pedal(self.pedal.keySequence())
        self.pedal_field.set_fault(fault)
        if fault is not None:
            self._show_pedal(self._chosen.pedal_key)

    @Slot()
    def _on_pedal_back(self) -> None:
        self.pedal_field.set_fault(None)
        self._choose_pedal(QKeySequence(PEDAL_KEY))

    def _choose_pedal(self, keys: QKeySequence) -> str | None:
        first: QKeyCombination | None = None if keys.isEmpty() else keys[0]  # type: ignore[index]  # not in the stubs
        return self.model.choose_pedal(first, keys.toString(QKeySequence.SequenceFormat.PortableText))
