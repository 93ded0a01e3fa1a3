"""State of a take's check: findings, trimming and the user's decision."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.capture.crash_recovery import Leftovers, RescuedTake
from vbdesk.capture.encrypted_take import FileDamaged, TakeAudio
from vbdesk.capture.recorder import Take
from vbdesk.contract.limits import MIN_DURATION_S
from vbdesk.desk.charts.trim_range import TrimRange
from vbdesk.desk.flow.commands import Command, CommandOutcome
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.tasks import Progress
from vbdesk.desk.playback import Playback
from vbdesk.desk.record.check_text import CheckSource, Origin, Review, Version, rescued_metadata, source_of
from vbdesk.desk.record.commands import (
    Checked,
    CheckTake,
    Decision,
    Discarded,
    DiscardVersions,
    FindLeftovers,
    ReadTake,
    RestoreDiscarded,
    StoreTake,
    read_audio,
)
from vbdesk.desk.record.damaged_takes import DamagedTakesViewModel
from vbdesk.desk.record.take_findings import TakeFindings
from vbdesk.desk.ui.notice import Notice, NoticeAction, Tone, close_action
from vbdesk.language import _
from vbdesk.outbox.imports.take_check import TakeCheck
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.items import RecordingItem, TakeMetadata
from vbdesk.outbox.library.subject_names import ShownSubject


class TakeReviewViewModel(QObject):
    """Reviews one recording at a time; several files follow each other.

    Attributes:
        findings: versions, voice comparison and spectrogram.
        damaged: takes with damaged files.
        left_over: undecided other versions of the recording sent last.
        not_stored: why the previous recording was not stored; empty if it was.

    Signals:
        started: (CheckSource) a recording is being read and checked.
        progressed: (float) progress of the check, 0 to 1.
        checked: (Review) the check is done.
        sent: (CheckSource) the user sent it to the outbox.
        kept: (CheckSource) the user keeps it here.
        retaken: (CheckSource) the user records it again; nothing is under review any more.
        set_aside: a recording that is recorded again is stored as a version.
        undo_changed: `undo` offers something else.
        finished: nothing is under review.
        failed: (str) what went wrong, and what was kept.
        rescued: (list[RescuedTake]) undecided takes of an earlier session.
        sound_damaged: (str, str) take id of a library recording with damaged sound, and what is readable.
    """

    started = Signal(object)
    progressed = Signal(float)
    checked = Signal(object)
    sent = Signal(object)
    kept = Signal(object)
    retaken = Signal(object)
    set_aside = Signal()
    undo_changed = Signal()
    finished = Signal()
    failed = Signal(str)
    rescued = Signal(object)
    sound_damaged = Signal(str, str)

    def __init__(self, flow: Flow, check: Callable[[TakeAudio], TakeCheck] | None = None) -> None:
        """Make it; `check` None means the full check of a take."""
        super().__init__()
        self._flow, self._library, self._own_check = flow, flow.context.library, check
        self._screen = flow.screen(self)  # what is done with the recording under review
        self._screen.ended.connect(self._on_read)
        self.playback = Playback(flow.tasks, flow.ports.player)
        self.playback.setParent(self)
        self.findings = TakeFindings(flow, self)
        self.damaged = DamagedTakesViewModel(flow, self)
        self._waiting: list[CheckSource] = []
        self._audio: TakeAudio | None = None
        self._instead_of: tuple[str, str] | None = None
        self._discarded: list[Discarded] = []
        self.left_over: tuple[Version, ...] = ()
        self.source: CheckSource | None = None
        self.review: Review | None = None
        self.not_stored = ""

    def review_take(self, take: Take, metadata: TakeMetadata) -> None:
        """Check a take that has just ended."""
        metadata = replace(metadata, recorded_at=take.recorded_at, retake_of=self.version_before(metadata.group_id))
        self._begin(CheckSource(Origin.TAKE, str(take.path), metadata))

    def review_files(self, paths: list[Path], metadata: TakeMetadata) -> None:
        """Check files one after the other; a file's modification time is its recording time."""
        self._waiting = [CheckSource(Origin.FILE, str(path), metadata) for path in paths]
        self._next()

    def review_rescued(self, take: RescuedTake) -> None:
        """Check an undecided take of an earlier session."""
        self._begin(CheckSource(Origin.TAKE, str(take.path), rescued_metadata(take)))

    def review_library(self, take_id: str) -> None:
        """Check a recording of the library again; keep the one under review."""
        if self.source is not None and self.source.origin is Origin.TAKE:
            self._do(StoreTake(Decision.KEEP, self.source, self.review))
        self._leave()
        self._screen.do(ReadTake(take_id))

    def find_rescued(self) -> None:
        """Find undecided takes of an earlier session."""
        self._do(FindLeftovers())

    def trim(self, span: TrimRange) -> None:
        """Trim to `span` and check it."""
        if self.source is None or not self.source.open or self.review is None:
            return
        if span != self.review.span and span.seconds > 0:
            self._check(span)

    def undo_trim(self) -> None:
        """Undo trimming."""
        if self.review is not None:
            self.trim(TrimRange(0.0, self.review.seconds))

    @property
    def trimmed_s(self) -> float:
        """Seconds trimmed off."""
        return 0.0 if self.review is None else self.review.seconds - self.review.span.seconds

    def send(self) -> None:
        """Store it and queue it for sending."""
        if self.review is not None and self.review.sendable:
            self._decide(Decision.SEND, self.review)

    def keep(self) -> None:
        """Store it without sending."""
        if self.review is not None:
            self._decide(Decision.KEEP, self.review)

    def _decide(self, decision: Decision, review: Review) -> None:
        self._instead_of = None
        self.left_over = self.findings.undecided
        self._do(StoreTake(decision, review.source, review))
        self._leave()
        (self.sent if decision is Decision.SEND else self.kept).emit(review.source)
        self._next()

    def retake(self) -> None:
        """Keep it as a version; `retaken` follows instead of `finished`."""
        source = self.source
        if source is None or source.origin is Origin.FILE or not source.open:
            return
        self._do(StoreTake(Decision.RETAKE, source, self.review))
        self._leave()
        self.retaken.emit(source)

    def discard(self) -> None:
        """Move it to the trash, and offer to restore it. Imported files are not deleted."""
        source = self.source
        if source is None or not source.open:
            return
        if source.origin is not Origin.FILE:
            self._do(StoreTake(Decision.DISCARD, source, self.review))
        self._leave()
        self._next()

    def discard_versions(self, versions: tuple[Version, ...]) -> None:
        """Delete versions, as `discard` does."""
        self._do(DiscardVersions(tuple(version.take_id for version in versions)))

    def _restore(self, discarded: Discarded) -> None:
        """Restore what was discarded, and its review."""
        self._do(RestoreDiscarded(discarded))

    def forget_discarded(self) -> None:
        """Offer no undo any more; the recordings stay in the trash."""
        self._discarded.clear()
        self.undo_changed.emit()

    def undo(self) -> Notice | None:
        """The offer to restore what was discarded last."""
        if not self._discarded:
            return None
        last = self._discarded[-1]
        subject = "" if last.source is None else self.subject(last.source.metadata.group_id).text
        undo = NoticeAction(_("Undo"), partial(self._restore, last), stays=True)
        return Notice(Tone.INFO, _undo_text(last, subject), (undo, close_action()), closed=self.forget_discarded)

    # Reading and checking

    def _begin(self, source: CheckSource) -> None:
        self._leave()
        self.source, self.not_stored = source, ""
        self.started.emit(source)
        note_listened = partial(self._library.note, AuditAction.LISTENED, source.name)
        if source.origin is not Origin.FILE:  # which is read once, by its check
            in_library = source.origin is Origin.LIBRARY
            self.playback.load(partial(read_audio, self._library, source), note_listened if in_library else None)
        trim_s = source.metadata.trim_s
        self._check(None if trim_s is None else TrimRange(*trim_s))

    def _next(self) -> None:
        if self._waiting:
            self._begin(self._waiting.pop(0))
        else:
            self.finished.emit()

    def _leave(self) -> None:
        self._screen.stop()
        self.playback.close()
        self.source = self.review = self._audio = None
        self.findings.forget()

    def _check(self, span: TrimRange | None) -> None:
        if self.source is not None:
            self._screen.stop()
            run = self._screen.do(CheckTake(self.source, span, self._audio, self._own_check))
            run.progressed.connect(self._on_progress)

    def subject(self, group_id: str) -> ShownSubject:
        """How a subject is shown."""
        return self._library.subject_notes.shown(group_id)

    def version_before(self, group_id: str) -> str | None:
        """The recording that the next one of this subject is a version of; None if it is not a retake."""
        if self._instead_of is not None and self._instead_of[0] == group_id:
            return self._instead_of[1]
        return None

    def _do(self, command: Command) -> None:
        """Do it and say what became of it, even if another recording is under review by then."""
        self._flow.commands.do(command).ended.connect(self._on_ended)

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        self.progressed.emit(progress.done / progress.total)

    @Slot(object)
    def _on_read(self, outcome: CommandOutcome) -> None:
        """The recording for review was read or checked."""
        found = outcome.done.found
        if isinstance(found, Checked):
            self._show(found)
        elif isinstance(found, RecordingItem):
            self._begin(source_of(found))
        elif isinstance(outcome.command, CheckTake):
            self._on_check_failed(outcome)
        else:
            self._fail(outcome.sentence)

    def _show(self, found: Checked) -> None:
        review = found.review
        first = self._audio is None
        self._audio, self.review = found.audio, review
        self.checked.emit(review)
        if first and review.source.origin is Origin.FILE:
            self.source = review.source
            self.playback.load(lambda: found.audio)
        if first:
            self.findings.start(found.audio, review)
        self.findings.compare(review)
        if first:
            self._trim_silence(review)

    def _trim_silence(self, review: Review) -> None:
        suggested = review.check.suggested_trim_s
        if suggested is not None and review.source.origin is not Origin.LIBRARY:
            span = TrimRange(*suggested)
            if span.seconds >= MIN_DURATION_S:
                self.trim(span)

    def _on_check_failed(self, outcome: CommandOutcome) -> None:
        source, failure = self.source, outcome.failure
        self._leave()
        damaged = failure is not None and isinstance(failure.error, FileDamaged)
        if source is not None and source.origin is Origin.LIBRARY and damaged:
            self.sound_damaged.emit(source.name, outcome.sentence)
        else:
            kept_text = "" if source is None or source.origin is not Origin.TAKE else _("The take is kept.")
            self.failed.emit(f"{outcome.sentence} {kept_text}".strip())
        self._next()

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        if outcome.failure is not None:
            self._on_failed(outcome)
            return
        found = outcome.done.found
        match outcome.command:
            case StoreTake(decision=Decision.RETAKE, source=source):
                self._instead_of = source.metadata.group_id, str(found)
                self.set_aside.emit()
            case StoreTake(decision=Decision.DISCARD, source=source):
                self._discarded.append(Discarded(source, (str(found),)))
                self.undo_changed.emit()
            case DiscardVersions(take_ids=take_ids):
                self._discarded.append(Discarded(None, take_ids))
                self.undo_changed.emit()
            case RestoreDiscarded(discarded=discarded):
                if discarded in self._discarded:
                    self._discarded.remove(discarded)
                self.undo_changed.emit()
                if isinstance(found, RecordingItem) and self.source is None:
                    self._begin(source_of(found))
        if isinstance(found, Leftovers):
            busy = None if self.source is None else self.source.name
            self.damaged.show(tuple(take for take in found.damaged if str(take.path) != busy))
            self.rescued.emit([take for take in found.takes if str(take.path) != busy])

    def _on_failed(self, outcome: CommandOutcome) -> None:
        match outcome.command:
            case FindLeftovers():
                self.failed.emit(outcome.sentence)
            case StoreTake():
                self.not_stored = outcome.sentence
                self._fail(f"{self.not_stored} {_('The recording is kept and offered here again.')}")
            case _:
                self._fail(outcome.sentence)

    def _fail(self, sentence: str) -> None:
        self.failed.emit(sentence)
        if self.source is None:
            self.finished.emit()


def _undo_text(discarded: Discarded, subject: str) -> str:
    if discarded.source is not None:
        return _("The recording of {subject} was discarded. The trash of the Outbox keeps it.", subject=subject)
    if len(discarded.take_ids) > 1:
        return _("The other versions were discarded. The trash of the Outbox keeps them.")
    return _("The other version was discarded. The trash of the Outbox keeps it.")
