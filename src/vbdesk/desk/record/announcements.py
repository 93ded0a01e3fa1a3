"""Screen reader announcements while recording: state, limits and check result."""

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.capture.protocols import ProtocolTask
from vbdesk.desk.record.check_model import TakeReviewViewModel
from vbdesk.desk.record.check_text import Review
from vbdesk.desk.record.view_model import Moment, RecordPhase, RecordViewModel
from vbdesk.language import _

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
            self.said.emit(_("Get ready. The recording begins after the countdown."), True)
        elif phase is RecordPhase.RECORDING:
            self.said.emit(_("Recording goes on.") if before is RecordPhase.PAUSED else _("Recording."), True)
        elif phase is RecordPhase.PAUSED:
            self.said.emit(_("Paused."), True)
        elif phase is RecordPhase.ENDING:
            self.said.emit(_("Stopped. Checking the recording."), True)
        elif phase is RecordPhase.READY and before is RecordPhase.COUNTING_IN:
            self.said.emit(_("Called off. Nothing was recorded."), True)

    @Slot(object)
    def _on_task(self, task: ProtocolTask) -> None:
        self._crossed.discard("speech")
        self.said.emit(_("Task: {title}.", title=task.title), False)

    @Slot(object)
    def _on_moment(self, moment: Moment) -> None:
        left_s = self._model.maximum_s - moment.seconds
        if self._crosses("minimum", moment.seconds >= self._model.minimum_s):
            sentence = _("{seconds:.0f} seconds: long enough to be analysed.", seconds=self._model.minimum_s)
            self.said.emit(sentence, False)
        if self._crosses("speech", self._model.task.progress(moment.speech) >= 1.0):
            self.said.emit(_("Enough speech."), False)
        if self._crosses("soon", left_s <= SOON_S):
            self.said.emit(_("One minute left, then the recording stops automatically."), False)
        if self._crosses("very soon", left_s <= VERY_SOON_S):
            self.said.emit(_("Ten seconds left."), False)
        if len(moment.marks_s) > self._marks:
            self._marks = len(moment.marks_s)
            self.said.emit(_("Marker {number}.", number=self._marks), False)

    @Slot(object)
    def _on_checked(self, review: Review) -> None:
        self.said.emit(f"{review.title}. {review.sentence}", True)

    @Slot(str)
    def _on_warned(self, warning: str) -> None:
        if warning:
            self.said.emit(warning, False)

    def _crosses(self, what: str, crossed: bool) -> bool:
        """Whether a limit is crossed for the first time."""
        new = crossed and what not in self._crossed
        if new:
            self._crossed.add(what)
        return new
