"""Consent on the Subject page: what is in force, its history, a new one, and a withdrawal."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.clock import Clock
from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.models.consent_text import subject_language
from vbdesk.desk.tasks import Failure, Lane, TaskContext, TaskOwner
from vbdesk.language import _, joined, ngettext, translated
from vbdesk.outbox.library.consent import NO_CONSENT, ConsentKind, ConsentPolicy, ConsentState, ConsentStatus
from vbdesk.outbox.library.consent_rows import SubjectConsent
from vbdesk.outbox.library.consent_wordings import consent_wording
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.subject_erasure import SubjectErasure, erase_subject, recordings_to_erase
from vbdesk.outbox.profiles.profiles import Profile

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ConsentReading:
    """The consent of one subject.

    Attributes:
        recordings: how many recordings a withdrawal can erase here.
        in_bundles: of how many of them a bundle has a copy.
    """

    group_id: str = ""
    status: ConsentStatus = NO_CONSENT
    consent: SubjectConsent = field(default_factory=SubjectConsent)
    recordings: int = 0
    in_bundles: int = 0

    @property
    def withdrawable(self) -> bool:
        """Whether there is a consent to withdraw; also an expired one, for earlier recordings."""
        return bool(self.consent.events) and self.status.state is not ConsentState.WITHDRAWN

    def ends_with(self, kind: ConsentKind) -> bool:
        """Whether nothing stays in force after a withdrawal for `kind`."""
        present = self.status.kind
        return kind is ConsentKind.BOTH or present in (None, kind, ConsentKind.NOT_STATED)


@dataclass(frozen=True, slots=True)
class _Changed:
    """The subject of a change, what was done, as sentences, and why it failed, if it did."""

    group_id: str
    words: Callable[[], str] = str
    failure: Failure | None = None


class SubjectConsentViewModel(QObject):
    """The consent of the subject that is shown.

    Signals:
        changed: `reading` changed.
        done: (str, str) how the subject is shown, and what was done, as sentences.
        failed: (str, str) how the subject is shown, and why it was not.
    """

    changed = Signal()
    done = Signal(str, str)
    failed = Signal(str, str)

    def __init__(self, profile: Profile, library: Library, sync: SyncState, tasks: TaskOwner, clock: Clock) -> None:
        super().__init__()
        self._profile, self._library, self._sync = profile, library, sync
        self._tasks, self._clock = tasks, clock
        self._changes = Lane(tasks, self)  # in order: whether a consent holds depends on what came last
        self.reading = ConsentReading()
        self._group_id = ""
        sync.library_changed.connect(self.read)

    def subject(self, group_id: str) -> str:
        """How a subject is shown, in one line."""
        return self._library.subject_notes.shown(group_id).words

    @property
    def policy(self) -> ConsentPolicy:
        """The policy of the profile."""
        return self._sync.settings.consent.policy

    @property
    def usual_kind(self) -> ConsentKind:
        """What is usually asked for."""
        return self._sync.settings.consent.kind

    @property
    def is_local(self) -> bool:
        """Whether the service runs on this computer, so that an erasure reaches it too."""
        return self._profile.kind == "local"

    def open(self, group_id: str) -> None:
        """Show another subject; empty for none."""
        self._group_id = group_id
        self.reading = ConsentReading(group_id)
        self.changed.emit()
        self.read()

    @Slot()
    def read(self) -> None:
        """Read it again."""
        group_id = self._group_id
        if group_id:
            self._tasks.start(lambda context: self._read(group_id), self._on_read, name="consent")

    def give(self, kind: ConsentKind) -> None:
        """Note a new consent, with the validity of the profile's rules and the wording in the subject's language."""
        group_id, rules, now = self._group_id, self._sync.settings.consent, self._clock.now()
        wording = consent_wording(subject_language(self._library.subject_notes.note_of(group_id)))

        def give() -> None:
            self._library.consents.give_by(rules, [group_id], kind, now, wording)

        self._change(group_id, give, self._given_words)

    def withdraw(self, kind: ConsentKind, *, erase: bool) -> None:
        """Note a withdrawal, and erase the subject's recordings if wanted."""
        group_id, asked_by = self._group_id, self._sync.settings.consent.asked_by

        def withdraw() -> SubjectErasure | None:
            self._library.withdraw_consent(group_id, kind, asked_by=asked_by)
            return erase_subject(self._library, group_id) if erase else None

        self._change(group_id, withdraw, self._withdrawn_words)

    def _change(self, group_id: str, change: Callable[[], T], words: Callable[[T], str]) -> None:
        """Change a consent; the outcome names the subject: by then, the page may show another one."""

        def work(context: TaskContext) -> _Changed:
            try:
                return _Changed(group_id, partial(words, change()))
            except Exception as error:
                return _Changed(group_id, failure=Failure.of(error))

        self._changes.run(work, self._on_changed, name="change-consent")

    def erasure_words(self) -> str:
        """What erasing does, and what it cannot do."""
        count = self.reading.recordings
        if not count:
            return _("There is no recording of this subject on this computer.")
        here = ngettext(
            "Erasing destroys {count} recording on this computer with its key, at once and without the trash.",
            "Erasing destroys {count} recordings on this computer with their keys, at once and without the trash.",
            count,
        )
        there = (
            _("The service on this computer erases them too.")
            if self.is_local
            else _("What the service has received stays there: ask its operator to erase it.")
        )
        return joined(here, self._bundle_words(self.reading.in_bundles), there)

    def _read(self, group_id: str) -> ConsentReading:
        consent = self._library.consents.of(group_id)
        here = recordings_to_erase(self._library, group_id)
        return ConsentReading(group_id, consent.status(self._clock.now()), consent, len(here), sum(here.values()))

    @Slot(object)
    def _on_read(self, reading: ConsentReading) -> None:
        if reading.group_id == self._group_id and reading != self.reading:
            self.reading = reading
            self.changed.emit()

    @Slot(object)
    def _on_changed(self, changed: _Changed) -> None:
        self.read()
        subject = self.subject(changed.group_id)
        if changed.failure is None:
            self.done.emit(subject, changed.words())
        else:
            self.failed.emit(subject, changed.failure.sentence)

    def _given_words(self, _given: None) -> str:
        return _("The consent is noted.")

    def _withdrawn_words(self, erasure: SubjectErasure | None) -> str:
        if erasure is None:
            if self.policy is ConsentPolicy.REQUIRED:
                return _("The withdrawal is noted. Nothing more of this subject is sent until a new consent.")
            return _(
                "The withdrawal is noted. Recordings that waited were taken out of the queue; they are only sent if "
                "you send them."
            )
        sentences = [
            ngettext(
                "The withdrawal is noted, and {count} recording is erased.",
                "The withdrawal is noted, and {count} recordings are erased.",
                erasure.erased,
            )
        ]
        if erasure.left:
            sentences.append(
                ngettext(
                    "{count} recording could not be erased: {reason}",
                    "{count} recordings could not be erased: {reason}",
                    len(erasure.left),
                    reason=translated(erasure.left[0]),
                )
            )
        if erasure.in_bundles:
            sentences.append(self._bundle_words(erasure.in_bundles))
        if not self.is_local:
            sentences.append(_("What the service has received stays there: ask its operator to erase it."))
        return joined(*sentences)

    def _bundle_words(self, count: int) -> str:
        """A sentence on the recordings that were handed over in a bundle, another copy; empty if there are none."""
        if not count:
            return ""
        return ngettext(
            "{count} of them was handed over: its bundle is another copy, which you have to delete, and the service "
            "may have the recording already.",
            "{count} of them were handed over: their bundle is another copy, which you have to delete, and the service "
            "may have the recordings already.",
            count,
        )
