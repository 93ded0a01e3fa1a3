"""State of the check of a take: what was found, what is left after trimming, and what a person decides."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QObject, Signal, SignalInstance, Slot

from vbdesk.capture.recorder import Take
from vbdesk.capture.rescue import RescuedTake, unfinished_takes
from vbdesk.capture.sealed import TakeAudio, read_take
from vbdesk.contract.limits import MAX_DURATION_S, MIN_DURATION_S
from vbdesk.desk.span import Span
from vbdesk.desk.tasks import Failure, Lane, TaskContext
from vbdesk.desk.viewmodels.playback import Playback
from vbdesk.desk.workspace import Workspace
from vbdesk.outbox.check import Check, CheckRow, Verdict, check_take
from vbdesk.outbox.items import RecordingItem, TakeMetadata, Target
from vbdesk.outbox.opened import decode_file
from vbdesk.outbox.states import OutboxState

FLAC_SHARE = 0.55  # of the size as 16-bit PCM, for speech


class Origin(StrEnum):
    """Where what is reviewed comes from."""

    TAKE = "take"
    FILE = "file"
    LIBRARY = "library"


@dataclass(frozen=True, slots=True)
class Source:
    """What is reviewed.

    Attributes:
        name: path of a take or a file; take id of a recording in the library.
    """

    origin: Origin
    name: str
    metadata: TakeMetadata

    @property
    def path(self) -> Path:
        """The take or file."""
        return Path(self.name)


@dataclass(frozen=True, slots=True)
class Review:
    """A checked recording, in words for the page; `span` is what counts of its `seconds`."""

    source: Source
    check: Check
    seconds: float
    span: Span
    sample_rate: int

    @property
    def good(self) -> bool:
        """Whether nothing fails."""
        return self.check.overall != "bad"

    @property
    def sendable(self) -> bool:
        """Whether the service would take it at all."""
        return MIN_DURATION_S <= self.span.seconds <= MAX_DURATION_S

    @property
    def title(self) -> str:
        """The verdict."""
        if self.good:
            return "Good to send"
        return "Likely inconclusive" if self.sendable else "Cannot be analysed"

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        failing, watching = self._rows(Verdict.FAIL), self._rows(Verdict.WATCH)
        if failing:
            return failing[0].sentence
        if watching:
            passing = len(self._rows(Verdict.PASS))
            return (
                f"{_count(passing)} {'check passes' if passing == 1 else 'checks pass'}. To watch: {_names(watching)}."
            )
        return "All checks pass."

    @property
    def reason(self) -> str:
        """Why it will likely be inconclusive; empty when it will not."""
        failing = self._rows(Verdict.FAIL)
        if not failing:
            return ""
        told = ", ".join(f"{row.name.lower()} {row_value(row)}, needs {row.limit_text}" for row in failing[:2])
        return f"Likely inconclusive if sent: {told}" if self.sendable else f"The service would refuse it: {told}"

    @property
    def flac_bytes(self) -> int:
        """About how much is sent."""
        return round(self.span.seconds * self.sample_rate * 2 * FLAC_SHARE)

    def _rows(self, verdict: Verdict) -> list[CheckRow]:
        return [row for row in self.check.rows if row.verdict == verdict]


def row_value(row: CheckRow) -> str:
    """The value of a row with its unit, with as many digits as mean something."""
    if row.value is None:
        return "–"
    digits = 1 if row.unit == "%" and row.value < 1 else 0
    number = f"{row.value:.{digits}f}".replace("-", "−")
    return f"{number} {row.unit}".strip()


def _count(number: int) -> str:
    words = ("No", "One", "Two", "Three", "Four", "Five")
    return words[number] if number < len(words) else str(number)


def _names(rows: list[CheckRow]) -> str:
    return " and ".join(row.name.lower() for row in rows)


class TakeReviewViewModel(QObject):
    """One recording under review at a time; files that came together follow each other.

    Signals:
        started: (Source) a recording is being read and checked.
        checked: (Review) it was.
        sent: (Source) a person sent it; it is on its way into the outbox.
        kept: (Source) a person keeps it here.
        retaken: (Source) a person wants to record it again.
        finished: nothing is under review any more.
        failed: (str) what went wrong, and what was kept.
        rescued: (list[RescuedTake]) takes that an earlier session left undecided.
    """

    started = Signal(object)
    checked = Signal(object)
    sent = Signal(object)
    kept = Signal(object)
    retaken = Signal(object)
    finished = Signal()
    failed = Signal(str)
    rescued = Signal(object)

    def __init__(
        self,
        workspace: Workspace,
        check: Callable[[TakeAudio], Check] = check_take,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._check_take = check
        self._tasks, self._library = workspace.tasks, workspace.library
        self.playback = Playback(workspace.tasks, workspace.outside.player, self)
        self._disk = Lane(workspace.tasks, self)  # a take that is being stored is not one that was left behind
        self._waiting: list[Source] = []
        self._audio: TakeAudio | None = None
        self.source: Source | None = None
        self.review: Review | None = None
        self._set_aside: Path | None = None

    def review_take(self, take: Take, metadata: TakeMetadata) -> None:
        """Check a take that has just ended."""
        self._begin(Source(Origin.TAKE, str(take.path), replace(metadata, recorded_at=take.recorded_at)))

    def review_files(self, paths: list[Path], metadata: TakeMetadata) -> None:
        """Check files one after the other; each was recorded when it was last written."""
        self._waiting = [Source(Origin.FILE, str(path), metadata) for path in paths]
        self._next()

    def review_rescued(self, take: RescuedTake) -> None:
        """Check a take that an earlier session left undecided."""
        self._begin(Source(Origin.TAKE, str(take.path), _rescued_metadata(take)))

    def review_library(self, take_id: str) -> None:
        """Check a recording of the library again."""
        self._tasks.start(
            lambda context: self._library.get(take_id), self._on_item, self._on_failed, name="review-item"
        )

    def look_for_rescued(self) -> None:
        """Find takes that an earlier session left undecided."""
        folder, key = self._library.recording_folder, self._library.store.key
        self._disk.run(lambda context: unfinished_takes(folder, key), self._on_rescued, self._on_failed, name="rescue")

    def trim(self, span: Span) -> None:
        """Leave only `span`, and check that."""
        if self.review is None or span == self.review.span or span.seconds <= 0:
            return
        self._check(span)

    def undo_trim(self) -> None:
        """Take all of it again."""
        if self.review is not None:
            self.trim(Span(0.0, self.review.seconds))

    @property
    def trimmed_s(self) -> float:
        """How much was trimmed away."""
        return 0.0 if self.review is None else self.review.seconds - self.review.span.seconds

    def send(self) -> None:
        """Put it in the outbox, to be sent."""
        if self.review is not None and self.review.sendable:
            self._decide(self.sent, queue=True)

    def keep(self) -> None:
        """Put it in the library, and do not send it."""
        if self.review is not None:
            self._decide(self.kept, queue=False)

    def retake(self) -> None:
        """Set it aside, to be recorded again; it is deleted when the next recording is decided about."""
        if self.source is None:
            return
        source = self.source
        self._forget_set_aside()
        self._set_aside = source.path if source.origin is Origin.TAKE else None
        self._leave()
        self.retaken.emit(source)
        self.finished.emit()

    def undo_retake(self, metadata: TakeMetadata) -> None:
        """Review again what was set aside."""
        if self._set_aside is not None:
            path, self._set_aside = self._set_aside, None
            self._begin(Source(Origin.TAKE, str(path), metadata))

    def _begin(self, source: Source) -> None:
        self._leave()
        self.source = source
        self.started.emit(source)
        self.playback.load(lambda: self._read(source))
        self._check(None)

    def _next(self) -> None:
        if self._waiting:
            self._begin(self._waiting.pop(0))
        else:
            self.finished.emit()

    def _leave(self) -> None:
        self.playback.close()
        self.source = self.review = self._audio = None

    def _read(self, source: Source) -> TakeAudio:
        if source.origin is Origin.TAKE:
            return read_take(source.path, self._library.store.key)
        if source.origin is Origin.FILE:
            return decode_file(source.path.read_bytes())
        return self._library.audio(source.name)

    def _check(self, span: Span | None) -> None:
        source = self.source
        if source is None:
            return

        def work(context: TaskContext) -> tuple[TakeAudio, Review]:
            audio = self._audio if self._audio is not None else self._read(source)
            check = self._check_take(audio if span is None else audio.part(span.start, span.end))
            found = span or Span(0.0, audio.duration_s)
            if source.origin is Origin.FILE:
                written = datetime.fromtimestamp(source.path.stat().st_mtime, UTC)
                shown = replace(source, metadata=replace(source.metadata, recorded_at=written))
            else:
                shown = source
            return audio, Review(shown, check, audio.duration_s, found, audio.sample_rate)

        self._tasks.start(work, self._on_checked, self._on_check_failed, name="check")

    def _decide(self, decided: SignalInstance, *, queue: bool) -> None:
        review = self.review
        if review is None:
            return
        self._forget_set_aside()
        self._disk.run(lambda context: self._store(review, queue), None, self._on_not_stored, name="store")
        self._leave()
        decided.emit(review.source)
        self._next()

    def _store(self, review: Review, queue: bool) -> None:
        source = review.source
        whole = review.span.seconds >= review.seconds - 0.01
        trim_s = None if whole else (review.span.start, review.span.end)
        metadata = replace(source.metadata, quality=review.check.quality, trim_s=trim_s)
        if source.origin is Origin.LIBRARY:
            take_id = source.name
        elif source.origin is Origin.FILE:
            take_id = self._library.import_file(source.path, metadata)
        else:
            take_id = self._library.add_take(source.path, metadata)
        if not queue:
            return
        if self._library.get(take_id).state is OutboxState.CHECKED:
            self._library.queue(take_id)
        else:
            self._library.retry(take_id)

    def _forget_set_aside(self) -> None:
        path, self._set_aside = self._set_aside, None
        if path is not None:
            self._disk.run(lambda context: path.unlink(missing_ok=True), name="delete-take")

    @Slot(object)
    def _on_checked(self, result: tuple[TakeAudio, Review]) -> None:
        audio, review = result
        if self.source is None or review.source.name != self.source.name:
            return
        first = self._audio is None
        self._audio, self.review = audio, review
        suggested = review.check.suggested_trim_s
        self.checked.emit(review)
        if first and suggested is not None and review.source.origin is not Origin.LIBRARY:
            span = Span(*suggested)
            if span.seconds >= MIN_DURATION_S:
                self.trim(span)

    @Slot(object)
    def _on_check_failed(self, failure: Failure) -> None:
        source = self.source
        self._leave()
        kept = "" if source is None or source.origin is not Origin.TAKE else " The take is kept."
        self.failed.emit(f"{failure.sentence}{kept}")
        self._next()

    @Slot(object)
    def _on_not_stored(self, failure: Failure) -> None:
        self.failed.emit(f"{failure.sentence} The recording is kept and offered again at the next start.")

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(failure.sentence)

    @Slot(object)
    def _on_item(self, item: RecordingItem) -> None:
        metadata = TakeMetadata(
            item.group_id, item.recorded_at, item.target, item.protocol, item.note, item.tags, item.consented_at
        )
        self._begin(Source(Origin.LIBRARY, item.take_id, metadata))

    @Slot(object)
    def _on_rescued(self, takes: list[RescuedTake]) -> None:
        busy = None if self.source is None else self.source.name
        self.rescued.emit([take for take in takes if str(take.path) != busy and take.path != self._set_aside])


def _rescued_metadata(take: RescuedTake) -> TakeMetadata:
    about = take.about
    consented_at, recorded_at = about.get("consented_at"), about.get("recorded_at")
    return TakeMetadata(
        group_id=str(about.get("group_id", "")),
        recorded_at=datetime.fromisoformat(recorded_at) if recorded_at else take.last_written,
        target=Target.parse(str(about.get("target", "model:pulse"))),
        protocol=str(about.get("protocol", "")),
        note=str(about.get("note", "")),
        tags=tuple(about.get("tags", ())),
        consented_at=datetime.fromisoformat(consented_at) if consented_at else None,
    )
