"""Consent on the Record page: what is in force for the subject, and the tick for a new one."""

from dataclasses import dataclass
from datetime import datetime

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.subject_data.consent_text import consent_text, kind_text, no_consent_text, noted_text
from vbdesk.desk.ui.time_text import local_time_of_day
from vbdesk.language import _, current
from vbdesk.outbox.library.consent import ConsentKind, ConsentPolicy, ConsentState, ConsentStatus
from vbdesk.outbox.library.consent_wordings import ConsentWording, consent_wording
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.settings import ConsentRules


@dataclass(frozen=True, slots=True)
class TickedConsent:
    """A consent that was ticked, with the rules and the wording of that moment."""

    group_id: str
    kind: ConsentKind
    at: datetime
    rules: ConsentRules
    wording: ConsentWording

    def store(self, library: Library) -> None:
        """Note it. Blocks on the disk."""
        library.consents.give_by(self.rules, [self.group_id], self.kind, self.at, self.wording)


class ConsentViewModel(QObject):
    """Asks for consent before a subject's first recording, and when it has expired.

    Attributes:
        group_id: the subject; empty if none is entered.
        status: what is in force; None while it is being read.
        ticked_at: when the tick was set; None if it is not.
        kind: what the new consent covers.
        language: BCP-47 tag of the language that the wording is wanted in.

    Signals:
        changed: any of them changed.
        ticked: a person has set the tick.
    """

    changed = Signal()
    ticked = Signal()

    def __init__(self, context: DeskContext) -> None:
        super().__init__()
        self._clock, self._sync = context.clock, context.sync
        self.group_id = ""
        self.status: ConsentStatus | None = None
        self.ticked_at: datetime | None = None
        self.kind = self.rules.kind
        self.language = current().tag
        self._agreed: ConsentWording | None = None  # what was on offer when the tick was set
        self._kind_was_chosen = False
        self._shown_rules = self.rules
        self._sync.counts_changed.connect(self._on_rules)

    @property
    def rules(self) -> ConsentRules:
        """The rules of the profile."""
        return self._sync.settings.consent

    @property
    def wording(self) -> ConsentWording:
        """What is read to the person; what was read, once the tick is set."""
        return self._agreed or consent_wording(self.language)

    @property
    def in_force(self) -> bool:
        """Whether the subject has consented already."""
        return self.status is not None and self.status.in_force

    @property
    def asks(self) -> bool:
        """Whether a consent is to be asked for."""
        return self.rules.policy is not ConsentPolicy.OFF and not self.in_force

    @property
    def missing(self) -> str:
        """Why no recording can begin; empty if it can."""
        if self.rules.policy is not ConsentPolicy.REQUIRED or not self.group_id or self.ticked_at is not None:
            return ""
        if self.status is None:
            return _("Reading the consent of this subject.")
        return "" if self.status.in_force else _("Ask for consent and tick it to begin.")

    def text(self) -> str:
        """The consent as a text next to the box."""
        if self.status is not None and self.status.kind is not None:
            return _("Consent: {kind}", kind=kind_text(self.status.kind))
        return _("Consent given")

    def summary(self) -> str:
        """The consent of a recording that runs; empty if the profile asks for none, or while it is being read."""
        if self.rules.policy is ConsentPolicy.OFF:
            return ""
        if self.ticked_at is not None:
            return _("Consent: {kind}", kind=kind_text(self.kind))
        if self.status is None:
            return ""
        return self.text() if self.in_force else no_consent_text()

    def caption(self) -> str:
        """What to do, or until when it is valid."""
        if self.ticked_at is not None:
            return _("Ticked at {time}; noted with the recording", time=local_time_of_day(self.ticked_at))
        if not self.group_id:
            return _("Enter the subject first")
        if self.status is None:
            return _("Tick when the person agrees")
        match self.status.state:
            case ConsentState.IN_FORCE:
                return noted_text(self.status)
            case ConsentState.EXPIRED | ConsentState.WITHDRAWN:
                return consent_text(self.status)
            case ConsentState.UNREADABLE:
                return _("The stored consent was changed. Ask again")
        return _("Tick when the person agrees")

    def set_subject(self, group_id: str) -> None:
        """Set the subject; another one clears the tick. Empty for none."""
        if group_id == self.group_id:
            return
        self.group_id, self.status = group_id, None
        self._set_tick(None)
        self.changed.emit()

    def set_language(self, tag: str) -> None:
        """Set the language of the wording; a tick keeps the wording that it was set for."""
        self.language = tag

    def show(self, status: ConsentStatus) -> None:
        """Show what is in force; a consent that is takes the tick away."""
        if status == self.status:
            return
        self.status = status
        if self.in_force:
            self._set_tick(None)
        self.changed.emit()

    def tick(self, given: bool) -> None:
        """Set or clear the tick; setting it again does not change its time."""
        if given and (not self.group_id or self.in_force):
            return
        if given == (self.ticked_at is not None):
            return
        self._set_tick(self._clock.now() if given else None)
        self.changed.emit()
        if given:
            self.ticked.emit()

    def choose_kind(self, kind: ConsentKind) -> None:
        """Choose what the new consent covers."""
        self.kind, self._kind_was_chosen = kind, True
        self.changed.emit()

    def to_store(self) -> TickedConsent | None:
        """The tick, to be stored on a worker; None if there is nothing to store."""
        if self.ticked_at is None or not self.group_id or self.in_force:
            return None
        return TickedConsent(self.group_id, self.kind, self.ticked_at, self.rules, self.wording)

    def _set_tick(self, at: datetime | None) -> None:
        self._agreed = None if at is None else self.wording
        self.ticked_at = at

    @Slot(object)
    def _on_rules(self, changed: object) -> None:
        if self.rules == self._shown_rules:
            return
        self._shown_rules = self.rules
        if not self._kind_was_chosen:
            self.kind = self.rules.kind
        self.changed.emit()
