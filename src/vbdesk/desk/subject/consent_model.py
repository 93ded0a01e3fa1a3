"""Consent on the Subject page: what is in force, its history, a new one, and a withdrawal."""

from dataclasses import dataclass
from datetime import datetime

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.commands import Command, CommandOutcome, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import SubjectTopic
from vbdesk.desk.subject.reads import ConsentReading, SubjectConsentRead
from vbdesk.desk.subject_data.consent_text import subject_language
from vbdesk.language import _, joined, ngettext, translated
from vbdesk.outbox.library.consent import ConsentKind, ConsentPolicy
from vbdesk.outbox.library.consent_wordings import consent_wording
from vbdesk.outbox.library.subject_erasure import erase_subject
from vbdesk.outbox.library.subject_registry import SubjectErasure


@dataclass(frozen=True)
class GiveConsent(Command):
    """Note a new consent, with the validity of the profile's rules and the wording in the subject's language."""

    title: str
    group_id: str
    kind: ConsentKind
    at: datetime

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        library = context.library
        wording = consent_wording(subject_language(library.subject_notes.note_of(self.group_id)))
        library.consents.give_by(library.settings().consent, [self.group_id], self.kind, self.at, wording)
        return Done(_("The consent is noted."), frozenset({SubjectTopic(self.group_id)}))


@dataclass(frozen=True)
class WithdrawConsent(Command):
    """Note a withdrawal, and erase the subject's recordings if wanted."""

    title: str
    group_id: str
    kind: ConsentKind
    erase: bool

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        library, topics = context.library, frozenset({SubjectTopic(self.group_id)})
        library.withdraw_consent(self.group_id, self.kind, asked_by=library.settings().consent.asked_by)
        erasure = erase_subject(library, self.group_id) if self.erase else None
        erased = topics if self.erase else frozenset()
        return Done(_withdrawn_text(context, erasure), topics, erased)


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

    def __init__(self, flow: Flow) -> None:
        super().__init__()
        self._context, self._screen = flow.context, flow.screen(self)
        self._screen.changed.connect(self.changed)

    @property
    def reading(self) -> ConsentReading:
        """The consent as last read."""
        return self._screen.of(SubjectConsentRead).value or ConsentReading(self._group_id)

    def subject(self, group_id: str) -> str:
        """How a subject is shown, in one line."""
        return self._context.library.subject_notes.shown(group_id).text

    @property
    def policy(self) -> ConsentPolicy:
        """The policy of the profile."""
        return self._context.sync.settings.consent.policy

    @property
    def usual_kind(self) -> ConsentKind:
        """What is usually asked for."""
        return self._context.sync.settings.consent.kind

    @property
    def is_local(self) -> bool:
        """Whether the service runs on this computer, so that an erasure reaches it too."""
        return self._context.profile.kind == "local"

    @property
    def _group_id(self) -> str:
        read = self._screen.read(SubjectConsentRead)
        return "" if read is None else read.group_id

    def open(self, group_id: str) -> None:
        """Show another subject; empty for none."""
        if group_id:
            self._screen.show(SubjectConsentRead(group_id))
        else:
            self._screen.clear()

    def give(self, kind: ConsentKind) -> None:
        """Note a new consent."""
        group_id = self._group_id
        self._do(GiveConsent(self.subject(group_id), group_id, kind, self._context.clock.now()))

    def withdraw(self, kind: ConsentKind, *, erase: bool) -> None:
        """Note a withdrawal, and erase the subject's recordings if wanted."""
        group_id = self._group_id
        self._do(WithdrawConsent(self.subject(group_id), group_id, kind, erase))

    def _do(self, command: Command) -> None:
        self._screen.do(command).ended.connect(self._on_ended)

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        """The outcome names its subject: by then, the page may show another one."""
        signal = self.done if outcome.failure is None else self.failed
        signal.emit(outcome.command.title, outcome.sentence)

    def erasure_text(self) -> str:
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
        return joined(here, _bundle_text(self.reading.in_bundles), there)


def _withdrawn_text(context: DeskContext, erasure: SubjectErasure | None) -> str:
    if erasure is None:
        if context.library.settings().consent.policy is ConsentPolicy.REQUIRED:
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
        sentences.append(_bundle_text(erasure.in_bundles))
    if context.profile.kind != "local":
        sentences.append(_("What the service has received stays there: ask its operator to erase it."))
    return joined(*sentences)


def _bundle_text(count: int) -> str:
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
