"""The Record page: ready, recording, check; binds the view models and holds no rule."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeyEvent
from PySide6.QtWidgets import QFileDialog, QStackedWidget, QVBoxLayout, QWidget

from vbdesk.capture.recorder import EndReason, Take
from vbdesk.capture.rescue import RescuedTake
from vbdesk.desk.pages.record_check import CheckView
from vbdesk.desk.pages.record_live import LiveView
from vbdesk.desk.pages.record_ready import ReadyView
from vbdesk.desk.places import ReviewTake
from vbdesk.desk.tasks import Stoppable
from vbdesk.desk.viewmodels.record import Phase, RecordViewModel
from vbdesk.desk.viewmodels.record_setup import RecordSetupViewModel
from vbdesk.desk.viewmodels.take_review import Origin, Source, TakeReviewViewModel
from vbdesk.desk.widgets.banner import Banner, Tone
from vbdesk.desk.widgets.waveform import clock_words
from vbdesk.desk.workspace import Workspace

_AUDIO_FILES = "Recordings (*.wav *.flac *.mp3 *.m4a *.mp4)"
_GOOD_NEWS_MS = 8000
_SUFFIXES = {".wav", ".flac", ".mp3", ".m4a", ".mp4"}


def build_record_page(workspace: Workspace) -> QWidget:
    """The Record page of a workspace."""
    return RecordPage(RecordViewModel(workspace, RecordSetupViewModel(workspace)), TakeReviewViewModel(workspace))


class RecordPage(QWidget):
    """One page with three faces."""

    def __init__(self, model: RecordViewModel, review: TakeReviewViewModel) -> None:
        super().__init__()
        self.setObjectName("page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName("Record")
        self.setAcceptDrops(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setProperty("noRing", True)
        self.model, self.review = model, review
        for part in (model.setup, model, review):
            part.setParent(self)
        self.banner = Banner()
        self.ready, self.live, self.check = ReadyView(model), LiveView(model), CheckView(review)
        self._rescued: list[RescuedTake] = []
        self._retaken: Source | None = None
        self._fade = QTimer(self)
        self._fade.setSingleShot(True)
        self._fade.setInterval(_GOOD_NEWS_MS)
        self._fade.timeout.connect(self.banner.clear)
        self._faces = QStackedWidget()
        for face in (self.ready, self.live, self.check):
            self._faces.addWidget(face)
        column = QVBoxLayout(self)
        column.setContentsMargins(36, 28, 36, 24)
        column.setSpacing(16)
        column.addWidget(self.banner)
        column.addWidget(self._faces, 1)
        self._bind()

    def opened(self, argument: object) -> None:
        """The page is in front, perhaps for a subject or for a recording whose check is wanted again."""
        self.model.show()
        if self.model.phase is Phase.READY:
            self.review.look_for_rescued()
        if isinstance(argument, str) and argument:
            self.model.setup.set_subject(argument)
        elif isinstance(argument, ReviewTake):
            self.review.review_library(argument.take_id)
        if self._faces.currentWidget() is self.ready:
            self.ready.setup.subject.setFocus(Qt.FocusReason.OtherFocusReason)

    def left(self) -> None:
        """The page is not in front any more."""
        self.model.hide()

    def closing(self) -> list[Stoppable]:
        """Stop and keep whatever is being recorded."""
        self.review.playback.close()
        return self.model.closing()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: D102
        if _dropped(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: D102
        self.import_files(_dropped(event))

    def import_files(self, paths: list[Path]) -> None:
        """Check files one after the other, for the subject that is filled in."""
        setup = self.model.setup
        if not paths:
            self.banner.say(Tone.WARN, "Only WAV, FLAC, MP3 and M4A files can be imported. Nothing was changed.")
        elif self.model.phase is not Phase.READY:
            self.banner.say(Tone.WARN, "Finish this recording first, then import files.")
        elif not setup.subject.usable:
            self.banner.say(Tone.WARN, "Enter the subject that the files belong to, then import them.")
        else:
            self.review.review_files(paths, setup.metadata(self.model.now()))

    def _bind(self) -> None:
        model, review = self.model, self.review
        model.phase_changed.connect(self._show_phase)
        model.took.connect(self._on_take)
        model.failed.connect(self._show_failure)
        model.setup.device_noticed.connect(self._show_failure)
        model.hinted.connect(self._show_hint)
        model.health_noticed.connect(self._show_health)
        review.started.connect(self._on_review_started)
        review.finished.connect(self._on_review_finished)
        review.sent.connect(self._on_sent)
        review.kept.connect(self._on_kept)
        review.retaken.connect(self._on_retaken)
        review.failed.connect(self._show_failure)
        review.playback.failed.connect(self._show_failure)
        review.rescued.connect(self._on_rescued)
        self.ready.import_files.clicked.connect(self._choose_files)
        self.banner.acted.connect(self._on_banner)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys that no control has taken: a text field keeps its letters, a button its Space."""
        act = self._act_of(event.key())
        if act is None or event.isAutoRepeat():
            super().keyPressEvent(event)
        else:
            act()

    def _act_of(self, key: int) -> Callable[[], None] | None:
        face = self._faces.currentWidget()
        if face is self.check:
            good = self.review.review is not None and self.review.review.good
            enter = self.review.send if good else None
            acts = {Qt.Key.Key_R: self.review.retake, Qt.Key.Key_Space: self.review.playback.toggle}
            return enter if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) else acts.get(Qt.Key(key))
        acts = {Qt.Key.Key_Space: self.model.press}
        if face is self.live:
            acts |= {Qt.Key.Key_P: self.model.pause, Qt.Key.Key_M: self.model.mark, Qt.Key.Key_N: self.model.next_task}
            acts[Qt.Key.Key_Escape] = self.model.cancel_count_in
        return acts.get(Qt.Key(key))

    def _show_face(self, face: QWidget) -> None:
        self._faces.setCurrentWidget(face)
        (self.ready.setup.subject if face is self.ready else self).setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot(object)
    def _show_phase(self, phase: Phase) -> None:
        if phase in (Phase.COUNTING_IN, Phase.RECORDING):
            self.banner.clear()
        if phase is Phase.READY:
            self._show_face(self.ready)
        elif phase is Phase.ENDED:
            self._show_face(self.check)
        elif self._faces.currentWidget() is not self.live:
            self._show_face(self.live)

    @Slot(object)
    def _on_take(self, take: Take) -> None:
        if take.sentence is not None:
            tone = Tone.INFO if take.end is EndReason.LIMIT else Tone.WARN
            self._say(tone, take.sentence)
        elif take.missing_s:
            self._say(Tone.WARN, f"The computer missed {take.missing_s:.1f} s of sound; the rest of the take is kept.")
        self.review.review_take(take, self.model.setup.metadata(take.recorded_at))

    @Slot(object)
    def _on_review_started(self, source: Source) -> None:
        self.model.show_review()

    @Slot()
    def _on_review_finished(self) -> None:
        self.model.ready_again()
        self.review.look_for_rescued()

    @Slot(object)
    def _on_sent(self, source: Source) -> None:
        self._say(Tone.OK, f"{source.metadata.group_id} is on its way. The next subject can begin.")
        self._after(source)

    @Slot(object)
    def _on_kept(self, source: Source) -> None:
        self._say(Tone.INFO, f"The recording of {source.metadata.group_id} is kept here and was not sent.")
        self._after(source)

    def _after(self, source: Source) -> None:
        if source.origin is Origin.TAKE and source.metadata.group_id == self.model.setup.subject.group_id:
            self.model.setup.next_subject()

    @Slot(object)
    def _on_retaken(self, source: Source) -> None:
        self._retaken = source
        self.model.setup.set_subject(source.metadata.group_id)
        if source.origin is Origin.TAKE:
            self._say(Tone.INFO, "The last take was set aside.", "Undo retake")

    @Slot(str)
    def _show_failure(self, sentence: str) -> None:
        self._say(Tone.WARN, sentence)

    @Slot(str)
    def _show_health(self, sentence: str) -> None:
        if sentence:
            self._say(Tone.WARN, sentence)
        else:
            self.banner.clear()

    @Slot(str)
    def _show_hint(self, sentence: str) -> None:
        if sentence:
            self._say(Tone.INFO, sentence)

    @Slot(object)
    def _on_rescued(self, takes: list[RescuedTake]) -> None:
        self._rescued = takes
        if not takes or self._faces.currentWidget() is not self.ready:
            return
        take = takes[0]
        subject = take.about.get("group_id", "")
        more = "" if len(takes) == 1 else f" {len(takes) - 1} more wait behind it."
        sentence = f"A recording of {subject} was not decided about: {clock_words(take.duration_s)} are kept.{more}"
        self._say(Tone.INFO, sentence, "Review it")

    @Slot()
    def _on_banner(self) -> None:
        words = self.banner.button.text()
        self.banner.clear()
        if words == "Review it" and self._rescued:
            self.review.review_rescued(self._rescued[0])
        elif words == "Undo retake" and self._retaken is not None:
            self.review.undo_retake(self._retaken.metadata)

    @Slot()
    def _choose_files(self) -> None:
        names, _ = QFileDialog.getOpenFileNames(self, "Import recordings", "", _AUDIO_FILES)
        if names:
            self.import_files([Path(name) for name in names])

    def _say(self, tone: Tone, sentence: str, action: str = "") -> None:
        self.banner.say(tone, sentence, action=action)
        if tone is Tone.OK:
            self._fade.start()
        else:
            self._fade.stop()


def _dropped(event: QDropEvent) -> list[Path]:
    """Recordings among what is dropped."""
    paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
    return [path for path in paths if path.suffix.lower() in _SUFFIXES]
