"""A second window for the speaker, with the prompt in large type."""

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QCloseEvent, QGuiApplication, QKeyEvent, QResizeEvent, QScreen
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.capture.protocols import ProtocolTask
from vbdesk.desk.record.protocol_picture import Picture
from vbdesk.desk.record.setup_model import RecordForm
from vbdesk.desk.record.view_model import Moment, RecordPhase, RecordViewModel
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.progress import ProgressBar
from vbdesk.desk.ui.text import PromptLabel, Text
from vbdesk.desk.ui.theme import Role, app_theme

_SIZE = (960, 620)
_SHARE = 0.66  # share of a single screen's height: the desk's controls stay visible below
_ROLES = (Role.PROMPT_SPEAKER, Role.PROMPT, Role.PROMPT_SMALL, Role.PROMPT_COMPACT, Role.PROMPT_LEAST)
_SIDES = 72
_LOOKS = {
    RecordPhase.READY: ("Please wait", "clock", "text3"),
    RecordPhase.COUNTING_IN: ("Get ready", "clock", "text"),
    RecordPhase.RECORDING: ("Please speak", "record", "rec"),
    RecordPhase.PAUSED: ("Paused", "pause", "text2"),
    RecordPhase.ENDING: ("Thank you", "check", "ok"),
    RecordPhase.ENDED: ("Thank you", "check", "ok"),
}


class SpeakerWindow(QWidget):
    """Fills a second screen, or is a window next to the desk's. Never takes the keyboard focus.

    Signals:
        shown: (bool) it was opened or closed.
        pressed: (int) a key, for the page to handle.
    """

    shown = Signal(bool)
    pressed = Signal(int)

    def __init__(self, model: RecordViewModel, parent: QWidget) -> None:
        self._theme = app_theme()
        super().__init__(parent, Qt.WindowType.Window)
        self.setObjectName("page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self.setWindowTitle("What to say")
        self.setAccessibleName("What to say")
        self._model = model
        self._icon = IconView("clock", "text3", 24)
        self.state = Text("", Role.VERDICT, "text2")
        self.step = Text("", Role.BODY, "text2")
        self.prompt, self.picture = PromptLabel(_ROLES[0]), Picture()
        self.progress = ProgressBar("Speech so far")
        self._lay_out()
        model.phase_changed.connect(self._show_phase)
        model.counted.connect(self._show_count)
        model.task_changed.connect(self._show_task)
        model.moved.connect(self._show_moment)
        model.setup.form_changed.connect(self._show_form)
        self._show_form(model.setup.form)
        self._show_phase(model.phase)

    def open(self) -> None:
        """Open the window, on another screen if there is one."""
        other = _other_screen(self.parentWidget())
        if other is None:
            room = self.screen().availableGeometry()
            self.resize(min(_SIZE[0], room.width() - 80), min(_SIZE[1], round(room.height() * _SHARE)))
            self.move(room.center().x() - self.width() // 2, room.top())
            self.show()
        else:
            self.setScreen(other)
            self.setGeometry(other.availableGeometry())
            self.showFullScreen()
        self.shown.emit(True)

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: D102
        super().closeEvent(event)
        self.shown.emit(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: D102
        if not event.isAutoRepeat():
            self.pressed.emit(event.key())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._fit()

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(12)
        head.addWidget(self._icon)
        head.addWidget(self.state)
        head.addStretch(1)
        head.addWidget(self.step)
        column = QVBoxLayout(self)
        column.setContentsMargins(_SIDES, 40, _SIDES, 40)
        column.setSpacing(24)
        column.addLayout(head)
        column.addStretch(1)
        column.addWidget(self.prompt)
        column.addWidget(self.picture, 6)
        column.addStretch(1)
        column.addWidget(self.progress)

    def _fit(self) -> None:
        """Use the largest type that needs no scrolling."""
        rest = 80 + 3 * 24 + self._theme.px(40)
        width = max(1, self.width() - 2 * _SIDES)
        for role in _ROLES:
            self.prompt.show_text(self.prompt.plain_text(), role)
            if self.picture.isVisibleTo(self) or self.prompt.heightForWidth(width) + rest <= self.height():
                break

    @Slot(object)
    def _show_form(self, form: RecordForm) -> None:
        self._show(form.protocol.tasks[0])

    @Slot(object)
    def _show_task(self, task: ProtocolTask) -> None:
        self._show(task)

    def _show(self, task: ProtocolTask) -> None:
        tasks = self._model.setup.form.protocol.tasks
        several = len(tasks) > 1 and task in tasks
        self.step.setText(f"{tasks.index(task) + 1} of {len(tasks)}" if several else "")
        self.picture.show_picture(task.picture)
        self.prompt.show_text(task.text)
        self._fit()

    @Slot(object)
    def _show_phase(self, phase: RecordPhase) -> None:
        under_way = phase in (RecordPhase.COUNTING_IN, RecordPhase.RECORDING, RecordPhase.PAUSED)
        self.setProperty("staysWhenLocked", under_way)  # a person reads aloud from it
        words, icon, ink = _LOOKS[phase]
        self.state.setText(words)
        self._icon.show_icon(icon, ink)
        self.progress.setVisible(phase in (RecordPhase.RECORDING, RecordPhase.PAUSED))
        if phase is RecordPhase.READY:
            self.progress.show_share(0.0)

    @Slot(int)
    def _show_count(self, left: int) -> None:
        self.progress.show_share(0.0)
        self.state.setText(f"Get ready: {left}" if left else "Get ready")

    @Slot(object)
    def _show_moment(self, moment: Moment) -> None:
        if self.isVisible():
            self.progress.show_share(self._model.task.progress(moment.speech))


def _other_screen(beside: QWidget | None) -> QScreen | None:
    own = None if beside is None else beside.screen()
    return next((screen for screen in QGuiApplication.screens() if screen is not own), None)
