"""Sending of subjects to the FHIR server of the profile: confirmed, cancellable, noted; a repeat changes nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.client.errors import ClientError
from vbdesk.client.fhir import FhirServer, StoredLogin, TransactionCounts, host_in_log, host_of
from vbdesk.desk.flow.tasks import Failure, Progress, Task, TaskContext, TaskOwner
from vbdesk.desk.models.export_fault import export_fault
from vbdesk.language import _, ngettext, translated
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import Vault, VaultError
from vbdesk.outbox.results.recording_details import with_consents, with_unreadable_consents

if TYPE_CHECKING:
    from vbdesk.report.subject_record import SubjectRecord


@dataclass(frozen=True, slots=True)
class FhirOrder:
    """What to send.

    Attributes:
        subjects: how many a person chose.
        shown: the name of the only one; empty for several.
        records: reads them from the service, and reports how many were read. Blocks.
    """

    subjects: int
    shown: str
    records: Callable[[TaskContext], "Sequence[SubjectRecord]"]


@dataclass(frozen=True, slots=True)
class _Sent:
    """What a server has; `fault` says why it is not everything."""

    host: str
    subjects: int
    complete: int = 0
    counts: TransactionCounts = field(default_factory=TransactionCounts)
    unreadable: tuple[str, ...] = ()
    fault: str = ""


class FhirSending(QObject):
    """Sends one order at a time.

    Attributes:
        address: of the server; empty if none is configured, or if that is not known yet.

    Signals:
        known: (str) `address` was read.
        asked: (str) a question that names server and subjects; `confirm` or `refuse` follows.
        progressed: (str) what is under way.
        done: (str) what the server has now.
        failed: (str) why it does not have everything.
        stopped: (str) what happened to what was sent before the person stopped it.
        ended: nothing is under way any more.
    """

    known = Signal(str)
    asked = Signal(str)
    progressed = Signal(str)
    done = Signal(str)
    failed = Signal(str)
    stopped = Signal(str)
    ended = Signal()

    def __init__(
        self,
        profile: Profile,
        vault: Vault,
        library: Library,
        connect: Callable[[StoredLogin], FhirServer],
        tasks: TaskOwner,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._profile, self._vault, self._library = profile, vault, library
        self._connect, self._tasks = connect, tasks
        self.address = ""
        self._order: FhirOrder | None = None
        self._wanted = 0
        self._confirmed = ""
        self._task: Task | None = None

    @property
    def busy(self) -> bool:
        """Whether something is sent."""
        return self._task is not None

    def look(self) -> None:
        """Read which server is configured."""
        self._tasks.start(lambda context: self._configured(), self._on_known, name="fhir-login")

    def ask(self, order: FhirOrder) -> None:
        """Ask whether to send this."""
        if self.busy or not self.address or not order.subjects:
            return
        self._order, self._confirmed = order, self.address
        host = host_of(self.address)
        if order.shown:
            sentence = _(
                "Send the results and consents of {subject} to {host}? They leave this computer and cannot be taken "
                "back from here.",
                subject=order.shown,
                host=host,
            )
        else:
            sentence = ngettext(
                "Send the results and consents of {count} subject to {host}? They leave this computer and cannot be "
                "taken back from here.",
                "Send the results and consents of {count} subjects to {host}? They leave this computer and cannot be "
                "taken back from here.",
                order.subjects,
                host=host,
            )
        self.asked.emit(sentence)

    @Slot()
    def refuse(self) -> None:
        """Send nothing."""
        self._order = None

    @Slot()
    def confirm(self) -> None:
        """Send what was asked about, to the server that the question named."""
        order, self._order = self._order, None
        if order is None or self.busy:
            return
        self._wanted = order.subjects
        self.progressed.emit(_("Reading from the service."))
        self._task = self._tasks.start(
            lambda context: with_consents(self._library, order.records(context)),
            self._on_records,
            self._on_failed,
            self._on_read,
            self._on_finished,
            name="fhir-read",
        )

    @Slot()
    def cancel(self) -> None:
        """Stop before the next request."""
        if self._task is not None:
            self._task.cancel()
            self.progressed.emit(_("Stopping. The server may take up to three minutes to answer what was sent last."))

    def _configured(self) -> str:
        """The address; empty if there is none, or if the keyring does not say."""
        try:
            return _login_of(self._vault.get_without_prompt(self._profile.fhir_login_name)).address
        except (ValueError, VaultError):
            return ""

    def _send(self, context: TaskContext, records: "Sequence[SubjectRecord]", address: str) -> _Sent:
        from vbdesk.report.fhir import fhir_transactions

        login = _login_of(self._vault.get(self._profile.fhir_login_name))
        if login.address != address:
            raise ValueError(_("Another server was configured meanwhile, so nothing was sent. Send again."))
        sent = _Sent(host_of(address), len(records))
        begun = 0
        try:
            with self._connect(login) as server:
                for place, record in enumerate(records):
                    context.progress(place, len(records))
                    for number, transaction in enumerate(fhir_transactions(record)):
                        context.check()
                        begun += not number
                        sent = replace(sent, counts=sent.counts + server.send(transaction))
                    sent = replace(sent, complete=place + 1)
        except ClientError as error:
            return replace(sent, fault=translated(error.sentence))
        finally:
            if begun:
                detail = f"fhir, sent to {host_in_log(address)}, subjects={begun}"
                self._library.note(AuditAction.EXPORTED, detail=detail)
        unreadable = with_unreadable_consents(self._library, [record.group_id for record in records])
        return replace(sent, unreadable=tuple(unreadable))

    @Slot(object)
    def _on_known(self, address: str) -> None:
        self.address = address
        self.known.emit(address)

    @Slot(object)
    def _on_read(self, progress: Progress) -> None:
        self._tell(_("Reading from the service: {done} of {total}.", done=progress.done, total=progress.total))

    @Slot(object)
    def _on_records(self, records: "Sequence[SubjectRecord]") -> None:
        address = self._confirmed
        self.progressed.emit(_("Sending to {host}.", host=host_of(address)))
        self._task = self._tasks.start(
            lambda context: self._send(context, records, address),
            self._on_sent,
            self._on_failed,
            self._on_progress,
            self._on_finished,
            name="fhir-send",
        )

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        host = host_of(self._confirmed)
        self._tell(
            _("Sending to {host}: {done} of {total} subjects.", host=host, done=progress.done, total=progress.total)
        )

    def _tell(self, sentence: str) -> None:
        if self._task is not None and not self._task.stop_asked.is_set():
            self.progressed.emit(sentence)

    @Slot(object)
    def _on_sent(self, sent: _Sent) -> None:
        if sent.fault:
            self.failed.emit(
                _(
                    "{fault} The server has {complete} of {subjects} subjects completely; sending them again changes "
                    "nothing there.",
                    fault=sent.fault,
                    complete=sent.complete,
                    subjects=sent.subjects,
                )
            )
            return
        sentence = _(
            "Subjects at {host}: {subjects}. Resources created: {created}; there already: {kept}.",
            host=sent.host,
            subjects=sent.subjects,
            created=sent.counts.created,
            kept=sent.counts.kept,
        )
        if sent.subjects < self._wanted:
            unknown = self._wanted - sent.subjects
            sentence += " " + _("The service does not know {unknown} of the subjects yet.", unknown=unknown)
        if sent.unreadable:
            sentence += " " + _(
                "Without the consents of {subjects}: something other than vbdesk changed them. Ask again, and note the "
                "answer.",
                subjects=", ".join(sent.unreadable),
            )
        self.done.emit(sentence)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(export_fault(failure))

    @Slot()
    def _on_finished(self) -> None:
        """One of the two tasks has ended; the first one may have started the second."""
        task = self.sender()
        if task is not self._task:
            return
        stopped = self._task is not None and self._task.stop_asked.is_set()
        self._task = None
        if stopped:
            self.stopped.emit(_("Stopped. What the server has already stays there; sending it again changes nothing."))
        self.ended.emit()


def _login_of(secret: str | None) -> StoredLogin:
    """The login in the keyring. Raises ValueError."""
    if secret is None:
        raise ValueError(
            _("No FHIR server is configured any more, so nothing was sent. Configure it: vbdesk fhir login")
        )
    return StoredLogin.of_secret(secret)
