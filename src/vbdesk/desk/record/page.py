"""The Record page: ready, recording, check, import; binds widgets to view models."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QFileDialog, QStackedWidget, QVBoxLayout, QWidget

from vbdesk.capture.crash_recovery import RescuedTake
from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.capture.recorder import EndReason, Take
from vbdesk.contract.audio_formats import AUDIO_SUFFIXES
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.sync_state import NextStep
from vbdesk.desk.flow.tasks import Stoppable
from vbdesk.desk.record.announcements import Announcements
from vbdesk.desk.record.check_model import TakeReviewViewModel
from vbdesk.desk.record.check_text import CheckSource, Origin
from vbdesk.desk.record.check_view import CheckView
from vbdesk.desk.record.damaged_view import DamagedView
from vbdesk.desk.record.import_model import ImportViewModel
from vbdesk.desk.record.import_view import ImportView
from vbdesk.desk.record.live_view import LiveView
from vbdesk.desk.record.ready_view import ReadyView
from vbdesk.desk.record.speaker_window import SpeakerWindow
from vbdesk.desk.record.view_model import COUNT_IN_S, RecordPhase, RecordViewModel, RunningRecording
from vbdesk.desk.ui.accessibility import announce
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.notice import NoticeAction, Tone
from vbdesk.desk.ui.routes import FilesRoute, ReviewRoute
from vbdesk.desk.ui.shortcuts import key_of
from vbdesk.desk.ui.time_text import clock_text
from vbdesk.language import _, ngettext, pgettext, translated
from vbdesk.outbox.imports.take_check import TakeCheck
from vbdesk.outbox.library.items import TakeMetadata

_FILES = " ".join(f"*{suffix}" for suffix in (*AUDIO_SUFFIXES, ".csv"))
_SUCCESS_SHOWN_MS = 8000
_RECOVERY = "recovery"  # topic of a message
_UNDER_WAY = (RecordPhase.COUNTING_IN, RecordPhase.RECORDING, RecordPhase.PAUSED)
LEAST_REPORTED_S = 0.05  # for lost sound


class RecordPage(QWidget):
    """The Record page, with a view for each phase.

    Signals:
        recording_changed: (bool) whether a recording is under way.
        running_changed: `running` gives another value than before.
    """

    recording_changed = Signal(bool)
    running_changed = Signal()

    def __init__(
        self,
        flow: Flow,
        parent: QWidget | None = None,
        count_in_s: int = COUNT_IN_S,
        check: Callable[[TakeAudio], TakeCheck] | None = None,
    ) -> None:
        """Make it; `check` None means the full check of a take."""
        super().__init__(parent)
        self.setObjectName("page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(pgettext("page", "Record"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setProperty("noRing", True)
        self.model = model = RecordViewModel(flow, count_in_s)
        self.review = review = TakeReviewViewModel(flow, check)
        self.imports = imports = ImportViewModel(flow)
        self.announcements = Announcements(model, review)
        for part in (model.setup, model, review, imports, self.announcements):
            part.setParent(self)
        self.banner = Banner()
        self.undo = Banner()  # of its own, so that no other message takes it away
        self.ready, self.live, self.check = ReadyView(model), LiveView(model), CheckView(review)
        self.importing, self.damaged = ImportView(imports), DamagedView(review.damaged)
        self.speaker = SpeakerWindow(model, self)
        self.pedal = QShortcut(self)
        self._notice = ""
        self._fade = QTimer(self)
        self._fade.setSingleShot(True)
        self._fade.setInterval(_SUCCESS_SHOWN_MS)
        self._fade.timeout.connect(self.banner.clear)
        self._views = QStackedWidget()
        column = QVBoxLayout(self)
        column.setContentsMargins(36, 28, 36, 24)
        column.setSpacing(16)
        column.addWidget(self._views, 1)  # before the views: Qt restyles all children of a moved widget
        for view in (self.ready, self.live, self.check, self.importing, self.damaged):
            view.setMinimumWidth(1)  # each view adapts to the available width, so none may request one
            self._views.addWidget(view)
        self.banner.float_over(self)
        self.undo.float_over(self)
        self._bind()

    def opened(self, argument: object) -> None:
        """Show the page, optionally for a subject or for the check of a recording."""
        self.model.show()
        self.imports.refresh()
        if self.model.phase is RecordPhase.READY:
            self.review.find_rescued()
        if isinstance(argument, FilesRoute):
            self.import_files(list(argument.paths))
        elif argument and self.model.phase not in (RecordPhase.READY, RecordPhase.ENDED):
            self._say(Tone.WARN, _("Finish this recording first."))
        elif isinstance(argument, str) and argument:
            self.model.setup.set_subject(argument)
        elif isinstance(argument, ReviewRoute):
            self.review.review_library(argument.take_id)
        if self._views.currentWidget() is self.ready:
            self.ready.enter_subject()

    def closed(self) -> None:
        """Another page is shown."""
        self.model.hide()
        if self.model.phase is RecordPhase.READY:
            self.speaker.close()

    def is_recording(self) -> bool:
        """Whether a recording is under way."""
        return self.model.phase in _UNDER_WAY

    def running(self) -> RunningRecording | None:
        """The recording that runs; None if none does."""
        return self.model.running()

    def end_recording(self) -> None:
        """End the recording, or call its countdown off."""
        self.model.cancel_count_in()
        self.model.stop()

    def unfinished(self) -> bool:
        """Whether a recording, its check or an import is open."""
        return self._views.currentWidget() is not self.ready

    def closing(self) -> list[Stoppable]:
        """Stop a running recording and keep it."""
        self.review.playback.close()
        self.speaker.close()
        return self.model.closing()

    def import_files(self, paths: list[Path]) -> None:
        """Import files, folders or a list: one recording of a known subject is checked, others get a table first."""
        setup = self.model.setup
        if self._views.currentWidget() is self.importing:
            self._say(Tone.WARN, _("Finish or cancel this import first, then import other files."))
        elif self.model.phase is not RecordPhase.READY:
            self._say(Tone.WARN, _("Finish this recording first, then import files."))
        elif setup.subject.usable and setup.consent.missing and not _is_list(paths):
            self._say(Tone.WARN, _("Tick the consent of the subject first, then import the files."))
        elif paths:
            common, signs = setup.metadata(self.model.now()), [sign.name for sign in setup.reading.signs]
            self.imports.read_files(paths, common, signs, setup.protocols, setup.typed, setup.entered())

    def _bind(self) -> None:
        model, review, imports = self.model, self.review, self.imports
        model.phase_changed.connect(self._show_phase)
        model.phase_changed.connect(self._tell_recording)
        model.phase_changed.connect(self.running_changed)
        model.moved.connect(self.running_changed)
        model.took.connect(self._on_take)
        model.failed.connect(self._show_failure)
        model.health_noticed.connect(self._show_health)
        model.setup.device_noticed.connect(self._on_device_noticed)
        model.setup.device_returned.connect(self._on_device_returned)
        model.setup.failed.connect(self._show_failure)
        model.setup.pedal_known.connect(self._use_pedal)
        model.hinted.connect(self._show_hint)
        review.started.connect(self._on_review_started)
        review.finished.connect(self._on_review_finished)
        review.sent.connect(self._on_sent)
        review.kept.connect(self._on_kept)
        review.retaken.connect(self._on_retaken)
        review.set_aside.connect(self._offer_version)
        review.undo_changed.connect(self._on_undo_changed)
        review.failed.connect(self._show_failure)
        review.playback.failed.connect(self._on_playback_failed)
        review.rescued.connect(self._on_rescued)
        review.sound_damaged.connect(self._on_sound_damaged)
        review.damaged.decided.connect(self._on_damaged_decided)
        review.damaged.failed.connect(self._show_failure)
        imports.begun.connect(self._on_import_begun)
        imports.single.connect(self._on_single)
        imports.imported.connect(self._on_imported)
        imports.consent_noted.connect(self._on_consent_noted)
        imports.failed.connect(self._show_failure)
        imports.left.connect(self._on_import_left)
        self.damaged.close_button.clicked.connect(self._close_damaged)
        self.announcements.said.connect(self._announce)
        self.ready.import_files.clicked.connect(self._choose_files)
        self.ready.speaker.clicked.connect(self.toggle_speaker)
        self.live.speaker.clicked.connect(self.toggle_speaker)
        self.speaker.shown.connect(self._on_speaker)
        self.speaker.pressed.connect(self._on_speaker_key)
        self.pedal.activated.connect(self._on_pedal)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Handle keys that no control has handled."""
        action = self._action_of(event.key())
        if action is None or event.isAutoRepeat():
            super().keyPressEvent(event)
        else:
            action()

    @Slot(object)
    def _tell_recording(self, phase: RecordPhase) -> None:
        self.recording_changed.emit(self.is_recording())

    @Slot(int)
    def _on_speaker_key(self, key: int) -> None:
        action = self._action_of(key)
        if action is not None:
            action()

    def _action_of(self, key: int) -> Callable[[], None] | None:
        view, keys = self._views.currentWidget(), Qt.Key
        if view is self.damaged:
            return self._close_damaged if key == keys.Key_Escape else None
        if view is self.importing:
            return self.imports.leave if key == keys.Key_Escape else None
        if view is self.check:
            good = self.review.review is not None and self.review.review.good
            enter = self.review.send if good else None
            actions: dict[Qt.Key, Callable[[], None]] = {
                key_of("retake"): self.review.retake,
                key_of("play"): self.review.playback.toggle,
                key_of("picture"): self.check.toggle_picture,
            }
            return enter if key in (keys.Key_Return, keys.Key_Enter) else actions.get(Qt.Key(key))
        actions = {key_of("record"): self.model.press, key_of("speaker"): self.toggle_speaker}
        if view is self.live:
            actions |= {key_of("pause"): self.model.pause, key_of("mark"): self.model.mark}
            actions[key_of("next-task")] = self.model.next_task
            actions[key_of("cancel")] = self.model.cancel_count_in
        return actions.get(Qt.Key(key))

    @Slot(str)
    def _use_pedal(self, key: str) -> None:
        self.pedal.setKey(QKeySequence(key))

    @Slot()
    def _on_pedal(self) -> None:
        """Start and end a take by the foot pedal, independent of the focus; play it in the check."""
        view = self._views.currentWidget()
        if view is self.check:
            self.review.playback.toggle()
        elif view not in (self.importing, self.damaged):
            self.model.press()

    @Slot()
    def toggle_speaker(self) -> None:
        """Show or hide the speaker's window."""
        if self.speaker.isVisible():
            self.speaker.close()
        else:
            self.speaker.open()

    @Slot(bool)
    def _on_speaker(self, shown: bool) -> None:
        for button in (self.ready.speaker, self.live.speaker):
            button.setText(_("Close window") if shown else _("Patient screen"))

    @Slot(str, bool)
    def _announce(self, sentence: str, urgent: bool) -> None:
        announce(self, sentence, urgent=urgent)

    def _show_view(self, view: QWidget) -> None:
        self._views.setCurrentWidget(view)
        if view is self.ready:
            self.ready.enter_subject()
        else:
            self.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot(object)
    def _show_phase(self, phase: RecordPhase) -> None:
        if phase in (RecordPhase.COUNTING_IN, RecordPhase.RECORDING):
            self.banner.clear()
        if phase is RecordPhase.READY:
            called_off = self._views.currentWidget() is self.live
            self._show_view(self.ready)
            if called_off:
                self._offer_version()
            self._tell_notice()
        elif phase is RecordPhase.ENDED:
            self._show_view(self.check)
        elif self._views.currentWidget() is not self.live:
            self._show_view(self.live)
        self._show_undo()

    @Slot(object)
    def _on_take(self, take: Take) -> None:
        self.banner.clear()
        if take.sentence is not None:
            self._say(Tone.INFO if take.end is EndReason.LIMIT else Tone.WARN, translated(take.sentence))
        self.review.review_take(take, self.model.metadata)

    @Slot(object)
    def _on_review_started(self, source: CheckSource) -> None:
        self.model.show_review()

    @Slot()
    def _on_review_finished(self) -> None:
        self.model.ready_again()
        self.review.find_rescued()

    @Slot(object)
    def _on_sent(self, source: CheckSource) -> None:
        others = self.review.left_over
        if others:
            one = _("Version {number} stays here, not sent.", number=others[0].number)
            stays = one if len(others) == 1 else _("The other versions stay here, not sent.")
            discard = _("Discard it") if len(others) == 1 else _("Discard them")
            undo = NoticeAction(discard, partial(self.review.discard_versions, others))
            self._say(Tone.OK, f"{self._sent_text(source)} {stays}", undo)
        else:
            self._say(Tone.OK, f"{self._sent_text(source)} {_('The next subject can begin.')}")
        self._after(source)

    def _sent_text(self, source: CheckSource) -> str:
        """What happens to a recording that was sent to the Outbox just now."""
        match self.model.setup.next_step:
            case NextStep.SENDING:
                subject = self.review.subject(source.metadata.group_id).text
                return _("The recording of {subject} is on its way.", subject=subject)
            case NextStep.SERVICE:
                return _("Saved here. It is sent when the service answers.")
            case NextStep.RESUME:
                return _("Saved here. Sending is paused: it is sent when you resume in the Outbox.")
            case NextStep.HAND:
                return _("Saved here. It is sent when you send it in the Outbox.")
        return _("Saved here. The Outbox says what is needed before it can be sent.")

    @Slot(object)
    def _on_kept(self, source: CheckSource) -> None:
        subject = self.review.subject(source.metadata.group_id).text
        self._say(Tone.INFO, _("The recording of {subject} is kept here and was not sent.", subject=subject))
        self._after(source)

    def _after(self, source: CheckSource) -> None:
        if source.origin is not Origin.FILE and source.metadata.group_id == self.model.setup.subject.group_id:
            self.model.setup.next_subject()

    @Slot(object)
    def _on_retaken(self, source: CheckSource) -> None:
        """Record again at once, or go to what is missing."""
        self.model.setup.set_subject(source.metadata.group_id)
        if self.model.setup.ready:
            self.model.begin()
        else:
            self._on_review_finished()
            self.ready.leave_subject()

    @Slot()
    def _offer_version(self) -> None:
        """Offer the version that a retake replaces, if the retake was called off or has not begun."""
        take_id = self.review.version_before(self.model.setup.subject.group_id)
        if take_id is not None and self.model.phase is RecordPhase.READY:
            sentence = _("This version is kept here. Record the next one.")
            self._say(Tone.INFO, sentence, NoticeAction(_("Back to it"), partial(self._back_to_version, take_id)))

    def _back_to_version(self, take_id: str) -> None:
        if self.model.phase is RecordPhase.READY:
            self.review.review_library(take_id)

    @Slot()
    def _on_undo_changed(self) -> None:
        self._show_undo()
        undo = self.review.undo()
        if undo is not None:
            announce(self, undo.sentence, urgent=False)

    def _show_undo(self) -> None:
        """Offer the undo of a discard whenever no recording is made or checked."""
        undo = self.review.undo()
        if undo is not None and self.model.phase is RecordPhase.READY:
            self.undo.show_notice(undo)
        else:
            self.undo.clear()

    @Slot(str)
    def _show_failure(self, sentence: str) -> None:
        self._say(Tone.WARN, sentence)

    @Slot(str)
    def _on_playback_failed(self, sentence: str) -> None:
        """Ignore it: the check reads the same sound and reports the error with a remedy."""
        if self.banner.topic != _RECOVERY:
            self._show_failure(sentence)

    @Slot(str)
    def _on_device_noticed(self, sentence: str) -> None:
        """Show a microphone change, after messages about the take."""
        if self.model.phase is RecordPhase.READY:
            self._show_failure(sentence)
        else:
            self._notice = sentence

    @Slot(str)
    def _on_device_returned(self, sentence: str) -> None:
        """Show good news, also instead of the news that the microphone was gone; nothing else is hidden by it."""
        self._notice = ""
        if self.model.phase is RecordPhase.READY and not self.banner.offered:
            self._say(Tone.OK, sentence)

    def _tell_notice(self) -> None:
        notice, self._notice = self._notice, ""
        if notice:
            self._say(Tone.WARN, f"{self.banner.text()} {notice}".strip(), *self.banner.offered)

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
        damaged = len(self.review.damaged.takes)
        if not damaged and self._views.currentWidget() is self.damaged:
            self._show_view(self.ready)
        if self._views.currentWidget() is not self.ready or self.banner.topic == _RECOVERY:
            return
        if takes:
            why = self.review.not_stored
            sentence = f"{why} {self._rescued_text(takes, damaged)}".strip()
            review = NoticeAction(_("Review it"), partial(self._review_rescued, takes[0]))
            self._say(Tone.WARN if why else Tone.INFO, sentence, review)
        elif damaged:
            sentence = ngettext(
                "{count} recording that was cut short is damaged. Decide what to do with its file.",
                "{count} recordings that were cut short are damaged. Decide what to do with their files.",
                damaged,
            )
            # Translators: a button that shows damaged recordings.
            self._say(Tone.WARN, sentence, NoticeAction(pgettext("verb", "Look"), self._open_damaged))

    def _rescued_text(self, takes: list[RescuedTake], damaged: int) -> str:
        group_id = takes[0].about.get("group_id", "")
        return _rescued_text(takes, self.review.subject(group_id).text if group_id else "", damaged)

    def _review_rescued(self, take: RescuedTake) -> None:
        if self.model.phase is RecordPhase.READY:
            self.review.review_rescued(take)

    def _open_damaged(self) -> None:
        if self.model.phase is RecordPhase.READY:
            self._show_view(self.damaged)

    @Slot()
    def _close_damaged(self) -> None:
        self._show_view(self.ready)
        self.review.find_rescued()

    @Slot(str)
    def _on_damaged_decided(self, sentence: str) -> None:
        self._say(Tone.OK, sentence)
        self.review.find_rescued()

    @Slot(str, str)
    def _on_sound_damaged(self, take_id: str, sentence: str) -> None:
        recover = NoticeAction(_("Recover what can be read"), partial(self.review.damaged.recover_sound, take_id))
        self._say(Tone.WARN, sentence, recover, topic=_RECOVERY)

    @Slot()
    def _on_import_begun(self) -> None:
        self.banner.clear()
        self.model.show_review()
        self._show_view(self.importing)

    @Slot(object, object)
    def _on_single(self, path: Path, common: TakeMetadata) -> None:
        self.review.review_files([path], common)

    @Slot(int, int)
    def _on_imported(self, well: int, badly: int) -> None:
        if badly:
            sentence = _(
                "Imported: {well:,}. Not imported: {badly:,}; each row says why, and can be edited.",
                well=well,
                badly=badly,
            )
            self._say(Tone.WARN, sentence, NoticeAction(_("Close"), self.imports.cancel))
        else:
            sentence = ngettext(
                "{count:,} recording imported. It is in the Outbox.",
                "{count:,} recordings imported. They are in the Outbox.",
                well,
            )
            self._say(Tone.OK, sentence)
            self.imports.cancel()

    @Slot(int)
    def _on_consent_noted(self, subjects: int) -> None:
        sentence = ngettext(
            "The consent of {count} subject is noted.", "The consent of {count} subjects is noted.", subjects
        )
        self._say(Tone.OK, sentence)

    @Slot()
    def _on_import_left(self) -> None:
        self.model.ready_again()

    @Slot()
    def _choose_files(self) -> None:
        wanted = f"{_('Recordings and lists')} ({_FILES})"
        names, _chosen = QFileDialog.getOpenFileNames(self, _("Import recordings"), "", wanted)
        if names:
            self.import_files([Path(name) for name in names])

    def _say(self, tone: Tone, sentence: str, *actions: NoticeAction, topic: str = "") -> None:
        self.banner.say(tone, sentence, *actions, topic=topic)
        announce(self, sentence, urgent=tone is Tone.WARN)
        if tone is Tone.OK and not actions:
            self._fade.start()
        else:
            self._fade.stop()


def _rescued_text(takes: list[RescuedTake], subject: str, damaged: int) -> str:
    """Description of the rescued takes, oldest first; `subject` is that of the first, empty if it has none."""
    take = takes[0]
    length = clock_text(take.duration_s)
    sentences = [
        _(
            "A recording of {subject} is kept, {length} long. Decide whether to send it.",
            subject=subject,
            length=length,
        )
        if subject
        else _("A recording without a subject is kept, {length} long. Decide whether to send it.", length=length)
    ]
    if take.cut_s >= LEAST_REPORTED_S:
        sentences.append(_("About {seconds:.1f} s at its end cannot be read.", seconds=take.cut_s))
    others = len(takes) - 1
    if others:
        sentences.append(
            ngettext(
                "{count} more recording waits for a decision.",
                "{count} more recordings wait for a decision.",
                others,
            )
        )
    if damaged:
        sentences.append(
            ngettext("{count} damaged recording waits too.", "{count} damaged recordings wait too.", damaged)
        )
    return " ".join(sentences)


def _is_list(paths: list[Path]) -> bool:
    """Whether a list of recordings was chosen, which names its own subjects."""
    return len(paths) == 1 and paths[0].suffix.lower() == ".csv"
