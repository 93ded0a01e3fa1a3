"""The Record page during a recording: prompt, live waveform and controls."""

import math

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.capture.protocols import ProtocolTask
from vbdesk.capture.recorder import RecordingHealth
from vbdesk.contract.rounding import whole
from vbdesk.desk.charts.waveform import LiveWaveform
from vbdesk.desk.record.protocol_picture import Picture
from vbdesk.desk.record.recording_facts import RecordingFacts
from vbdesk.desk.record.speech_ring import SpeechRing
from vbdesk.desk.record.view_model import Moment, RecordPhase, RecordViewModel
from vbdesk.desk.ui.buttons import Button, ButtonKind, ButtonSize, quiet_button, secondary_button
from vbdesk.desk.ui.card import Card, scroll_area, vertical_line
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.text import ElidedText, PromptLabel, Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.desk.ui.time_text import clock_text
from vbdesk.language import _, formats, ngettext, pgettext

_NARROW, _HEAD = 760, 940
_SIDES, _SIDES_SMALL = 72, 24
_ABOVE, _ABOVE_SMALL = 20, 8
_VOICE, _VOICE_SMALL, _VOICE_LEAST = 184, 112, 80
_LEAST_PX = 72  # shorter speech is not meaningful
_PICTURE, _PICTURE_WANTED = 150, 240
_WIDE = 1400  # at 100 % text: the prompt grows
_PROMPTS = (Role.PROMPT, Role.PROMPT_SMALL, Role.PROMPT_COMPACT, Role.PROMPT_LEAST)
_RING, _RING_SMALL = 112, 60
_FACTS = 240
_SLACK = 8  # text width changes a little with its digits
_LOST_S = 0.05
_SOON_S = 60


