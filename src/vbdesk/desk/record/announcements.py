"""Screen reader announcements while recording: state, limits and check result."""

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.capture.protocols import ProtocolTask
from vbdesk.desk.record.check_model import TakeReviewViewModel
from vbdesk.desk.record.check_text import Review
from vbdesk.desk.record.view_model import Moment, RecordPhase, RecordViewModel

SOON_S, VERY_SOON_S = 60.0, 10.0


class Announcements(QObject):
    """Announces events of both view models, each once.

    Signals:
        said: (str, bool) a sentence, and whether it may interrupt the screen reader.
    """

    said = Signal(str, bool)

    def __init__(self, model: RecordViewModel, review: TakeReviewViewModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._before = RecordPhase.READY
        self._marks = 0
        self._crossed: set[str] = set()
        model.phase_changed.connect(self._on_phase)
        model.task_changed.connect(self._on_task)
        model.moved.connect(self._on_moment)
        review.checked.connect(self._on_checked)
        review.findings.warned.connect(self._on_warned)

    @Slot(object)
    def _on_phase(self, phase: RecordPhase) -> None:
        before, self._before = self._before, phase
        if phase is RecordPhase.COUNTING_IN:
            self._crossed, self._marks = set(), 0
            self.said.emit("Get ready. The recording begins after the countdown.", True)
        elif phase is RecordPhase.RECORDING:
            self.said.emit("Recording goes on." if before is RecordPhase.PAUSED else "Recording.", True)
        elif phase is RecordPhase.PAUSED:
            self.said.emit("Paused.", True)
        elif phase is RecordPhase.ENDING:
            self.said.emit("Stopped. Checking the recording.", True)
        elif phase is RecordPhase.READY and before is RecordPhase.COUNTING_IN:
            self.said.emit("Called off. Nothing was recorded.", True)

    @Slot(object)
    def _on_task(self, task: ProtocolTask) -> None:
        self._crossed.discard("speech")
        self.said.emit(f"Task: {task.title}.", False)

    @Slot(object)
    def _on_moment(self, moment: Moment) -> None:
        left_s = self._model.maximum_s - moment.seconds
        minimum = f"{self._model.minimum_s:.0f} seconds"
        self._once("minimum", moment.seconds >= self._model.minimum_s, f"{minimum}: long enough to be analysed.")
        self._once("speech", self._model.task.progress(moment.speech) >= 1.0, "Enough speech.")
        self._once("soon", left_s <= SOON_S, "One minute left, then the recording stops automatically.")
        self._once("very soon", left_s <= VERY_SOON_S, "Ten seconds left.")
        if len(moment.marks_s) > self._marks:
            self._marks = len(moment.marks_s)
            self.said.emit(f"Marker {self._marks}.", False)

    @Slot(object)
    def _on_checked(self, review: Review) -> None:
        self.said.emit(f"{review.title}. {review.sentence}", True)

    @Slot(str)
    def _on_warned(self, warning: str) -> None:
        if warning:
            self.said.emit(warning, False)

    def _once(self, what: str, crossed: bool, sentence: str) -> None:
        if crossed and what not in self._crossed:
            self._crossed.add(what)
            self.said.emit(sentence, False)
