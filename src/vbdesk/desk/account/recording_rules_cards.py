"""Cards of Account for recordings: sending, retention and protection."""

from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtGui import QIntValidator
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.desk.account.recording_rules import (
    LONGEST_DAYS,
    ChangeSettings,
    CheckAudit,
    SettingsRead,
    WriteDiagnostics,
)
from vbdesk.desk.flow.commands import CommandOutcome
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.subject_data.subject_detail import detail_label
from vbdesk.desk.ui.buttons import secondary_button
from vbdesk.desk.ui.card import Card, card_with_header
from vbdesk.desk.ui.fields import LineField
from vbdesk.desk.ui.managed_note import ManagedNote
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import N_, _, ngettext, pgettext
from vbdesk.outbox.library.settings import LibrarySettings, Retention, RetentionRule, SendRule, SubjectDetail

_USUAL_DAYS = 30
_DAYS_WIDTH = 72

_TRASH_DAYS = (1, 7, 30, 90)

_SENDING = {
    SendRule.AT_ONCE: N_("Recordings go as soon as the service can be reached."),
    SendRule.UNMETERED: N_("On a metered network recordings wait, unless you send them yourself."),
    SendRule.BY_HAND: N_("Recordings wait in the Outbox until you send them."),
}
_KEEPING = {
    RetentionRule.FOR_EVER: N_("The sound stays on this computer until you delete a recording."),
    RetentionRule.AFTER_RESULT: N_(
        "The sound and its key are destroyed so many days after the result has come. "
        "The result stays. Sound without a result is never deleted automatically."
    ),
}


