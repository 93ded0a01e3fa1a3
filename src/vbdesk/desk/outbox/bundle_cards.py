"""Cards of the Outbox to export recordings for another computer and to import them."""

from collections.abc import Collection
from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QApplication, QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.desk.outbox.bundles import BundleWork
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.buttons import Button, primary_button, quiet_button, secondary_button
from vbdesk.desk.ui.card import Card, scroll_area
from vbdesk.desk.ui.fields import Field, LineField, SecretField
from vbdesk.desk.ui.notice import Tone
from vbdesk.desk.ui.progress import ProgressBar
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.language import N_, _, ngettext

_KEY, _PASSPHRASE = "key", "passphrase"
_FILES = N_("Bundles of recordings")


class BundleCard(QWidget):
    """Base of both cards: title, sentence, fields, progress and two buttons.

    Signals:
        left: the card was closed.
    """

    left = Signal()

    def __init__(self, work: BundleWork, title: str, sentence: str, act: str, icon: str) -> None:
        super().__init__()
        self._work = work
        self.banner = Banner()
        self.banner.float_over(self)
        self.title = Text(title, Role.CARD_TITLE)
        self.sentence = Text(sentence, Role.BODY, "text2", wrap=True)
        self.progress, self.how_far = ProgressBar(_("Written")), Text("", Role.LABEL, "text2")
        self.close_button = quiet_button(_("Cancel"))
        self.go = primary_button(act, icon=icon)
        self.fields = QVBoxLayout()
        self.fields.setSpacing(16)
        self._form = QWidget()
        self._form.setLayout(self.fields)
        self.fields.setContentsMargins(0, 0, 0, 0)
        card = Card(padding=20)
        for part in (self.title, self.sentence, self._form):
            card.body.addWidget(part)
        card.body.addStretch(1)
        foot = QHBoxLayout()
        foot.setSpacing(12)
        told = QVBoxLayout()
        told.addWidget(self.how_far)
        told.addWidget(self.progress)
        foot.addLayout(told, 1)
        foot.addWidget(self.close_button)
        foot.addWidget(self.go)
        card.body.addLayout(foot)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(scroll_area(card))
        self.close_button.clicked.connect(self._on_close)
        work.progressed.connect(self._show_progress)
        work.done.connect(self._show_done)
        work.failed.connect(self._show_failed)
        work.busy_changed.connect(self._show_busy)
        self._show_busy(False)

    def show_form(self) -> None:
        """Show the empty form."""
        self.banner.clear()
        self._form.show()
        self.go.show()
        self.close_button.setText(_("Cancel"))

    @Slot()
    def _on_close(self) -> None:
        if self._work.busy:
            self._work.cancel()
            self.how_far.setText(_("Stopping"))
        else:
            self.left.emit()

    @Slot(str, float)
    def _show_progress(self, words: str, share: float) -> None:
        self.how_far.setText(words)
        self.progress.show_share(share)

    @Slot(str)
    def _show_done(self, sentence: str) -> None:
        if self.isVisible():
            if self._work.saved is None:
                self.banner.say(Tone.OK, sentence)
            else:
                self.banner.say_saved(sentence, self._work.saved, opens=False)
            self._form.hide()
            self.go.hide()
            self.close_button.setText(_("Close"))
            self.close_button.setFocus()

    @Slot(str)
    def _show_failed(self, sentence: str) -> None:
        self.banner.say(Tone.WARN, sentence)

    @Slot(bool)
    def _show_busy(self, busy: bool) -> None:
        self._form.setEnabled(not busy)
        self.go.setEnabled(not busy)
        self.progress.setVisible(busy)
        self.how_far.setVisible(busy)
        self.how_far.setText("")
        self.progress.show_share(0.0)
        if busy:
            self.banner.clear()


