"""Pages for the key of this computer: enter passphrase or recovery key, or save the latter."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QFileDialog, QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.desk.locking.unlocking import RecoveryOfferViewModel, UnlockViewModel, passphrase_fault
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.buttons import ButtonSize, primary_button, quiet_button, secondary_button
from vbdesk.desk.ui.card import Card, scroll_area
from vbdesk.desk.ui.fields import Field, LineField, SecretField
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.notice import Tone
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import N_, _
from vbdesk.outbox.profiles.profiles import Profile

_COLUMN = 700
_GROUPS_A_ROW = 4
_BOTH_WANTED = N_("Enter the recovery key that was written down here, and choose a new passphrase.")
_RECOVERY_HELP = N_("Eight groups of seven characters. Spaces, dashes and small letters make no difference.")


class _KeyPage(QWidget):
    """A title, a sentence, and one card in the middle of the window."""

    def __init__(self, name: str, title: str, sentence: str) -> None:
        self._theme = app_theme()
        super().__init__()
        self.setObjectName("firstStart")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(name)
        self.title = Text(title, Role.FIRST_TITLE, wrap=True)
        self.sentence = Text(sentence, Role.BODY, "text2", wrap=True)
        self.banner = Banner()
        self.banner.float_over(self)
        self.card = Card(padding=28)
        self.card.body.setSpacing(18)
        self.foot = QHBoxLayout()
        self.foot.setSpacing(10)
        column = QVBoxLayout()
        column.setSpacing(12)
        column.addStretch(1)
        for part in (self.title, self.sentence, self.card):
            column.addWidget(part)
        column.addLayout(self.foot)
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
        whole.addWidget(scroll_area(inner), 1)


class UnlockPage(_KeyPage):
    """Asks for the passphrase of this computer, or for its recovery key; binds `UnlockViewModel`.

    Signals:
        try_again_wanted: try the keyring again.
        profile_wanted: (str) the user chose another profile.
    """

    try_again_wanted = Signal()
    profile_wanted = Signal(str)

    def __init__(self, model: UnlockViewModel, others: Iterable[Profile] = (), title: str = "") -> None:
        title = title or _("Unlock this computer")
        super().__init__(title, title, model.sentence)
        self._model = model
        model.setParent(self)
        self.passphrase = SecretField()
        self.passphrase_field = Field(_("Passphrase"), self.passphrase)
        self.recovery = LineField()
        self.recovery_field = Field(_("Recovery key"), self.recovery, help_text=_(_RECOVERY_HELP))
        self.new, self.repeated = SecretField(), SecretField()
        self.new_field = Field(_("New passphrase"), self.new, help_text=_("At least 12 characters."))
        self.repeated_field = Field(_("New passphrase again"), self.repeated)
        self.go = primary_button(_("Unlock"), size=ButtonSize.LARGE)
        self.use_recovery = quiet_button(_("Use the recovery key"))
        self.use_passphrase = quiet_button(_("Use the passphrase"))
        self.try_again = secondary_button(_("Try the keyring again"), size=ButtonSize.LARGE)
        self._recovering = False
        self._others: list[QWidget] = []
        self._lay_out(others)
        self._bind()
        self._show_way(recovering=not model.with_passphrase)

    def take_focus(self) -> None:
        """Put the keyboard into the field, its text selected."""
        edit = self.recovery if self._recovering else self.passphrase
        edit.setFocus()
        edit.selectAll()

    def _lay_out(self, others: Iterable[Profile]) -> None:
        fields = (self.passphrase_field, self.recovery_field, self.new_field, self.repeated_field)
        for field in fields:
            self.card.body.addWidget(field)
        buttons = QHBoxLayout()
        buttons.setSpacing(12)
        for button in (self.use_recovery, self.use_passphrase, self.try_again):
            buttons.addWidget(button)
        buttons.addStretch(1)
        buttons.addWidget(self.go)
        self.card.body.addLayout(buttons)
        for profile in others:
            button = quiet_button(_("Open {profile} instead", profile=profile.shown_name))
            button.clicked.connect(partial(self.profile_wanted.emit, profile.profile_id))
            self._others.append(button)
            self.foot.addWidget(button)
        self.foot.addStretch(1)

    def _bind(self) -> None:
        model = self._model
        self.go.clicked.connect(self._go)
        for edit in (self.passphrase, self.recovery, self.repeated):
            edit.returnPressed.connect(self._go)
        self.new.returnPressed.connect(self.repeated.setFocus)
        self.use_recovery.clicked.connect(self._use_recovery)
        self.use_passphrase.clicked.connect(self._use_passphrase)
        self.try_again.clicked.connect(self.try_again_wanted)
        model.busy_changed.connect(self._show_busy)
        model.failed.connect(self._show_failure)
        model.passphrase_wanted.connect(self._ask_for_new_passphrase)

    def _show_way(self, *, recovering: bool) -> None:
        """Ask for the passphrase or the recovery key."""
        with_passphrase = self._model.with_passphrase
        self._recovering = recovering
        self.passphrase_field.setVisible(not recovering)
        self.recovery_field.setVisible(recovering)
        for field in (self.new_field, self.repeated_field):
            field.setVisible(recovering and with_passphrase)
        self.use_recovery.setVisible(not recovering)
        self.use_passphrase.setVisible(recovering and with_passphrase)
        self.try_again.setVisible(not with_passphrase)
        self.banner.clear()
        if with_passphrase:
            self.sentence.setText(_(_BOTH_WANTED) if recovering else self._model.sentence)
        (self.recovery if recovering else self.passphrase).setFocus()

    @Slot()
    def _use_recovery(self) -> None:
        self._show_way(recovering=True)

    @Slot()
    def _use_passphrase(self) -> None:
        self._show_way(recovering=False)

    @Slot()
    def _go(self) -> None:
        self.banner.clear()
        self.new_field.set_fault(None)
        if not self._recovering:
            self._model.unlock(self.passphrase.text())
            return
        passphrase = None
        if self.new_field.isVisibleTo(self):
            fault = passphrase_fault(self.new.text(), self.repeated.text())
            self.new_field.set_fault(fault)
            if fault is not None:
                return
            passphrase = self.new.text()
        self._model.recover(self.recovery.text(), passphrase)

    @Slot(bool)
    def _show_busy(self, busy: bool) -> None:
        for part in (self.card, *self._others):
            part.setEnabled(not busy)
        if not busy:
            self.take_focus()

    @Slot(str)
    def _show_failure(self, sentence: str) -> None:
        self.banner.say(Tone.FAIL, sentence)
        self.take_focus()

    @Slot(str)
    def _ask_for_new_passphrase(self, sentence: str) -> None:
        self.banner.say(Tone.INFO, sentence)
        self.new_field.show()
        self.repeated_field.show()
        self.new.setFocus()


class LockPage(UnlockPage):
    """The whole window while it is locked; says that a recording goes on, but not of which subject."""

    def __init__(self, model: UnlockViewModel) -> None:
        super().__init__(model, title=_("vbdesk is locked"))
        self.recording = _RecordingNotice("record", "rec", _("A recording goes on. Stop it after unlocking."))
        self.card.body.insertWidget(0, self.recording)
        self.show_recording(running=False)

    def show_recording(self, *, running: bool) -> None:
        """Show whether a recording goes on."""
        self.recording.setVisible(running)


class RecoveryOfferPage(_KeyPage):
    """Shows the recovery key; binds `RecoveryOfferViewModel`."""

    def __init__(self, model: RecoveryOfferViewModel) -> None:
        opens = (
            _("It opens the recordings and results on this computer if you forget the passphrase.")
            if model.by_passphrase
            else _("It opens the recordings and results on this computer if this computer's keyring is lost.")
        )
        keep = _(
            "It is shown this once. Keep it where only you have it, and not on this computer: who has it and this "
            "computer's data can open them too."
        )
        super().__init__(_("Recovery key"), _("Write down the recovery key"), f"{opens} {keep}")
        self._model = model
        model.setParent(self)
        self.copy = secondary_button(_("Copy"))
        self.save = secondary_button(_("Save to a file"), icon="file")
        self.done = primary_button(_("I have written it down"), size=ButtonSize.LARGE)
        self.without = quiet_button(_("Go on without it"))
        self.key = _GroupsView(model.groups)
        self.card.body.addWidget(self.key)
        button_row = QHBoxLayout()
        button_row.setSpacing(12)
        button_row.addWidget(self.copy)
        button_row.addWidget(self.save)
        button_row.addStretch(1)
        self.card.body.addLayout(button_row)
        self.foot.addWidget(IconView("key", "text2", 16))
        self.foot.addWidget(
            Text(_("The last characters are a checksum: typing errors are noticed."), Role.BODY, "text2")
        )
        self.foot.addStretch(1)
        last = QHBoxLayout()
        last.setSpacing(12)
        last.addStretch(1)
        last.addWidget(self.without)
        last.addWidget(self.done)
        self.card.body.addLayout(last)
        self.copy.clicked.connect(self._copy)
        self.save.clicked.connect(self._save)
        self.done.clicked.connect(self._finish)
        self.without.clicked.connect(self._finish)
        model.saved.connect(self._show_saved)
        model.failed.connect(self._show_failure)

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._model.recovery_key)
        self.banner.say(Tone.OK, _("Copied. Paste it where you keep it; the clipboard is emptied when you go on."))

    @Slot()
    def _save(self) -> None:
        title, kind = _("Save the recovery key"), _("Text (*.txt)")
        file, _kind = QFileDialog.getSaveFileName(self, title, "vbdesk-recovery-key.txt", kind)
        if file:
            self._model.save(Path(file))

    @Slot()
    def _finish(self) -> None:
        clipboard = QGuiApplication.clipboard()
        if clipboard.text() == self._model.recovery_key:
            clipboard.clear()
        self.card.setEnabled(False)
        self._model.finish()

    @Slot(str)
    def _show_saved(self, sentence: str) -> None:
        self.banner.say(Tone.OK, sentence)

    @Slot(str)
    def _show_failure(self, sentence: str) -> None:
        self.banner.say(Tone.FAIL, sentence)


class _RecordingNotice(QWidget):
    """An icon and a sentence."""

    def __init__(self, icon: str, ink: str, sentence: str) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(IconView(icon, ink, 18))
        row.addWidget(Text(sentence, Role.BODY_MEDIUM), 1)


class _GroupsView(QWidget):
    """The groups of a recovery key, in a fixed-width font."""

    def __init__(self, groups: list[str]) -> None:
        super().__init__()
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # the order of the groups is the key
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(28)
        grid.setVerticalSpacing(12)
        for index, group in enumerate(groups):
            text = _Group(group)
            grid.addWidget(text, *divmod(index, _GROUPS_A_ROW))
        grid.setColumnStretch(_GROUPS_A_ROW, 1)


class _Group(Text):
    """One group."""

    def __init__(self, group: str) -> None:
        super().__init__(group, Role.CARD_TITLE)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def _fit(self) -> None:
        super()._fit()
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPixelSize(self._theme.px(18))
        self.setFont(font)
