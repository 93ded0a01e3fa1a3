"""State of a take's check: findings, trimming and the user's decision."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, SignalInstance, Slot

from vbdesk.capture.crash_recovery import Leftovers, RescuedTake
from vbdesk.capture.encrypted_take import FileDamaged, TakeAudio
from vbdesk.capture.imported_sound import decode_file
from vbdesk.capture.playback import Player
from vbdesk.capture.recorder import Take
from vbdesk.contract.limits import MIN_DURATION_S
from vbdesk.desk.charts.trim_range import TrimRange
from vbdesk.desk.flow.tasks import Failure, Lane, Progress, Task, TaskContext, TaskOwner
from vbdesk.desk.models.playback import Playback
from vbdesk.desk.record.check_text import CheckSource, Origin, Review, Version, dated, rescued_metadata, source_of
from vbdesk.desk.record.damaged_takes import DamagedTakesViewModel
from vbdesk.desk.record.take_findings import TakeFindings
from vbdesk.desk.ui.notice import Notice, NoticeAction, Tone, close_action
from vbdesk.language import _, translated
from vbdesk.outbox.imports.take_check import TakeCheck, check_take
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.consent import ConsentPolicy, ConsentStatus
from vbdesk.outbox.library.items import RecordingItem, TakeMetadata
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.subject_names import ShownSubject

_PERCENT = 100


@dataclass(frozen=True, slots=True)
class _Checked:
    audio: TakeAudio
    review: Review


@dataclass(frozen=True, slots=True)
class _Discarded:
    """Recordings that were discarded together; `source` was under review, None for other versions."""

    source: CheckSource | None
    take_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Restored:
    """The recordings that are back from the trash, and the one to review; None if there is none."""

    discarded: _Discarded
    item: RecordingItem | None


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
        retaken: (CheckSource) the user wants to record it again.
        set_aside: (str) library id of the recording that is to be recorded again.
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
    set_aside = Signal(str)
    undo_changed = Signal()
    finished = Signal()
    failed = Signal(str)
    rescued = Signal(object)
    sound_damaged = Signal(str, str)

    def __init__(
        self,
        library: Library,
        tasks: TaskOwner,
        player: Callable[[], Player],
        check: Callable[[TakeAudio], TakeCheck] | None = None,
    ) -> None:
        """Make it; `check` None means the full check of a take."""
        super().__init__()
        self._own_check = check
        self._library, self._tasks = library, tasks
        self.playback = Playback(tasks, player, self)
        self._disk = Lane(tasks, self)  # a take that is being stored is not left over
        self.findings = TakeFindings(library, tasks, self)
        self.damaged = DamagedTakesViewModel(library.damaged, library.subject_notes, self._disk, self)
        self._waiting: list[CheckSource] = []
        self._checking: Task | None = None
        self._audio: TakeAudio | None = None
        self._instead_of: tuple[str, str] | None = None
        self._coming: str | None = None  # a recording of the library that is read for review
        self._discarded: list[_Discarded] = []
        self.left_over: tuple[Version, ...] = ()
        self.source: CheckSource | None = None
        self.review: Review | None = None
        self.not_stored = ""

    def review_take(self, take: Take, metadata: TakeMetadata) -> None:
        """Check a take that has just ended."""
        metadata = replace(metadata, recorded_at=take.recorded_at, retake_of=self._retake_of(metadata.group_id))
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
        source, review = self.source, self.review
        if source is not None and source.origin is Origin.TAKE:
            self._disk.run(lambda context: self._keep(source, review), None, self._on_not_stored, name="store")
        self._leave()
        self._coming = take_id
        self._disk.run(lambda context: self._library.get(take_id), self._on_item, self._on_failed, name="review-item")

    def look_for_rescued(self) -> None:
        """Find undecided takes of an earlier session."""
        self._disk.run(lambda context: self._library.leftovers(), self._on_leftovers, self._on_not_read, name="rescue")

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
            self._decide(self.sent, queue=True)

    def keep(self) -> None:
        """Store it without sending."""
        if self.review is not None:
            self._decide(self.kept, queue=False)

    def retake(self) -> None:
        """Keep it as a version and record again."""
        source, review = self.source, self.review
        if source is None or source.origin is Origin.FILE or not source.open:
            return
        group_id = source.metadata.group_id
        self._disk.run(
            lambda context: (group_id, self._keep(source, review)),
            self._on_set_aside,
            self._on_not_stored,
            name="store",
        )
        self._leave()
        self.retaken.emit(source)
        self.finished.emit()

    def discard(self) -> None:
        """Move it to the trash, and offer to restore it. Imported files are not deleted."""
        source, review = self.source, self.review
        if source is None or not source.open:
            return
        if source.origin is not Origin.FILE:
            self._disk.run(
                lambda context: self._move_to_trash(source, (self._keep(source, review),)),
                self._on_discarded,
                self._on_not_stored,
                name="discard",
            )
        self._leave()
        self._next()

    def discard_versions(self, versions: tuple[Version, ...]) -> None:
        """Delete versions, as `discard` does."""
        self._disk.run(
            lambda context: self._move_to_trash(None, tuple(version.take_id for version in versions)),
            self._on_discarded,
            self._on_failed,
            name="discard",
        )

    def _restore(self, discarded: _Discarded) -> None:
        """Restore what was discarded, and its review."""

        def work(context: TaskContext) -> _Restored:
            for take_id in discarded.take_ids:
                if self._library.trash.holds(take_id):  # else the Outbox has restored it
                    self._library.trash.restore(take_id)
            item = None if discarded.source is None else self._library.get(discarded.take_ids[0])
            return _Restored(discarded, item)

        self._disk.run(work, self._on_restored, self._on_failed, name="undo-discard")

    def forget_discarded(self) -> None:
        """Offer no undo any more; the recordings stay in the trash."""
        self._discarded.clear()
        self.undo_changed.emit()

    def _move_to_trash(self, source: CheckSource | None, take_ids: tuple[str, ...]) -> _Discarded:
        self._library.discard(*take_ids)
        return _Discarded(source, take_ids)

    def undo(self) -> Notice | None:
        """The offer to restore what was discarded last."""
        if not self._discarded:
            return None
        last = self._discarded[-1]
        subject = "" if last.source is None else self.subject(last.source.metadata.group_id).words
        undo = NoticeAction(_("Undo"), partial(self._restore, last), stays=True)
        return Notice(Tone.INFO, _undo_words(last, subject), (undo, close_action()), closed=self.forget_discarded)

    # Reading and checking

    def _begin(self, source: CheckSource) -> None:
        self._leave()
        self.source, self.not_stored = source, ""
        self.started.emit(source)
        kept = source.origin is Origin.LIBRARY
        self.playback.load(lambda: self._read(source), (lambda: self._note_listening(source)) if kept else None)
        trim_s = source.metadata.trim_s
        self._check(None if trim_s is None else TrimRange(*trim_s))

    def _next(self) -> None:
        if self._waiting:
            self._begin(self._waiting.pop(0))
        else:
            self.finished.emit()

    def _leave(self) -> None:
        if self._checking is not None:
            self._checking.cancel()
            self._checking = None
        self.playback.close()
        self.source = self.review = self._audio = self._coming = None
        self.findings.forget()

    def _read(self, source: CheckSource) -> TakeAudio:
        if source.origin is Origin.TAKE:
            return self._library.take_audio(source.path)
        if source.origin is Origin.FILE:
            return decode_file(source.path.read_bytes())
        return self._library.whole_audio(source.name)

    def _note_listening(self, source: CheckSource) -> None:
        self._library.note(AuditAction.LISTENED, source.name)

    def _check(self, span: TrimRange | None) -> None:
        source, known = self.source, self._audio
        if source is None:
            return
        if self._checking is not None:
            self._checking.cancel()

        def work(context: TaskContext) -> _Checked:
            audio = known if known is not None else self._read(source)
            part = audio if span is None else audio.part(span.start, span.end)
            found = span or TrimRange(0.0, audio.duration_s)
            check = self._run_check(part, context)
            consent, policy = self._consent(source)
            review = Review(dated(source), check, audio.duration_s, found, audio.sample_rate, consent, policy)
            return _Checked(audio, review)

        self._checking = self._tasks.start(
            work, self._on_checked, self._on_check_failed, self._on_progress, self._on_check_ended, name="check"
        )

    def _consent(self, source: CheckSource) -> tuple[ConsentStatus, ConsentPolicy]:
        """Where the consent for a recording stands; a file needs it now, whenever it was recorded."""
        at = None if source.origin is Origin.FILE else source.metadata.recorded_at
        status = self._library.consents.status(source.metadata.group_id, at)
        return status, self._library.consent_gate.rules().policy

    def _run_check(self, audio: TakeAudio, context: TaskContext) -> TakeCheck:
        def progress(share: float) -> None:
            context.check()
            context.progress(round(_PERCENT * share), _PERCENT)

        return check_take(audio, progress) if self._own_check is None else self._own_check(audio)

    # Storing

    def subject(self, group_id: str) -> ShownSubject:
        """How a subject is shown."""
        return self._library.subject_notes.shown(group_id)

    def _retake_of(self, group_id: str) -> str | None:
        if self._instead_of is not None and self._instead_of[0] == group_id:
            return self._instead_of[1]
        return None

    def _decide(self, decided: SignalInstance, *, queue: bool) -> None:
        review = self.review
        if review is None:
            return
        self._instead_of = None
        self.left_over = self.findings.undecided
        self._disk.run(lambda context: self._store(review, queue), None, self._on_not_stored, name="store")
        self._leave()
        decided.emit(review.source)
        self._next()

    def _keep(self, source: CheckSource, review: Review | None) -> str:
        """Store it in the library as the check left it; return its take id."""
        metadata = source.metadata
        if review is not None and review.source.name == source.name:
            metadata = replace(review.source.metadata, quality=review.quality, trim_s=review.trim_s)
        if source.origin is Origin.FILE:
            return self._library.import_file(source.path, metadata)
        if source.origin is Origin.TAKE:
            return self._library.add_take(source.path, metadata)
        if source.state is OutboxState.CHECKED and metadata.trim_s != source.metadata.trim_s:
            self._library.set_trim(source.name, metadata.trim_s, metadata.quality)
        return source.name

    def _store(self, review: Review, queue: bool) -> None:
        take_id = self._keep(review.source, review)
        if not queue:
            return
        if self._library.get(take_id).state is OutboxState.CHECKED:
            self._library.queue(take_id)
        else:
            self._library.retry(take_id)

    # Results of tasks

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        if self.sender() is self._checking:
            self.progressed.emit(progress.done / progress.total)

    @Slot()
    def _on_check_ended(self) -> None:
        if self.sender() is self._checking:
            self._checking = None

    @Slot(object)
    def _on_checked(self, found: _Checked) -> None:
        review = found.review
        if self.sender() is not self._checking or self.source is None:
            return
        first = self._audio is None
        self._audio, self.review = found.audio, review
        self.checked.emit(review)
        if first:
            self.findings.look(found.audio, review)
        self.findings.compare(review)
        if first:
            self._trim_silence(review)

    def _trim_silence(self, review: Review) -> None:
        suggested = review.check.suggested_trim_s
        if suggested is not None and review.source.origin is not Origin.LIBRARY:
            span = TrimRange(*suggested)
            if span.seconds >= MIN_DURATION_S:
                self.trim(span)

    @Slot(object)
    def _on_check_failed(self, failure: Failure) -> None:
        if self.sender() is not self._checking:
            return
        source = self.source
        self._leave()
        if source is not None and source.origin is Origin.LIBRARY and isinstance(failure.error, FileDamaged):
            self.sound_damaged.emit(source.name, translated(failure.sentence))
            self._next()
            return
        kept = "" if source is None or source.origin is not Origin.TAKE else _("The take is kept.")
        self.failed.emit(f"{translated(failure.sentence)} {kept}".strip())
        self._next()

    @Slot(object)
    def _on_set_aside(self, kept: tuple[str, str]) -> None:
        self._instead_of = kept
        self.set_aside.emit(kept[1])

    @Slot(object)
    def _on_discarded(self, discarded: _Discarded) -> None:
        self._discarded.append(discarded)
        self.undo_changed.emit()

    @Slot(object)
    def _on_not_stored(self, failure: Failure) -> None:
        self.not_stored = translated(failure.sentence)
        self._fail(f"{self.not_stored} {_('The recording is kept and offered here again.')}")

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._fail(translated(failure.sentence))

    @Slot(object)
    def _on_not_read(self, failure: Failure) -> None:
        self.failed.emit(translated(failure.sentence))

    def _fail(self, sentence: str) -> None:
        self.failed.emit(sentence)
        if self.source is None:
            self.finished.emit()

    @Slot(object)
    def _on_item(self, item: RecordingItem) -> None:
        if item.take_id == self._coming:  # else another review has begun meanwhile
            self._begin(source_of(item))

    @Slot(object)
    def _on_restored(self, restored: _Restored) -> None:
        if restored.discarded in self._discarded:
            self._discarded.remove(restored.discarded)
        self.undo_changed.emit()
        if restored.item is not None and self.source is None:
            self._begin(source_of(restored.item))

    @Slot(object)
    def _on_leftovers(self, found: Leftovers) -> None:
        busy = None if self.source is None else self.source.name
        self.damaged.show(tuple(take for take in found.damaged if str(take.path) != busy))
        self.rescued.emit([take for take in found.takes if str(take.path) != busy])


def _undo_words(discarded: _Discarded, subject: str) -> str:
    if discarded.source is not None:
        return _("The recording of {subject} was discarded. The trash of the Outbox keeps it.", subject=subject)
    if len(discarded.take_ids) > 1:
        return _("The other versions were discarded. The trash of the Outbox keeps them.")
    return _("The other version was discarded. The trash of the Outbox keeps it.")
