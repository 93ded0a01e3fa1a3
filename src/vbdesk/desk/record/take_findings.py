"""Findings besides the check of a take: other versions, voice comparison, spectrogram."""

from dataclasses import dataclass, field

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.capture.spectrogram import HIGHEST_HZ, spectrogram
from vbdesk.desk.charts.take_layers import TakePicture
from vbdesk.desk.charts.trim_range import TrimRange
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.desk.record.check_text import Origin, Review, Version, versions_of
from vbdesk.language import translated
from vbdesk.outbox.imports.pitch_track import pitch_track
from vbdesk.outbox.imports.speaker_comparison import SpeakerComparison, SpeakerSimilarity
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.states import OutboxState

SPECTROGRAM_COLUMNS = 1000
_LONGEST_PITCH_S = 180.0


@dataclass(frozen=True)
class VersionsRead(Read[tuple[RecordingItem, ...]]):
    """All versions of a recording of the library."""

    take_id: str
    topics = frozenset({Changed.LIBRARY})

    def here(self, context: DeskContext, before: object, task: TaskContext) -> tuple[RecordingItem, ...]:  # noqa: D102
        return context.library.versions(self.take_id)


@dataclass(frozen=True)
class SpeakerRead(Read[SpeakerSimilarity]):
    """Whether a recording sounds like the earlier ones of its subject."""

    name: str
    group_id: str
    version_of: str | None
    audio: TakeAudio = field(compare=False)
    comparison: SpeakerComparison = field(compare=False)
    topics = frozenset()
    cached = False

    def here(self, context: DeskContext, before: object, task: TaskContext) -> SpeakerSimilarity:  # noqa: D102
        return self.comparison.compare(self.audio, self.group_id, self.version_of)


@dataclass(frozen=True)
class PictureRead(Read[TakePicture]):
    """The spectrogram of a part of a recording."""

    name: str
    part: TrimRange
    audio: TakeAudio = field(compare=False)
    topics = frozenset()
    cached = False

    def here(self, context: DeskContext, before: TakePicture | None, task: TaskContext) -> TakePicture:  # noqa: D102
        return _picture_of(self.audio, self.part) if before is None else before


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

    def __init__(self, flow: Flow, parent: QObject) -> None:
        super().__init__(parent)
        self._screen = flow.screen(self)
        self._screen.changed.connect(self._show)
        self._guard = SpeakerComparison(flow.context.library)
        self._audio: TakeAudio | None = None
        self._review: Review | None = None
        self._speaker: SpeakerSimilarity | None = None
        self._picture: TakePicture | None = None
        self._wanted = False
        self._part: TrimRange | None = None
        self.versions: tuple[Version, ...] = ()

    def forget(self) -> None:
        """Clear: nothing is under review."""
        self._audio = self._review = self._speaker = self._picture = None
        self.versions = ()
        self._screen.clear()

    def start(self, audio: TakeAudio, review: Review) -> None:
        """Collect findings about a recording that was just read and checked."""
        self._audio, self._review, self._part = audio, review, None
        source = review.source
        version_of = source.name if source.origin is Origin.LIBRARY else source.metadata.retake_of
        self._screen.add(SpeakerRead(source.name, source.metadata.group_id, version_of, audio, self._guard))
        if version_of is not None:
            self._screen.add(VersionsRead(version_of))
        self._draw()

    def compare(self, review: Review) -> None:
        """Compare the recording with its versions, as its last check left it."""
        self._review = review
        self._show()

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

    def _draw(self) -> None:
        audio, review = self._audio, self._review
        if self._wanted and audio is not None and review is not None:
            part = self._part or TrimRange(0.0, audio.duration_s)
            self._screen.add(PictureRead(review.source.name, part, audio))

    @Slot()
    def _show(self) -> None:
        speaker, picture = self._screen.of(SpeakerRead).value, self._screen.of(PictureRead).value
        if speaker is not None and speaker != self._speaker:
            self._speaker = speaker
            self.warned.emit(translated(speaker.warning) if speaker.warning else "")
        if picture is not None and picture is not self._picture:
            self._picture = picture
            self.spectrogram_ready.emit(picture)
        items = self._screen.of(VersionsRead).value
        versions = () if items is None or self._review is None else versions_of(items, self._review)
        versions = versions if len(versions) > 1 else ()
        if versions != self.versions:
            self.versions = versions
            self.versions_changed.emit(versions)


def _picture_of(audio: TakeAudio, part: TrimRange) -> TakePicture:
    """Spectrogram and pitch of a part; a long part has no pitch, since it would take too long to measure."""
    rate = audio.sample_rate
    samples = audio.samples[round(part.start * rate) : round(part.end * rate)]
    pitch_s, pitch_hz = np.zeros(0), np.zeros(0)
    if part.end - part.start <= _LONGEST_PITCH_S:
        pitch_s, pitch_hz = pitch_track(samples, rate)
    shades = spectrogram(samples, rate, SPECTROGRAM_COLUMNS)
    return TakePicture(shades, part, min(HIGHEST_HZ, rate / 2), part.start + pitch_s, pitch_hz)