class LiveView(QWidget):
    """Everything while recording; binds `RecordViewModel`."""

    def __init__(self, model: RecordViewModel) -> None:
        self._theme = app_theme()
        super().__init__()
        self._model = model
        self._following_left = self._narrow = self._lost = False
        self._protocol = ElidedText("", Role.BODY, "text2")
        self.facts = RecordingFacts(self._protocol)
        self.safe, self._safe_icon = Text("", Role.LABEL, "text2"), IconView("lock", "ok", 16)
        self.speaker = quiet_button(_("Patient screen"), icon="talk", key="W", size=ButtonSize.ROW)
        self.prompt, self.picture = PromptLabel(Role.PROMPT), Picture()
        self.picture.setMinimumHeight(_PICTURE)
        self.waveform = LiveWaveform()
        self.ring = SpeechRing(model.minimum_s)
        self._speech_title, self._speech = Text(_("Speech so far"), Role.BODY_STRONG), Text("", Role.BODY, "text2")
        self.timer = Text(clock_text(0), Role.TIMER)
        self._limit = Text(self._stops_at(), Role.BODY, "text2")
        self.following = secondary_button(_("Next task"), icon="arrow-right", key="N", size=ButtonSize.LARGE)
        self.marker = quiet_button(_("Marker"), icon="flag", key="M", size=ButtonSize.LARGE)
        self.pause = secondary_button(_("Pause"), icon="pause", key="P", size=ButtonSize.LARGE)
        self.stop = Button(_("Stop"), ButtonKind.STOP, icon="stop", key=pgettext("key", "Space"), size=ButtonSize.LARGE)
        self._lay_out()
        self._bind()

    @Slot(object)
    def _show_task(self, task: ProtocolTask) -> None:
        tasks = self._model.setup.form.protocol.tasks
        number = tasks.index(task) + 1 if task in tasks else 1
        several = _("{title} · {place} of {count}", title=task.title, place=number, count=len(tasks))
        self._protocol.setText(task.title if len(tasks) == 1 else several)
        self.following.setVisible(len(tasks) > 1)
        self._following_left = number < len(tasks)
        self.following.setEnabled(self._model.phase is RecordPhase.RECORDING and self._following_left)
        self.ring.set_minimum(task.min_speech_s)
        self.prompt.show_text(task.text, language=task.language)
        self.picture.show_picture(task.picture)
        self._arrange()
        self._fit_prompt()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._arrange()
        self._fit_prompt()

    def _arrange(self) -> None:
        """In narrow windows hide key hints, then captions; then put the buttons below; at last hide the title."""
        px = self._theme.px
        self._narrow = self.width() < px(_HEAD)
        self._show_safe()
        self._said.setContentsMargins(*self._margins())
        for shown in (self._protocol.setVisible, self.speaker.show_text):
            shown(self.width() >= px(_NARROW))
        for shortage in range(5):
            self._arrange_for(shortage)
            for box in self._boxes:
                box.invalidate()  # a nested layout caches sizes until it is laid out
            if self._controls_box.sizeHint().width() + _SLACK <= self.width():
                break

    def _arrange_for(self, shortage: int) -> None:
        buttons = (self.following, self.marker, self.pause, self.stop, self.speaker)
        for button in buttons:
            button.show_key(shortage < 1)
        self._speech.setVisible(shortage < 2)
        self._speech_title.setVisible(shortage < 4)
        below = shortage >= 3
        across, down = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._controls_box.setDirection(down if below else across)
        self.ring.set_diameter(_RING_SMALL if below else _RING)
        self.timer.set_role(Role.OVERALL if below else Role.TIMER)
        self._limit.set_role(Role.CAPTION if below else Role.BODY)
        longest = max(map(self._limit.fontMetrics().horizontalAdvance, (self._stops_at(), self._begins_in())))
        self._limit.setMinimumWidth(longest + 4)

    def _stops_at(self) -> str:
        return _("Stops at {time}", time=clock_text(self._model.maximum_s))

    def _begins_in(self) -> str:
        # Translators: below a number that counts down, 3, 2, 1.
        return _("seconds, then begin")

    def _fit_prompt(self) -> None:
        """Use the largest type that needs no scrolling; type and waveform shrink for it, the waveform goes last."""
        px = self._theme.px
        sides, above, *_ = self._margins()
        head = self._head.heightForWidth(self.width())
        rest = self._controls_card.sizeHint().height() + head + 3 * 16
        voices = [px(_VOICE), px(_VOICE_SMALL), *([_VOICE_LEAST] if px(_LEAST_PX) <= _VOICE_LEAST else [])]
        ways = [(role, voice) for voice in voices for role in _PROMPTS[:2]]
        ways += [(role, voices[-1]) for role in _PROMPTS[2:]]
        if self.width() >= px(_WIDE):
            ways.insert(0, (Role.PROMPT_SPEAKER, voices[0]))
        for role, voice in (*ways, (_PROMPTS[2], 0), (_PROMPTS[3], 0)):
            self.prompt.show_text(self.prompt.plain_text(), role)
            self._voice.setVisible(voice > 0)
            self._voice.setFixedHeight(max(1, voice))
            needed = self.prompt.heightForWidth(max(1, self.width() - 2 * sides)) + 2 * above
            if self.picture.isVisibleTo(self):
                needed += px(_PICTURE_WANTED)
            if needed + rest + voice <= self.height():
                break

    def _margins(self) -> tuple[int, int, int, int]:
        sides, above = (_SIDES_SMALL, _ABOVE_SMALL) if self.width() < self._theme.px(_NARROW) else (_SIDES, _ABOVE)
        return sides, above, sides, above

    def _lay_out(self) -> None:
        self._saved = QWidget()
        pair = QHBoxLayout(self._saved)
        pair.setContentsMargins(0, 0, 0, 0)
        pair.setSpacing(8)
        pair.addWidget(self._safe_icon)
        pair.addWidget(self.safe)
        texts = QVBoxLayout()
        texts.addWidget(self.facts, 0, Qt.AlignmentFlag.AlignVCenter)
        self._head = PageHeader(texts, self._saved, self.speaker, texts_width=_FACTS)
        self._head.setMinimumWidth(1)  # it adapts to the available width, so it must not request one
        said = Card(padding=0)
        inner = QWidget()
        text_column = QVBoxLayout(inner)
        text_column.setContentsMargins(_SIDES, _ABOVE, _SIDES, _ABOVE)
        self._said = text_column
        text_column.addStretch(1)
        text_column.addWidget(self.prompt)
        text_column.addWidget(self.picture, 6)
        text_column.addStretch(1)
        said.body.addWidget(scroll_area(inner))
        self._voice = Card(padding=0)
        self._voice.body.addWidget(self.waveform)
        self._controls_card = self._controls()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(16)
        column.addWidget(self._head)
        column.addWidget(said, 1)
        column.addWidget(self._voice)
        column.addWidget(self._controls_card)

    def _controls(self) -> Card:
        card = Card(padding=0)
        speech = QVBoxLayout()
        speech.setSpacing(4)
        speech.addStretch(1)
        speech.addWidget(self._speech_title)
        speech.addWidget(self._speech)
        speech.addStretch(1)
        time = QVBoxLayout()
        time.setSpacing(2)
        time.addStretch(1)
        time.addWidget(self.timer)
        time.addWidget(self._limit)
        time.addStretch(1)
        figures = QHBoxLayout()
        figures.setSpacing(14)
        figures.addWidget(self.ring)
        figures.addLayout(speech)
        figures.addWidget(vertical_line())
        figures.addSpacing(2)
        figures.addLayout(time)
        figures.addStretch(1)
        buttons = QHBoxLayout()
        buttons.setSpacing(14)
        buttons.addStretch(1)
        for button in (self.marker, self.following, self.pause, self.stop):
            buttons.addWidget(button)
        self._controls_box = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._controls_box.setContentsMargins(24, 16, 24, 16)
        self._controls_box.setSpacing(14)
        self._controls_box.addLayout(figures, 1)
        self._controls_box.addLayout(buttons)
        card.body.addLayout(self._controls_box)
        self._boxes = (speech, time, figures, buttons, self._controls_box)
        return card

    def _bind(self) -> None:
        model = self._model
        self.marker.clicked.connect(model.mark)
        self.following.clicked.connect(model.next_task)
        self.pause.clicked.connect(model.pause)
        self.stop.clicked.connect(model.press)
        model.phase_changed.connect(self._show_phase)
        model.counted.connect(self._show_count)
        model.moved.connect(self._show_moment)
        model.task_changed.connect(self._show_task)

    @Slot(object)
    def _show_phase(self, phase: RecordPhase) -> None:
        self._show_facts()
        running = phase in (RecordPhase.RECORDING, RecordPhase.PAUSED)
        self.following.setEnabled(phase is RecordPhase.RECORDING and self._following_left)
        self.marker.setEnabled(phase is RecordPhase.RECORDING)
        self.pause.setEnabled(running)
        self.stop.setEnabled(running or phase is RecordPhase.COUNTING_IN)
        self.pause.setText(_("Go on") if phase is RecordPhase.PAUSED else _("Pause"))
        self.pause.set_icon("record" if phase is RecordPhase.PAUSED else "pause")
        self.stop.setText(_("Cancel") if phase is RecordPhase.COUNTING_IN else _("Stop"))
        self._arrange()

    @Slot(int)
    def _show_count(self, left: int) -> None:
        self._show_facts()
        self._show_task(self._model.setup.form.protocol.tasks[0])
        self.timer.setText(formats.number(left) if left else _("Now"))
        self._limit.setText(_("Starting the microphone") if left == 0 else self._begins_in())
        self._show_speech(0.0)
        self._show_health(RecordingHealth())
        self.waveform.clear()

    def _show_facts(self) -> None:
        running = self._model.running()
        if running is not None:
            self.facts.show_running(running)

    @Slot(object)
    def _show_moment(self, moment: Moment) -> None:
        paused = self._model.phase is RecordPhase.PAUSED
        self.waveform.show_voice(moment.envelope, moment.seconds, moment.marks_s, moving=not paused)
        text = clock_text(moment.seconds)
        if text != self.timer.text():
            self.timer.setText(text)
            self._limit.setText(self._limit_text(moment.seconds))
        self._show_facts()
        self._show_health(moment.health)
        self._show_speech(self._model.task.counted_s(moment.speech))

    def _limit_text(self, seconds: float) -> str:
        """The next limit: the minimum, then the maximum."""
        minimum_s, maximum_s = self._model.minimum_s, self._model.maximum_s
        if seconds < minimum_s:
            return _("Long enough at {time}", time=clock_text(minimum_s))
        left_s = math.ceil(maximum_s - seconds)
        return self._stops_at() if left_s > _SOON_S else _("Stops in {seconds} s", seconds=left_s)

    def _show_health(self, health: RecordingHealth) -> None:
        lost = health.missing_s >= _LOST_S or health.overflows > 0
        text = _("Saved to disk every second")
        if health.missing_s >= _LOST_S:
            text = _("{seconds:.1f} s of sound lost", seconds=health.missing_s)
        elif lost:
            text = ngettext("Sound lost {count} time", "Sound lost {count} times", health.overflows)
        if text != self.safe.text():
            self.safe.setText(text)
            self.safe.set_ink("warn" if lost else "text2")
            self._safe_icon.show_icon("warning" if lost else "lock", "warn" if lost else "ok")
            self._lost = lost
            self._show_safe()

    def _show_safe(self) -> None:
        """Show that sound is saved if space allows; lost sound is always shown."""
        self._saved.setVisible(self._lost or not self._narrow)

    def _show_speech(self, seconds: float) -> None:
        self.ring.show_seconds(seconds)
        minimum_s = self._model.task.min_speech_s
        left = whole(minimum_s) - whole(seconds)
        title = _("Speech so far") if left > 0 else _("Enough speech")
        # Translators: on two lines of about the same length.
        text = (
            ngettext(
                "{count} second to the\n{minimum:.0f}-second minimum",
                "{count} seconds to the\n{minimum:.0f}-second minimum",
                left,
                minimum=minimum_s,
            )
            if left > 0
            else _("More makes the\nresult more certain")
        )
        if text != self._speech.text():
            self._speech_title.setText(title)
            self._speech.setText(text)
