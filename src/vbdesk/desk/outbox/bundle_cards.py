"""Cards of the Outbox to export recordings for another computer and to import them."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QApplication, QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.desk.flow.commands import CommandOutcome, Work
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.reads import Snapshot
from vbdesk.desk.flow.tasks import Progress
from vbdesk.desk.outbox.bundles import BundleCheckRead, ExportableRead, HandOver, PublicKeyRead, TakeIn
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.buttons import Button, primary_button, quiet_button, secondary_button
from vbdesk.desk.ui.card import Card, scroll_area
from vbdesk.desk.ui.fields import Field, LineField, SecretField
from vbdesk.desk.ui.notice import Tone
from vbdesk.desk.ui.progress import ProgressBar
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.desk.ui.time_text import megabytes
from vbdesk.language import N_, _, joined, ngettext

_KEY, _PASSPHRASE = "key", "passphrase"
_FILES = N_("Bundles of recordings")


class BundleCard(QWidget):
    """Base of both cards: title, sentence, fields, progress and two buttons.

    Signals:
        left: the card was closed.
    """

    left = Signal()

    def __init__(self, flow: Flow, work: Work, title: str, sentence: str, action_text: str, icon: str) -> None:
        super().__init__()
        self._work, self._screen = work, flow.screen(self)
        self._screen.changed.connect(self._show)
        self.banner = Banner()
        self.banner.float_over(self)
        self.title = Text(title, Role.CARD_TITLE)
        self.sentence = Text(sentence, Role.BODY, "text2", wrap=True)
        self.progress, self.how_far = ProgressBar(_("Written")), Text("", Role.LABEL, "text2")
        self.close_button = quiet_button(_("Cancel"))
        self.go = primary_button(action_text, icon=icon)
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
        progress_column = QVBoxLayout()
        progress_column.addWidget(self.how_far)
        progress_column.addWidget(self.progress)
        foot.addLayout(progress_column, 1)
        foot.addWidget(self.close_button)
        foot.addWidget(self.go)
        card.body.addLayout(foot)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(scroll_area(card))
        self.close_button.clicked.connect(self._on_close)
        work.progressed.connect(self._show_progress)
        work.ended.connect(self._on_ended)
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

    @Slot()
    def _show(self) -> None:
        """Show what was read for the form."""

    def _say_unreadable(self, snapshot: Snapshot[Any]) -> None:
        if snapshot.unreadable is not None:
            self.banner.say(Tone.WARN, snapshot.unreadable.sentence)

    @Slot(object)
    def _show_progress(self, progress: Progress) -> None:
        if progress.total:
            self.how_far.setText(megabytes(progress.done, progress.total))
            self.progress.show_share(progress.done / progress.total)

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        if not self.isVisible():
            return
        if outcome.failure is not None:
            self.banner.say(Tone.WARN, outcome.sentence)
            return
        if isinstance(outcome.done.found, Path):
            self.banner.say_saved(outcome.sentence, outcome.done.found, opens=False)
        else:
            self.banner.say(Tone.OK, outcome.sentence)
        self._form.hide()
        self.go.hide()
        self.close_button.setText(_("Close"))
        self.close_button.setFocus()

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

    def __init__(self, flow: Flow, work: Work) -> None:
        super().__init__(
            flow,
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
        self._on_lock(_KEY)

    def begin(self, take_ids: Collection[str]) -> None:
        """Show the card for these recordings; for all that wait if none are given."""
        self.show_form()
        self.passphrase.clear()
        self.folder.setText(self.folder.text() or str(Path.home()))
        self.go.setEnabled(False)
        self._screen.show(ExportableRead(tuple(take_ids) or None))
        self.key.setFocus()

    @Slot()
    def _show(self) -> None:
        snapshot = self._screen.of(ExportableRead)
        self._say_unreadable(snapshot)
        if snapshot.value is None:
            return
        count, left_out = len(snapshot.value.items), snapshot.value.left_out
        some = ngettext("Hand over {count:,} recording", "Hand over {count:,} recordings", count)
        self.title.setText(some if count else _("Nothing can be handed over"))
        self.go.setEnabled(count > 0)
        if left_out:
            left = ngettext(
                "Not among them, {count:,} other: {reason}",
                "Not among them, {count:,} others: {reason}",
                len(left_out),
                reason=joined(left_out[0].reason),
            )
            self.banner.say(Tone.INFO, left)

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
        read = self._screen.read(ExportableRead)
        if read is not None:
            key, passphrase = (self.key.text().strip(), "") if by_key else ("", self.passphrase.text())
            self._work.start(HandOver(read.take_ids, self.folder.text().strip(), key, passphrase))


class TakeInCard(BundleCard):
    """Imports a file of another computer into the upload queue."""

    def __init__(self, flow: Flow, work: Work) -> None:
        super().__init__(
            flow,
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
        self.file.textChanged.connect(self._on_file)

    def begin(self, file: Path | None = None) -> None:
        """Show the card, optionally with a file filled in."""
        self.show_form()
        self.passphrase.clear()
        self._screen.show(PublicKeyRead())
        if file is not None:
            self._fill_in(str(file))
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
        self._screen.add(BundleCheckRead(file))

    @Slot()
    def _on_file(self) -> None:
        self._screen.drop(BundleCheckRead)  # it is of another file

    @Slot()
    def _show(self) -> None:
        key, fault = self._screen.of(PublicKeyRead), self._screen.of(BundleCheckRead).value
        self._say_unreadable(key)
        self.own_key.setText(key.value or "")
        if fault is not None:
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
            self._screen.drop(BundleCheckRead)  # taking it in checks it, too
            self._work.start(TakeIn(file, self.passphrase.text()))


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
