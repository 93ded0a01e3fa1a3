"""Findings besides the check of a take: other versions, voice comparison, spectrogram."""

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.capture.spectrogram import HIGHEST_HZ, spectrogram
from vbdesk.desk.charts.take_layers import TakePicture
from vbdesk.desk.charts.trim_range import TrimRange
from vbdesk.desk.flow.tasks import Lane, TaskContext, TaskOwner
from vbdesk.desk.record.check_text import CheckSource, Origin, Review, Version, versions_of
from vbdesk.language import translated
from vbdesk.outbox.imports.pitch_track import pitch_track
from vbdesk.outbox.imports.speaker_comparison import SpeakerComparison, SpeakerSimilarity
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import OutboxState

SPECTROGRAM_COLUMNS = 1000
_LONGEST_PITCH_S = 180.0


@dataclass(frozen=True, slots=True)
class _Found:
    """A finding about one source, which may no longer be under review."""

    source: CheckSource
    what: object


class TakeFindings(QObject):
    """Findings about one recording at a time. None of them prevents sending.

    Attributes:
        versions: of the recording, oldest first; empty if there is only one.

    Signals:
        versions_changed: (tuple[Version]).
        warned: (str) the voice differs from the subject's earlier ones; empty if not.
        spectrogram_ready: (TakePicture) of the part that is shown, after a request.
    """

    versions_changed = Signal(object)
    warned = Signal(str)
    spectrogram_ready = Signal(object)

    def __init__(self, library: Library, tasks: TaskOwner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._library, self._tasks = library, tasks
        self._guard = SpeakerComparison(library)
        self._drawing = Lane(tasks, self)  # in order, so that the newest part is shown last
        self._guarding = Lane(tasks, self)  # the voice comparison handles one take at a time
        self._source: CheckSource | None = None
        self._audio: TakeAudio | None = None
        self._wanted = False
        self._part: TrimRange | None = None
        self.versions: tuple[Version, ...] = ()

    def forget(self) -> None:
        """Clear: nothing is under review."""
        self._source = self._audio = None
        self.versions = ()

    def look(self, audio: TakeAudio, review: Review) -> None:
        """Collect findings about a recording that was just read and checked."""
        self._source, self._audio, self._part = review.source, audio, None
        self._listen_who_speaks()
        self._draw()

    def compare(self, review: Review) -> None:
        """Find the versions of the checked recording."""
        source = review.source
        known = source.name if source.origin is Origin.LIBRARY else source.metadata.retake_of

        def work(context: TaskContext) -> tuple[Review, tuple[RecordingItem, ...]]:
            return review, () if known is None else self._library.versions(known)

        if known is not None:
            self._tasks.start(work, self._on_versions, name="versions")

    def want_spectrogram(self, wanted: bool) -> None:
        """Turn spectrograms on or off, for this recording and the next ones."""
        self._wanted = wanted
        self._draw()

    def want_part(self, part: TrimRange) -> None:
        """Draw only a part, after a zoom."""
        self._part = part
        self._draw()

    @property
    def undecided(self) -> tuple[Version, ...]:
        """The other undecided versions."""
        return tuple(v for v in self.versions if not v.shown and v.state is OutboxState.CHECKED)

    def _listen_who_speaks(self) -> None:
        audio, source = self._audio, self._source
        if audio is None or source is None:
            return
        version_of = source.name if source.origin is Origin.LIBRARY else source.metadata.retake_of
        self._guarding.run(
            lambda context: _Found(source, self._guard.compare(audio, source.metadata.group_id, version_of)),
            self._on_likeness,
            name="speaker-guard",
        )

    def _draw(self) -> None:
        audio, source, part = self._audio, self._source, self._part
        if self._wanted and audio is not None and source is not None:
            self._drawing.run(
                lambda context: _Found(source, _picture_of(audio, part or TrimRange(0.0, audio.duration_s))),
                self._on_spectrogram,
                name="spectrogram",
            )

    def _in_front(self, source: CheckSource) -> bool:
        return self._source is not None and self._source.name == source.name

    @Slot(object)
    def _on_versions(self, found: tuple[Review, tuple[RecordingItem, ...]]) -> None:
        review, items = found
        if self._in_front(review.source):
            versions = versions_of(items, review)
            self.versions = versions if len(versions) > 1 else ()
            self.versions_changed.emit(self.versions)

    @Slot(object)
    def _on_likeness(self, found: _Found) -> None:
        if self._in_front(found.source) and isinstance(found.what, SpeakerSimilarity):
            self.warned.emit(translated(found.what.warning) if found.what.warning else "")

    @Slot(object)
    def _on_spectrogram(self, found: _Found) -> None:
        if self._in_front(found.source):
            self.spectrogram_ready.emit(found.what)


def _picture_of(audio: TakeAudio, part: TrimRange) -> TakePicture:
    """Spectrogram and pitch of a part; a long part has no pitch, since it would take too long to measure."""
    rate = audio.sample_rate
    samples = audio.samples[round(part.start * rate) : round(part.end * rate)]
    pitch_s, pitch_hz = np.zeros(0), np.zeros(0)
    if part.end - part.start <= _LONGEST_PITCH_S:
        pitch_s, pitch_hz = pitch_track(samples, rate)
    shades = spectrogram(samples, rate, SPECTROGRAM_COLUMNS)
    return TakePicture(shades, part, min(HIGHEST_HZ, rate / 2), part.start + pitch_s, pitch_hz)
