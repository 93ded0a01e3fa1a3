"""The Account page: service, connection, credits, plan and settings."""

from collections.abc import Callable, Iterator
from functools import partial

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.desk.account.app_lock_card import AppLockCard
from vbdesk.desk.account.connection import AskCredits, FhirLoginRead, SaveKey
from vbdesk.desk.account.consent_rules_card import ConsentRulesCard
from vbdesk.desk.account.desk_card import DeskCard, ReadingChoice
from vbdesk.desk.account.letterhead_card import LetterheadCard
from vbdesk.desk.account.name_row import NameRow
from vbdesk.desk.account.passphrase_card import PassphraseCard
from vbdesk.desk.account.plan_card import PlanCard
from vbdesk.desk.account.profiles import ProfileLine, ProfilesRead, RemoveProfile, RenameProfile
from vbdesk.desk.account.recording_rules import WriteDiagnostics
from vbdesk.desk.account.recording_rules_cards import RulesCards
from vbdesk.desk.account.webhook_card import WebhookCard
from vbdesk.desk.flow.commands import CommandOutcome
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.locking.app_lock import AppLock
from vbdesk.desk.ui.badges import Chip, ChipStyle
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.buttons import ButtonSize, quiet_button, secondary_button
from vbdesk.desk.ui.card import Card, card_with_header, horizontal_line, scroll_area
from vbdesk.desk.ui.fields import Field, SecretField
from vbdesk.desk.ui.flow_layout import field_with_buttons
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.managed_note import ManagedNote
from vbdesk.desk.ui.margins import margins
from vbdesk.desk.ui.next_turn import in_next_turn
from vbdesk.desk.ui.notice import NoticeAction, Tone, close_action
from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import N_, _, translated
from vbdesk.outbox.library.states import Fix
from vbdesk.outbox.profiles.profiles import shown_name
from vbdesk.outbox.sync.connectivity import SyncStatus

_REMOVAL, _KEYRING = "removal", "keyring"  # topics of messages
_COLUMN, _PROFILE_WIDTH = 960, 220
_SERVICE, _RECORDINGS, _PROGRAM, _PROFILES = "service", "recordings", "program", "profiles"
_NEAR = 24
_SIDES = 112  # margins of page, card and scroll bar
_AT_LANGUAGE = "language"
_VIEW_MARGIN = 200  # px above and below the control that is in view


