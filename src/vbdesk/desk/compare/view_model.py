"""State of the Compare page: two recordings, results, sound and spectrograms."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.capture.playback import Player
from vbdesk.capture.spectrogram import shades_of, spectrogram_db
from vbdesk.desk.compare.comparison import ComparisonReading, Side, compare, side_of
from vbdesk.desk.compare.pair_playback import PairPlayback
from vbdesk.desk.flow.navigation import Navigator
from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.flow.tasks import Failure, Lane, TaskContext, TaskOwner
from vbdesk.desk.models.playback import envelope_of
from vbdesk.desk.models.result_source import Found, ResultSource
from vbdesk.desk.models.same_subject import SameSubjectRecording, same_subject_recordings, with_itself
from vbdesk.desk.ui.routes import ComparisonRoute, RecordingRoute
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.subject_names import ShownSubject
from vbdesk.outbox.results.repository import ResultRepository

_COLUMNS = 700

SameSubjects = tuple[tuple[SameSubjectRecording, ...], tuple[SameSubjectRecording, ...]]
"""The recordings of the left subject and of the right one, newest first; usually the same."""


@dataclass(frozen=True, slots=True)
class Sound:
    """The sound of one side, read from the disk.

    Attributes:
        level_db: its spectrogram, shape (columns, bands).
    """

    audio: TakeAudio
    envelope: NDArray[np.float32]
    level_db: NDArray[np.float64]

    @property
    def microphone(self) -> str | None:
        """The microphone, if known."""
        device = self.audio.about.get("device")
        return str(device) if device else None


@dataclass(frozen=True, slots=True)
class SoundPicture:
    """Waveform and spectrogram of one side; both sides share the scales.

    Attributes:
        envelope: shape (n, 2), -1..1.
        shades: spectrogram, shape (columns, bands), 255 the loudest of both sides.
        across_s: duration of the whole width: the longer of the two.
    """

    envelope: NDArray[np.float32]
    shades: NDArray[np.uint8]
    seconds: float
    across_s: float


class CompareViewModel(QObject):
    """Reads and compares two recordings.

    Signals:
        shown: (ComparisonReading) the content changed.
        pictured: (int, SoundPicture) the sound of one side, 0 left and 1 right.
        same_subject_changed: (SameSubjects) recordings that can be chosen.
        failed: (str) why no newer content can be shown.
    """

    shown = Signal(object)
    pictured = Signal(int, object)
    same_subject_changed = Signal(object)
    failed = Signal(str)

    def __init__(
        self,
        library: Library,
        results: ResultRepository,
        sync: SyncState,
        tasks: TaskOwner,
        navigator: Navigator,
        player: Callable[[], Player],
    ) -> None:
        super().__init__()
        sync.library_changed.connect(self._on_changed)
        sync.results_changed.connect(self._on_changed)
        self._library, self._results, self._tasks, self._navigator = library, results, tasks, navigator
        self._source = ResultSource(library, results)
        self._disk = Lane(tasks, self)  # two long sounds at once would slow the window
        self._words = Lane(tasks, self)  # do not show an older state after a newer one
        self.playback = PairPlayback(tasks, player, self)
        self.comparison: ComparisonRoute | None = None
        self.reading: ComparisonReading | None = None
        self.same_subject: SameSubjects = ((), ())
        self._found: tuple[Found, Found] | None = None
        self._sounds: list[Sound | None] = [None, None]

    def subject(self, group_id: str) -> ShownSubject:
        """How a subject is shown."""
        return self._library.subject_notes.shown(group_id)

    def open(self, comparison: ComparisonRoute) -> None:
        """Show another pair."""
        self.leave()
        self.comparison = comparison
        self.reading = self._found = None
        self._sounds = [None, None]
        self.reload()

    @Slot()
    def reload(self) -> None:
        """Read both again: first from this computer, then from the service."""
        comparison = self.comparison
        if comparison is None:
            return

        def work(context: TaskContext) -> tuple[ComparisonRoute, tuple[Found, Found], SameSubjects]:
            found = (self._source.here(comparison.left), self._source.here(comparison.right))
            known = {group_id: self._of_subject(group_id) for group_id in {one.group_id for one in found}}
            left, right = (with_itself(known[one.group_id], one.recording, one.item) for one in found)
            return comparison, found, (left, right)

        self._tasks.start(work, self._on_here, self._on_failed, name="compare")

    def _of_subject(self, group_id: str) -> tuple[SameSubjectRecording, ...]:
        return same_subject_recordings(self._library, self._results, group_id) if group_id else ()

    def leave(self) -> None:
        """The page is hidden."""
        self.comparison = None
        self.playback.close()

    @Slot()
    def _on_changed(self) -> None:
        """A recording was corrected, erased, or has a result: read both again; sounds stay."""
        if self.comparison is not None and self._found is not None:
            self.reload()

    @Slot()
    def swap(self) -> None:
        """Exchange left and right."""
        if self.comparison is not None:
            self.open(ComparisonRoute(self.comparison.right, self.comparison.left))

    def choose(self, side: int, recording: RecordingRoute) -> None:
        """Put another recording on one side."""
        if self.comparison is not None:
            kept = self.comparison
            self.open(replace(kept, right=recording) if side else replace(kept, left=recording))

    def open_result(self, side: int) -> None:
        """Go to the result of one side."""
        if self.comparison is not None:
            recording = self.comparison.right if side else self.comparison.left
            self._navigator.open("result", recording)

    @Slot()
    def open_subject(self) -> None:
        """Go to the subject."""
        if self.reading is not None:
            self._navigator.open("subject", self.reading.right.view.group_id)

    @Slot()
    def open_subjects(self) -> None:
        """Go to the list of subjects."""
        self._navigator.open("subjects")

    def _show(self) -> None:
        found, comparison = self._found, self.comparison
        if found is None or comparison is None:
            return
        sounds = tuple(self._sounds)

        def work(context: TaskContext) -> tuple[ComparisonRoute, ComparisonReading]:
            left, right = (
                replace(_side(one, sound), subject=self.subject(one.group_id).words)
                for one, sound in zip(found, sounds, strict=True)
            )
            return comparison, compare(left, right)

        self._words.run(work, self._on_compared, self._on_failed, name="compare-words")

    def _load_sound(self, side: int, take_id: str) -> None:
        comparison, library = self.comparison, self._library

        def work(context: TaskContext) -> tuple[ComparisonRoute | None, int, str, Sound]:
            audio = library.audio(take_id)
            level_db = spectrogram_db(audio.samples, audio.sample_rate, _COLUMNS)
            return comparison, side, take_id, Sound(audio, envelope_of(audio.samples), level_db)

        self._disk.run(work, self._on_sound, self._on_failed, name="compare-sound")

    def _picture(self) -> None:
        """Show the local sounds on common scales."""
        here = [sound for sound in self._sounds if sound is not None]
        across_s = max(sound.audio.duration_s for sound in here)
        loudest_db = max((float(sound.level_db.max()) for sound in here if sound.level_db.size), default=0.0)
        for side, sound in enumerate(self._sounds):
            if sound is not None:
                shades = shades_of(sound.level_db, loudest_db)
                picture = SoundPicture(sound.envelope, shades, sound.audio.duration_s, across_s)
                self.pictured.emit(side, picture)

    @Slot(object)
    def _on_here(self, read: tuple[ComparisonRoute, tuple[Found, Found], SameSubjects]) -> None:
        comparison, found, same_subject = read
        if comparison != self.comparison:
            return
        self._found, self.same_subject = found, same_subject
        self.same_subject_changed.emit(same_subject)
        self._show()
        for side, one in enumerate(found):
            if one.take_id is not None and self._sounds[side] is None:
                self._load_sound(side, one.take_id)
        if not any(one.asked_of_service for one in found):
            return

        def ask(context: TaskContext) -> tuple[ComparisonRoute, tuple[Found, Found]]:
            left, right = (self._source.ask(one) if one.asked_of_service else one for one in found)
            return comparison, (left, right)

        self._tasks.start(ask, self._on_asked, self._on_failed, name="compare-service")

    @Slot(object)
    def _on_asked(self, read: tuple[ComparisonRoute, tuple[Found, Found]]) -> None:
        comparison, found = read
        if comparison == self.comparison:
            self._found = found
            self._show()

    @Slot(object)
    def _on_compared(self, read: tuple[ComparisonRoute, ComparisonReading]) -> None:
        comparison, reading = read
        if comparison == self.comparison and reading != self.reading:
            self.reading = reading
            self.shown.emit(reading)

    @Slot(object)
    def _on_sound(self, read: tuple[ComparisonRoute | None, int, str, Sound]) -> None:
        comparison, side, take_id, sound = read
        if comparison != self.comparison or self._sounds[side] is not None:  # a change asked for it again meanwhile
            return
        library = self._library
        self._sounds[side] = sound
        self.playback.sides[side].load(lambda: sound.audio, lambda: library.note(AuditAction.LISTENED, take_id))
        self._picture()
        self._show()

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(failure.sentence)


def _side(found: Found, sound: Sound | None) -> Side:
    if sound is None:
        return side_of(found, None, None)
    return side_of(found, sound.microphone, sound.audio.duration_s)