class HandOverCard(BundleCard):
    """Exports recordings into a file for another computer."""

    def __init__(self, work: BundleWork) -> None:
        super().__init__(
            work,
            _("Hand over"),
            _(
                "They are sealed into one file for another computer of this account to send. Until their results come, "
                "they stay here too, and you can take them back."
            ),
            _("Hand over"),
            "outbox",
        )
        self.lock = SegmentedChoice(
            _("Who may open it"), [(_KEY, _("One computer"), "laptop"), (_PASSPHRASE, _("A passphrase"), "key")]
        )
        self.key = LineField(icon="key", placeholder="age1")
        self.key_field = Field(
            _("Public key of that computer"),
            self.key,
            help_text=_("The other computer shows it in Outbox under Take in."),
        )
        self.passphrase = SecretField()
        self.passphrase_field = Field(
            _("Passphrase"),
            self.passphrase,
            help_text=_("At least 12 characters. Tell it in another way than by the file."),
        )
        self.folder = LineField(icon="folder")
        self.folder_field = Field(_("Folder"), self.folder)
        choose = secondary_button(_("Choose folder"))
        choose.clicked.connect(self._choose_folder)
        self.fields.addWidget(self.lock)
        self.fields.addWidget(self.key_field)
        self.fields.addWidget(self.passphrase_field)
        self.fields.addLayout(_beside(self.folder_field, choose))
        self.lock.chosen.connect(self._on_lock)
        self.go.clicked.connect(self._go)
        work.counted.connect(self._show_count)
        self._on_lock(_KEY)

    def begin(self, take_ids: Collection[str]) -> None:
        """Show the card for these recordings; for all that wait if none are given."""
        self.show_form()
        self.passphrase.clear()
        self.folder.setText(self.folder.text() or str(Path.home()))
        self.go.setEnabled(False)
        self._work.look(take_ids)
        self.key.setFocus()

    @Slot(int, str)
    def _show_count(self, count: int, left_out: str) -> None:
        some = ngettext("Hand over {count:,} recording", "Hand over {count:,} recordings", count)
        self.title.setText(some if count else _("Nothing can be handed over"))
        self.go.setEnabled(count > 0)
        if left_out:
            self.banner.say(Tone.INFO, left_out)

    @Slot(str)
    def _on_lock(self, key: str) -> None:
        self.key_field.setVisible(key == _KEY)
        self.passphrase_field.setVisible(key == _PASSPHRASE)

    @Slot()
    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, _("Folder for the file"), self.folder.text())
        if folder:
            self.folder.setText(folder)

    @Slot()
    def _go(self) -> None:
        by_key = self.lock.choice() == _KEY
        no_key = by_key and not self.key.text().strip()
        self.key_field.set_fault(_("Enter the key of that computer.") if no_key else None)
        short = not by_key and not self.passphrase.text()
        self.passphrase_field.set_fault(_("Enter a passphrase.") if short else None)
        self.folder_field.set_fault(None if self.folder.text().strip() else _("Choose a folder."))
        if no_key or short or not self.folder.text().strip():
            return
        if by_key:
            self._work.hand_over(self.folder.text().strip(), key=self.key.text().strip())
        else:
            self._work.hand_over(self.folder.text().strip(), passphrase=self.passphrase.text())


class TakeInCard(BundleCard):
    """Imports a file of another computer into the upload queue."""

    def __init__(self, work: BundleWork) -> None:
        super().__init__(
            work,
            _("Take in recordings of another computer"),
            _("They go into the line here and are sent as if they were made here, each once."),
            _("Take in"),
            "import",
        )
        self.file = LineField(icon="file")
        self.file_field = Field(_("File"), self.file)
        choose = secondary_button(_("Choose file"))
        choose.clicked.connect(self._choose_file)
        self.passphrase = SecretField()
        self.own_key = LineField(icon="key")
        self.own_key.setReadOnly(True)
        own_field = Field(
            _("Public key of this computer"),
            self.own_key,
            help_text=_("Enter it on the computer that hands over recordings. It is not a secret."),
        )
        self.copy: Button = secondary_button(_("Copy"))
        self.copy.clicked.connect(self._copy)
        self.fields.addLayout(_beside(self.file_field, choose))
        self.fields.addWidget(
            Field(
                _("Passphrase"),
                self.passphrase,
                optional=True,
                help_text=_("Only where the file was made for one."),
            )
        )
        self.fields.addLayout(_beside(own_field, self.copy))
        self.go.clicked.connect(self._go)
        work.key_read.connect(self.own_key.setText)
        work.checked.connect(self._show_checked)

    def begin(self, file: Path | None = None) -> None:
        """Show the card, optionally with a file filled in."""
        self.show_form()
        self.passphrase.clear()
        if file is not None:
            self._fill_in(str(file))
        self._work.read_key()
        self.file.setFocus()

    @Slot()
    def _choose_file(self) -> None:
        chosen = QFileDialog.getOpenFileName(self, _("Take in"), self.file.text(), f"{_(_FILES)} (*.vbundle)")
        file = chosen[0]
        if file:
            self._fill_in(file)

    def _fill_in(self, file: str) -> None:
        """Fill in a file, and say as soon as it was read whether it can be taken in at all."""
        self.file.setText(file)
        self.file_field.set_fault(None)
        self._work.check(file)

    @Slot(str, str)
    def _show_checked(self, file: str, fault: str) -> None:
        if file == self.file.text():
            self.file_field.set_fault(fault)

    @Slot()
    def _copy(self) -> None:
        QApplication.clipboard().setText(self.own_key.text())
        self.copy.setText(_("Copied"))

    @Slot()
    def _go(self) -> None:
        file = self.file.text().strip()
        self.file_field.set_fault(None if file else _("Choose a file."))
        if file:
            self._work.take_in(file, passphrase=self.passphrase.text())


def _beside(field: Field, button: Button) -> QHBoxLayout:
    """A field with a button in line with its control."""
    row = QHBoxLayout()
    row.setSpacing(12)
    row.addWidget(field, 1)
    column = QVBoxLayout()
    column.setSpacing(6)
    column.addSpacing(Text("", Role.LABEL_MEDIUM).minimumHeight() + 6)
    column.addWidget(button)
    column.addStretch(1)
    row.addLayout(column)
    return row
