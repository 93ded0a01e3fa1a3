"""What the Compare page reads and shows: two recordings, results, sound and spectrograms."""

import threading
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.capture.spectrogram import shades_of, spectrogram_db
from vbdesk.desk.compare.comparison import ComparisonReading, compare, side_of
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.reads import Asked, AskedRead, Read
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.desk.playback import Playback, envelope_of
from vbdesk.desk.results.result_source import Found, ResultSource
from vbdesk.desk.results.result_state import NoSuchResult
from vbdesk.desk.results.same_subject import SameSubjectRecording, same_subject_recordings, with_itself
from vbdesk.desk.ui.routes import ComparisonRoute, RecordingRoute
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.library import UnknownTake
from vbdesk.outbox.library.subject_names import ShownSubject

_COLUMNS = 700
_one_sound = threading.Lock()  # two long sounds at once would slow the window

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
    def facts(self) -> "HeardFacts":
        """What it says about the recording."""
        device = self.audio.about.get("device")
        return HeardFacts(str(device) if device else None, self.audio.duration_s)


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


@dataclass(frozen=True)
class LeftSound(Read[Sound]):
    """The sound of the left recording; None if it was erased."""

    take_id: str
    cached = False
    topics = frozenset()

    def here(self, context: DeskContext, before: object, task: TaskContext) -> Sound | None:  # noqa: D102
        with _one_sound:
            task.check()
            try:
                audio = context.library.audio(self.take_id)
            except UnknownTake:
                return None
            level_db = spectrogram_db(audio.samples, audio.sample_rate, _COLUMNS)
            return Sound(audio, envelope_of(audio.samples), level_db)

    def shows_same(self, value: Sound, other: Sound) -> bool:  # noqa: D102
        return True  # the sound of a recording never changes


class RightSound(LeftSound):
    """The sound of the right recording; None if it was erased."""


_SOUNDS = (LeftSound, RightSound)


class HeardFacts(NamedTuple):
    """What the sound of a recording says about it."""

    microphone: str | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class PairData:
    """Two recordings.

    Attributes:
        reading: their comparison; None while nothing is known of one.
        same_subject: recordings that can be chosen instead.
        take_ids: of those whose sound is here.
    """

    reading: ComparisonReading | None
    same_subject: SameSubjects
    take_ids: tuple[str | None, str | None]


@dataclass(frozen=True)
class PairRead(AskedRead[PairData]):
    """Two recordings, first from this computer, then from the service; `sound_facts` of the sounds that were read."""

    comparison: ComparisonRoute
    sound_facts: tuple[HeardFacts, HeardFacts] = (HeardFacts(), HeardFacts())
    cached = False
    topics = frozenset({Changed.LIBRARY, Changed.TRAJECTORIES})

    def here(self, context: DeskContext, before: object, task: TaskContext) -> PairData:  # noqa: D102
        library, found = context.library, self._found(context)
        known = {
            group_id: same_subject_recordings(library, context.results, group_id) if group_id else ()
            for group_id in {one.group_id for one in found}
        }
        left, right = (with_itself(known[one.group_id], one.recording, one.item) for one in found)
        sides = []
        for one, sound_facts in zip(found, self.sound_facts, strict=True):
            shown = library.subject_notes.shown(one.group_id).text
            try:
                side = side_of(one, *sound_facts)
            except NoSuchResult:
                break
            sides.append(replace(side, subject=shown))
        reading = compare(*sides) if len(sides) == len(found) else None
        return PairData(reading, (left, right), (found[0].take_id, found[1].take_id))

    def ask(self, context: DeskContext, task: TaskContext) -> Asked:  # noqa: D102
        wanted = [one for one in self._found(context) if one.asked_of_service]
        for one in wanted:
            ResultSource(context.library, context.results).ask(one)
        return Asked(stored=bool(wanted))

    def _found(self, context: DeskContext) -> tuple[Found, Found]:
        source = ResultSource(context.library, context.results)
        return source.here(self.comparison.left), source.here(self.comparison.right)


class PairPlayback(QObject):
    """Two playbacks, left and right, one at a time; switching keeps the position.

    Attributes:
        sides: the two playbacks, with their own signals.
    """

    def __init__(self, left: Playback, right: Playback) -> None:
        super().__init__()
        self.sides, self._at = (left, right), 0
        for side in self.sides:
            side.setParent(self)

    def toggle(self, side: int) -> None:
        """Play one from the other's position, or pause it."""
        other = self.sides[1 - side]
        if other.playing:
            other.toggle()
        if side != self._at and not self.sides[side].playing:
            self.seek(side, other.position_s)
        self.sides[side].toggle()

    def seek(self, side: int, seconds: float) -> None:
        """Seek in one."""
        self._at = side
        self.sides[side].seek(min(seconds, self.sides[side].seconds))

    @Slot()
    def change_over(self) -> None:
        """Switch to the same position of the other, and continue playing."""
        side, other = self._at, 1 - self._at
        if not self.sides[other].seconds:
            return
        if self.sides[side].playing:
            self.toggle(other)
        else:
            self.seek(other, self.sides[side].position_s)

    @Slot()
    def toggle_current(self) -> None:
        """Play or pause the current one."""
        self.toggle(self._at)

    @property
    def current(self) -> int:
        """The one that was played or sought last."""
        return self._at

    def close(self) -> None:
        """Stop both."""
        self._at = 0
        for side in self.sides:
            side.close()