class AccountPage(QWidget):
    """Profile and connection, credits and plan, rules for recordings, webhook, profiles, the desk itself.

    Each turn of the event loop makes one card, since all at once would block the window.

    Attributes:
        built: whether all cards are made.
        content: profiles and the FHIR server; each card has its own.

    Signals:
        profiles_renamed: (list[Profile]) all profiles, after one got another name.
    """

    profiles_renamed = Signal(object)
    plan: PlanCard
    consent: ConsentRulesCard
    rules: RulesCards
    letterhead: LetterheadCard
    webhook: WebhookCard
    fhir: Text
    desk: DeskCard

    def __init__(
        self,
        flow: Flow,
        app_lock: AppLock | None = None,
        reading: ReadingChoice | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """Make it; `app_lock` and `reading` are None in a program without them."""
        self._theme = app_theme()
        super().__init__(parent)
        self.setObjectName("page")
        self._flow, self._profile, self._sync = flow, flow.context.profile, flow.context.sync
        self._navigator, self._lock, self._reading = flow.navigator, app_lock, reading
        self.content, self._test_of_key = flow.screen(self), flow.screen(self)
        self._lines: tuple[ProfileLine, ...] = ()
        self._renaming: str | None = None
        self.built, self._in_front, self._at_language = False, False, False
        self.banner = Banner()
        self._column = QWidget()
        self._cards = QVBoxLayout(self._column)
        self._cards.setContentsMargins(margins(0, 0, 16, 0))
        self._cards.setSpacing(16)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(margins(36, 28, 20, 24))
        layout.setSpacing(16)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(Text(_("Account"), Role.PAGE_TITLE))
        texts.addWidget(
            Text(_("The service, the rules for recordings, and this program."), Role.BODY, "text2", wrap=True)
        )
        self._titles = {
            _SERVICE: _("Service"),
            _RECORDINGS: _("Recordings"),
            _PROGRAM: _("This program"),
            _PROFILES: _("Profiles"),
        }
        self.sections = SegmentedChoice(_("Section"), [(key, title, "") for key, title in self._titles.items()])
        self.sections.chosen.connect(self.show_section)
        layout.addWidget(PageHeader(texts, self.sections))
        self.banner.float_over(self)
        self._area = scroll_area(self._column)
        self._area.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self._headings: dict[str, Text] = {}
        layout.addWidget(self._area, 1)  # before the cards: Qt restyles all children of a moved widget
        self._column.hide()  # until all cards are made
        steps: tuple[Callable[[], QWidget], ...] = (
            partial(self._heading, _SERVICE),
            self._connection_card,
            self._plan_card,
            self._webhook_card,
            self._fhir_card,
            partial(self._heading, _RECORDINGS),
            self._consent_card,
            self._rules_card,
            self._letterhead_card,
            partial(self._heading, _PROGRAM),
            self._desk_card,
            *self._lock_cards(),
            partial(self._heading, _PROFILES),
            self._profiles_card,
        )
        self._steps = iter(steps)
        self._turns = QTimer(self)
        self._turns.timeout.connect(self._build_next)
        self._turns.start(0)

    def position(self) -> object:
        """The argument with which a new page shows the same place: the choice of language."""
        return _AT_LANGUAGE

    def opened(self, argument: object) -> None:
        """Show the current state, when the page is built."""
        self._in_front = True
        self._at_language = argument == _AT_LANGUAGE
        self.banner.clear()
        if self.built:
            self._show_status(self._sync.status)
            self.content.show(ProfilesRead(), FhirLoginRead())
            for card in (self.consent, self.rules, self.webhook, self.desk):
                card.open()
            if self._lock is not None:
                self._lock.read()

    def closed(self) -> None:
        """Another page is shown."""
        self._in_front = False
        if self.built:
            self.webhook.left()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._fit()

    def _fit(self) -> None:
        widest = self._theme.px(_COLUMN)
        self._column.setMaximumWidth(widest)
        if self.built:
            self.desk.fit(min(self.width() - _SIDES, widest))

    @Slot()
    def _build_next(self) -> None:
        make = next(self._steps, None)
        if make is not None:
            self._cards.addWidget(make())
            return
        self._turns.stop()
        self._cards.addStretch(1)
        self.built = True
        self._bind()
        self._fit()
        self._column.show()
        if self.window().focusWidget() is self:  # the focus arrived before any card could take it
            self.test_button.setFocus()
        if self._in_front:
            at_language = self._at_language
            self.opened(None)
            if at_language:
                in_next_turn(self, self._show_language)  # after the layout

    @Slot()
    def _show_language(self) -> None:
        self.desk.reading.setFocus(Qt.FocusReason.OtherFocusReason)
        self._area.ensureWidgetVisible(self.desk.reading, 0, _VIEW_MARGIN)

    def _bind(self) -> None:
        self._sync.status_changed.connect(self._show_status)
        self._test_of_key.ended.connect(self._on_tested)
        self.content.changed.connect(self._show_content)
        for card in (self, self.consent, self.rules, self.desk):
            card.content.ended.connect(self._on_ended)

    @Slot(str)
    def show_section(self, key: str) -> None:
        """Scroll to a section."""
        if key in self._headings:
            top = self._headings[key].mapTo(self._column, QPoint(0, 0)).y()
            self._area.verticalScrollBar().setValue(top)
            self.sections.choose(key)  # the last ones may be too short to come to the top

    @Slot(int)
    def _on_scrolled(self, top: int) -> None:
        """Mark the section that is at the top."""
        above = [key for key, heading in self._headings.items() if heading.y() <= top + _NEAR]
        if above:
            self.sections.choose(above[-1])

    def _heading(self, key: str) -> Text:
        self._headings[key] = Text(self._titles[key], Role.DOOR_TITLE)
        return self._headings[key]

    def _plan_card(self) -> QWidget:
        self.plan = PlanCard(self._flow)
        return self.plan

    def _rules_card(self) -> QWidget:
        self.rules = RulesCards(self._flow)
        return self.rules

    def _consent_card(self) -> QWidget:
        self.consent = ConsentRulesCard(self._flow)
        return self.consent

    def _letterhead_card(self) -> QWidget:
        self.letterhead = LetterheadCard(self._flow)
        return self.letterhead

    def _desk_card(self) -> QWidget:
        self.desk = DeskCard(self._flow, self._reading)
        return self.desk

    def _lock_cards(self) -> list[Callable[[], QWidget]]:
        if self._lock is None:
            return []
        return [
            partial(AppLockCard, self._lock, offered=self._profile.secrets != "session"),
            partial(PassphraseCard, self._flow, self._lock),
        ]

    def _webhook_card(self) -> QWidget:
        self.webhook = WebhookCard(self._flow)
        return self.webhook

    def _fhir_card(self) -> QWidget:
        """Only the command line changes the login, since it asks for secrets."""
        card = Card(padding=20)
        self.fhir = Text("", Role.BODY, "text2", wrap=True)
        card.body.addWidget(Text(_("FHIR server"), Role.CARD_TITLE))
        card.body.addWidget(self.fhir)
        return card

    @Slot()
    def _show_content(self) -> None:
        lines = self.content.of(ProfilesRead)
        if lines.value is not None and lines.value is not self._lines:
            self._show_profiles(lines.value)
        if lines.unreadable is not None:
            self._on_failed(lines.unreadable.sentence)
        snapshot = self.content.of(FhirLoginRead)
        self.fhir.setText(snapshot.unreadable.sentence if snapshot.unreadable else snapshot.value or "")

    def _connection_card(self) -> Card:
        profile = self._profile
        self.connection = Text("", Role.BODY, "text2", wrap=True)
        self.test_button = secondary_button(_("Test connection"), icon="refresh")
        self.test_button.clicked.connect(self._test)
        self.name = Text(profile.shown_name, Role.CARD_TITLE)
        card = card_with_header(self.name, self.test_button)
        where = _("The service on this computer") if profile.kind == "local" else profile.base_url or ""
        account = _("{service} · account {account}", service=where, account=profile.account_id)
        card.body.addWidget(Text(account, Role.LABEL, "text2", wrap=True))
        if self._flow.ports.policy.is_service(profile.base_url):
            card.body.addWidget(ManagedNote())
        card.body.addWidget(self.connection)
        self.key = SecretField()
        self.key_field = Field(_("API key"), self.key, help_text=_key_storage_text(profile.secrets))
        self.save_button = secondary_button(_("Save key"))
        self.save_button.clicked.connect(self._save_key)
        row = QHBoxLayout()
        row.setSpacing(12)
        row.addWidget(self.key_field, 1)
        row.addWidget(self.save_button, 0, Qt.AlignmentFlag.AlignVCenter)
        self._key_row = QWidget()
        row.setContentsMargins(0, 0, 0, 0)
        self._key_row.setLayout(row)
        self._key_row.setVisible(profile.kind == "service")
        card.body.addWidget(self._key_row)
        return card

    def _profiles_card(self) -> Card:
        self.add_button = secondary_button(_("Add a profile"), icon="plus")
        self.add_button.clicked.connect(self._add)
        card = card_with_header(_("Profiles"), self.add_button)
        self._profiles = QVBoxLayout()
        self._profiles.setSpacing(10)
        card.body.addLayout(self._profiles)
        return card

    def _show_profiles(self, lines: tuple[ProfileLine, ...]) -> None:
        self._lines = lines
        _clear(self._profiles)
        for index, entry in enumerate(lines):
            if index:
                self._profiles.addWidget(horizontal_line())
            renaming = entry.profile_id == self._renaming
            self._profiles.addWidget(self._name_row(entry) if renaming else self._profile_row(entry))
            if entry.in_use:
                self.name.setText(entry.name)

    def _profile_row(self, entry: ProfileLine) -> QWidget:
        said = QWidget()
        box = QHBoxLayout(said)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(12)
        box.addWidget(IconView("laptop" if entry.here else "server", "text2", 18))
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(Text(entry.name, Role.BODY_MEDIUM, wrap=True))
        texts.addWidget(Text(entry.where, Role.CAPTION, "text2", wrap=True))
        if entry.managed:
            texts.addWidget(ManagedNote())
        box.addLayout(texts, 1)
        return field_with_buttons(said, *self._profile_controls(entry), least=_PROFILE_WIDTH)

    def _profile_controls(self, entry: ProfileLine) -> Iterator[QWidget]:
        """What can be done with a profile."""
        if entry.suggested_name is not None:
            text = _("Call it “{name}”", name=shown_name(entry.suggested_name))
            better = quiet_button(text, size=ButtonSize.ROW)
            better.setObjectName(f"better-name-{entry.profile_id}")
            better.clicked.connect(partial(self._rename, entry.profile_id, entry.suggested_name))
            yield better
        rename = quiet_button(_("Rename"), size=ButtonSize.ROW)
        rename.setAccessibleName(_("Rename {name}", name=entry.name))
        rename.setObjectName(f"rename-{entry.profile_id}")
        rename.setDisabled(entry.managed)
        rename.clicked.connect(partial(self._edit_name, entry))
        yield rename
        if entry.in_use:
            yield Chip(ChipStyle(N_("In use"), "check", "ok", "oktint"))
            return
        remove = quiet_button(_("Remove"), size=ButtonSize.ROW)
        remove.setAccessibleName(_("Remove {name}", name=entry.name))
        remove.setObjectName(f"remove-{entry.profile_id}")
        remove.clicked.connect(partial(self._ask_to_remove, entry))
        switch = secondary_button(_("Switch"), size=ButtonSize.ROW)
        switch.setAccessibleName(_("Switch to {name}", name=entry.name))
        switch.setObjectName(f"switch-{entry.profile_id}")
        switch.clicked.connect(partial(self._navigator.open, "profile", entry.profile_id))
        yield remove
        yield switch

    def _edit_name(self, entry: ProfileLine) -> None:
        """Show a field for another name instead of the row."""
        self._renaming = entry.profile_id
        self._show_profiles(self._lines)
        for row in self.findChildren(NameRow):
            row.name.setFocus()  # as soon as it is shown

    @Slot()
    def _store_name(self) -> None:
        self._renaming = None
        self._show_profiles(self._lines)

    @Slot(str, str)
    def _rename(self, profile_id: str, name: str) -> None:
        self._renaming = None
        self.content.do(RenameProfile(profile_id, name))

    def _name_row(self, entry: ProfileLine) -> QWidget:
        row = NameRow(entry)
        row.saved.connect(self._rename)
        row.cancelled.connect(self._store_name)
        return row

    def _ask_to_remove(self, entry: ProfileLine) -> None:
        self.banner.say(
            Tone.WARN,
            _("Remove {name}? Its key is deleted from this computer; its recordings stay.", name=entry.name),
            NoticeAction(_("Remove"), partial(self.content.do, RemoveProfile(entry.profile_id))),
            topic=_REMOVAL,
        )

    @Slot(object)
    def _show_status(self, status: SyncStatus) -> None:
        self.plan.show_balance(status.credits)
        self.connection.setText(translated(status.sentence))
        ink = {True: "ok", False: "warn", None: "text2"}[status.connected]
        self.connection.set_ink("warn" if status.on_hold else ink)
        if status.on_hold is not Fix.UNLOCK_KEYRING:
            self.banner.withdraw(_KEYRING)
        elif self.banner.topic != _REMOVAL:
            retry = NoticeAction(_("Try again"), self._flow.context.connection.try_again)
            self.banner.say(Tone.WARN, translated(status.sentence), retry, topic=_KEYRING)

    @Slot()
    def _test(self) -> None:
        self._test_key("")

    def _test_key(self, key: str) -> None:
        """Test a key, or the stored one; the answer about another one arrives no more."""
        self._test_of_key.clear()
        self.test_button.setEnabled(False)
        self.connection.setText(_("Asking the service"))
        self.connection.set_ink("text2")
        self._test_of_key.do(AskCredits(key))

    @Slot(object)
    def _on_tested(self, outcome: CommandOutcome) -> None:
        self.test_button.setEnabled(True)
        if isinstance(outcome.done.found, int):
            self._sync.take_in_credits(outcome.done.found)
        self.connection.setText(outcome.sentence)
        self.connection.set_ink("ok" if outcome.failure is None else "warn")

    @Slot()
    def _save_key(self) -> None:
        if not self.key.text().strip():
            self.key_field.set_fault(_("Enter the key first."))
            return
        self.key_field.set_fault(None)
        self._test_of_key.clear()
        self.test_button.setEnabled(True)
        self._show_status(self._sync.status)
        self.content.do(SaveKey(self.key.text().strip()))

    @Slot()
    def _add(self) -> None:
        self._navigator.open("profile", None)

    @Slot(str)
    def _on_failed(self, sentence: str) -> None:
        self.banner.say(Tone.FAIL, sentence, close_action())

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        match outcome:
            case CommandOutcome(failure=None, command=WriteDiagnostics(file)):
                self.banner.say_saved(_("The diagnostics were written to {file}.", file=file), file)
            case CommandOutcome(failure=None, command=RenameProfile()):
                self._show_profiles(self._lines)
                self.profiles_renamed.emit(outcome.done.found)
            case CommandOutcome(failure=None, command=SaveKey(key)):
                self._flow.context.connection.try_again()
                self.key.clear()
                self._test_key(key)
            case CommandOutcome(failure=None):
                pass
            case _:
                self._on_failed(outcome.sentence)


def _key_storage_text(secrets: str) -> str:
    if secrets == "session":
        return _("Kept until this window is closed.")
    if secrets == "passphrase":
        return _("Kept on this computer, encrypted with your passphrase.")
    return _("Kept in this computer's keyring, nowhere else.")


def _clear(box: QBoxLayout) -> None:
    while box.count():
        item = box.takeAt(0)
        widget = None if item is None else item.widget()
        if widget is not None:
            widget.hide()
            widget.deleteLater()