class RulesCards(QWidget):
    """Every change is saved immediately."""

    def __init__(self, flow: Flow) -> None:
        self._theme = app_theme()
        super().__init__()
        self._flow, self.content = flow, flow.screen(self)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(16)
        for card in (
            self._sending_card(),
            self._keeping_card(),
            self._trash_card(),
            self._subject_card(),
            self._care_card(),
        ):
            column.addWidget(card)
        self.content.changed.connect(self.show_settings)
        self.content.ended.connect(self._on_ended)
        flow.context.sync.network_changed.connect(self._show_network)
        self.show_settings()

    @property
    def _settings(self) -> LibrarySettings:
        return self.content.of(SettingsRead).value or LibrarySettings()

    def open(self) -> None:
        """Show the present settings."""
        self.content.show(SettingsRead())
        self._show_network()

    def _sending_card(self) -> Card:
        self.sending = SegmentedChoice(
            _("When recordings are sent"),
            [
                (SendRule.AT_ONCE.value, _("At once"), ""),
                (SendRule.UNMETERED.value, _("Unmetered network"), ""),
                (SendRule.BY_HAND.value, _("By hand"), ""),
            ],
        )
        self.sending.chosen.connect(self._on_sending)
        self._sending_text = Text("", Role.BODY, "text2", wrap=True)
        self._network = Text("", Role.CAPTION, "text3", wrap=True)
        card = card_with_header(_("Sending"), self.sending)
        card.body.addWidget(self._sending_text)
        card.body.addWidget(self._network)
        return card

    def _keeping_card(self) -> Card:
        self.keeping = SegmentedChoice(
            _("How long the sound stays"),
            [
                (RetentionRule.FOR_EVER.value, _("Keep the sound"), ""),
                (RetentionRule.AFTER_RESULT.value, _("Delete after the result"), ""),
            ],
        )
        self.keeping.chosen.connect(self._on_keeping)
        self._keeping_text = Text("", Role.BODY, "text2", wrap=True)
        self.days = LineField()
        self.days.setAccessibleName(_("Days after the result"))
        self.days.setValidator(QIntValidator(0, LONGEST_DAYS, self.days))
        self.days.setFixedWidth(self._theme.px(_DAYS_WIDTH))
        self.days.editingFinished.connect(self._on_days)
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(self.days)
        row.addWidget(Text(_("days after the result"), Role.BODY, "text2"))
        row.addStretch(1)
        self._days_row = QWidget()
        self._days_row.setLayout(row)
        card = card_with_header(_("Keeping"), self.keeping)
        card.body.addWidget(self._keeping_text)
        card.body.addWidget(self._days_row)
        if self._flow.context.library.policy.retention is not None:
            self.keeping.setDisabled(True)
            self._days_row.setDisabled(True)
            card.body.addWidget(ManagedNote())
        return card

    def _trash_card(self) -> Card:
        name = _("How long the trash keeps deleted recordings")
        options = [(str(days), ngettext("{count} day", "{count} days", days), "") for days in _TRASH_DAYS]
        self.trash = SegmentedChoice(name, options)
        self.trash.chosen.connect(self._on_trash)
        text = _(
            "A deleted recording can be restored for this time, from the trash of the Outbox. Then its key and its "
            "sound are destroyed, also without a network."
        )
        return _explained(_("Trash"), self.trash, text)

    def _subject_card(self) -> Card:
        name = _("Second line of a subject")
        none = pgettext("second line of a subject", "None")
        options = [
            (kind.value, none if kind is SubjectDetail.NONE else detail_label(kind), "") for kind in SubjectDetail
        ]
        self.detail = SegmentedChoice(name, options)
        self.detail.chosen.connect(self._on_detail)
        text = _(
            "The second line is shown with the subject's id on every page. It is kept encrypted on this computer "
            "and never sent. Enter it on the page Record, or on Subjects with the note."
        )
        return _explained(_("Subjects"), self.detail, text)

    def _care_card(self) -> Card:
        self.check = secondary_button(_("Check the log"), icon="check")
        self.check.clicked.connect(self._on_check)
        self.save = secondary_button(_("Save diagnostics"), icon="export")
        self.save.clicked.connect(self._on_save)
        self.answer = Text("", Role.BODY, "text2", wrap=True)
        self.answer.hide()
        card = card_with_header(_("Log and diagnostics"), self.check, self.save)
        text = _(
            "What was done with recordings here is logged without voices or names, and no entry can be changed unseen. "
            "Diagnostics help to find a fault; they hold no key and nothing about a person."
        )
        card.body.addWidget(Text(text, Role.BODY, "text2", wrap=True))
        card.body.addWidget(self.answer)
        return card

    @Slot()
    def _show_network(self) -> None:
        self._network.setText(_network_text(self._flow.context.sync.network.state().metered))

    @Slot()
    def show_settings(self) -> None:
        """Show the settings."""
        settings = self._settings
        self.sending.choose(settings.send_rule.value)
        self._sending_text.setText(_(_SENDING[settings.send_rule]))
        if settings.trash_days in _TRASH_DAYS:
            self.trash.choose(str(settings.trash_days))
        else:
            self.trash.choose_none()
        self.detail.choose(settings.detail.value)
        retention = settings.retention
        self.keeping.choose(retention.rule.value)
        self._keeping_text.setText(_(_KEEPING[retention.rule]))
        self._days_row.setVisible(retention.rule is RetentionRule.AFTER_RESULT)
        if not self.days.hasFocus():
            self.days.setText(str(retention.days))

    @Slot(str)
    def _on_sending(self, key: str) -> None:
        self._change(send_rule=SendRule(key))

    @Slot(str)
    def _on_keeping(self, key: str) -> None:
        self._change(retention=Retention(RetentionRule(key), self._settings.retention.days or _USUAL_DAYS))

    @Slot(str)
    def _on_trash(self, key: str) -> None:
        self._change(trash_days=int(key))

    @Slot(str)
    def _on_detail(self, key: str) -> None:
        self._change(detail=SubjectDetail(key))

    @Slot()
    def _on_days(self) -> None:
        days = int(self.days.text() or _USUAL_DAYS)
        if days != self._settings.retention.days:
            self._change(retention=Retention(self._settings.retention.rule, min(max(days, 0), LONGEST_DAYS)))

    @Slot()
    def _on_check(self) -> None:
        self.check.setEnabled(False)
        self._say(_("Reading the log"), "text2")
        self.content.do(CheckAudit())

    @Slot()
    def _on_save(self) -> None:
        title, kind = _("Save diagnostics"), _("Archive (*.zip)")
        file, _kind = QFileDialog.getSaveFileName(self, title, "vbdesk-diagnostics.zip", kind)
        if file:
            self.write_diagnostics(Path(file))

    def write_diagnostics(self, file: Path) -> None:
        """Write diagnostics to a file."""
        self._say(_("Writing"), "text2")
        self.content.do(WriteDiagnostics(file))

    def _change(self, **changes: object) -> None:
        self.content.do(ChangeSettings(changes))

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        match outcome:
            case CommandOutcome(failure=None, command=CheckAudit()):
                self.check.setEnabled(True)
                self._say(outcome.sentence, "ok" if outcome.done.found else "fail")
            case CommandOutcome(failure=None, command=WriteDiagnostics(file)):
                text = _("The diagnostics are in {file}. Read them before you send them to anybody.", file=file)
                self._say(text, "ok")
            case CommandOutcome(failure=None):
                return
            case _:
                self.check.setEnabled(True)
                self.answer.hide()
                self.show_settings()

    def _say(self, sentence: str, ink: str) -> None:
        self.answer.setText(sentence)
        self.answer.set_ink(ink)
        self.answer.show()


def _explained(title: str, choice: SegmentedChoice, text: str) -> Card:
    """A card with one choice and what it means."""
    card = card_with_header(title, choice)
    card.body.addWidget(Text(text, Role.BODY, "text2", wrap=True))
    return card


def _network_text(metered: bool | None) -> str:
    if metered is None:
        return _("This system does not tell whether a network is metered: every network counts as unmetered.")
    return _("The present network is metered.") if metered else _("The present network is not metered.")