class CompareViewModel(QObject):
    """Compares two recordings.

    Attributes:
        reading: the comparison that is shown.
        same_subject: recordings that can be chosen.

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

    def __init__(self, flow: Flow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._library, self._navigator = flow.context.library, flow.navigator
        left, right = (Playback(flow.tasks, flow.ports.player) for _side in range(2))
        self.playback = PairPlayback(left, right)
        self.playback.setParent(self)
        self._screen = flow.screen(self)
        self._screen.changed.connect(self._show)
        self.reading: ComparisonReading | None = None
        self.same_subject: SameSubjects = ((), ())
        self._sounds: tuple[Sound | None, ...] = (None, None)
        self._fault = ""

    @property
    def comparison(self) -> ComparisonRoute | None:
        """What is compared."""
        read = self._screen.read(PairRead)
        return None if read is None else read.comparison

    def subject(self, group_id: str) -> ShownSubject:
        """How a subject is shown."""
        return self._library.subject_notes.shown(group_id)

    def open(self, comparison: ComparisonRoute) -> None:
        """Show another pair."""
        self.leave()
        self.reading, self.same_subject, self._sounds, self._fault = None, ((), ()), (None, None), ""
        self._screen.show(PairRead(comparison))

    @Slot()
    def reload(self) -> None:
        """Read both again, and the sounds that could not be read."""
        for kind in _SOUNDS:
            if self._screen.of(kind).unreadable is not None:
                self._screen.ask(kind)
        self._screen.ask(PairRead)

    def leave(self) -> None:
        """The page is hidden."""
        self._screen.clear()
        self.playback.close()

    @Slot()
    def swap(self) -> None:
        """Exchange left and right."""
        if self.comparison is not None:
            self.open(ComparisonRoute(self.comparison.right, self.comparison.left))

    def choose(self, side: int, recording: RecordingRoute) -> None:
        """Put another recording on one side."""
        if self.comparison is not None:
            before = self.comparison
            self.open(replace(before, right=recording) if side else replace(before, left=recording))

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

    def _take_sounds(self) -> None:
        """Load what was read, and show the sounds on common scales."""
        before, self._sounds = self._sounds, tuple(self._screen.of(kind).value for kind in _SOUNDS)
        here = [sound for sound in self._sounds if sound is not None]
        if not here or all(one is other for one, other in zip(before, self._sounds, strict=True)):
            return
        across_s = max(sound.audio.duration_s for sound in here)
        loudest_db = max((float(sound.level_db.max()) for sound in here if sound.level_db.size), default=0.0)
        for side, (kind, sound) in enumerate(zip(_SOUNDS, self._sounds, strict=True)):
            read = self._screen.read(kind)
            if sound is None or read is None:
                continue
            if sound is not before[side]:
                note = partial(self._library.note, AuditAction.LISTENED, read.take_id)
                self.playback.sides[side].load(partial(_audio_of, sound), note)
            shades = shades_of(sound.level_db, loudest_db)
            self.pictured.emit(side, SoundPicture(sound.envelope, shades, sound.audio.duration_s, across_s))

    @Slot()
    def _show(self) -> None:
        read, snapshot = self._screen.read(PairRead), self._screen.of(PairRead)
        if read is None:
            return
        sounds = [self._screen.of(kind) for kind in _SOUNDS]
        faults = (snapshot.failure, snapshot.unreadable, *(sound.unreadable for sound in sounds))
        before, self._fault = self._fault, next((fault.sentence for fault in faults if fault is not None), "")
        self._take_sounds()
        data = snapshot.value
        if data is not None:
            if data.same_subject != self.same_subject:
                self.same_subject = data.same_subject
                self.same_subject_changed.emit(data.same_subject)
            if data.reading is not None and data.reading != self.reading:
                self.reading = data.reading
                self.shown.emit(data.reading)
        if self._fault and self._fault != before:
            self.failed.emit(self._fault)
        sound_facts = tuple(HeardFacts() if sound.value is None else sound.value.facts for sound in sounds)
        if sound_facts != read.sound_facts:
            self._screen.add(PairRead(read.comparison, (sound_facts[0], sound_facts[1])))
            return
        for kind, take_id in zip(_SOUNDS, (None, None) if data is None else data.take_ids, strict=True):
            if take_id is not None and self._screen.read(kind) is None:
                self._screen.add(kind(take_id))


def _audio_of(sound: Sound) -> TakeAudio:
    return sound.audio
