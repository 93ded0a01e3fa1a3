"""A second window for the speaker, with the prompt in large type."""

from PySide6.QtCore import QEvent, QLocale, Qt, Signal, Slot
from PySide6.QtGui import QCloseEvent, QGuiApplication, QKeyEvent, QResizeEvent, QScreen
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.capture.protocols import ProtocolTask
from vbdesk.desk.record.protocol_picture import Picture
from vbdesk.desk.record.setup_model import RecordForm
from vbdesk.desk.record.view_model import Moment, RecordPhase, RecordViewModel
from vbdesk.desk.ui.card import scroll_area
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.progress import ProgressBar
from vbdesk.desk.ui.text import PromptLabel, Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import N_, _, current, language_of, reading_in

_SIZE = (960, 620)
_SHARE = 0.66  # share of a single screen's height: the desk's controls stay visible below
_ROLES = (Role.PROMPT_SPEAKER, Role.PROMPT, Role.PROMPT_SMALL, Role.PROMPT_COMPACT, Role.PROMPT_LEAST)
_SIDES = 72
_STYLES = {
    RecordPhase.READY: (N_("Please wait"), "clock", "text3"),
    RecordPhase.COUNTING_IN: (N_("Get ready"), "clock", "text"),
    RecordPhase.RECORDING: (N_("Please speak"), "record", "rec"),
    RecordPhase.PAUSED: (N_("Paused"), "pause", "text2"),
    RecordPhase.ENDING: (N_("Thank you"), "check", "ok"),
    RecordPhase.ENDED: (N_("Thank you"), "check", "ok"),
}


class SpeakerWindow(QWidget):
    """Fills a second screen, or is a window next to the desk's. Never takes the keyboard focus.

    All of it is in the language of the prompt, which the speaker reads.

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
        self._model = model
        self._language, self._phase = current(), model.phase
        self._icon = IconView("clock", "text3", 24)
        self.state = Text("", Role.VERDICT, "text2")
        self.step = Text("", Role.BODY, "text2")
        self.prompt, self.picture = PromptLabel(_ROLES[0]), Picture()
        self.progress = ProgressBar(_("Speech so far"))
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
        texts = QWidget()
        middle = QVBoxLayout(texts)
        middle.setContentsMargins(0, 0, 0, 0)
        middle.addStretch(1)
        middle.addWidget(self.prompt)
        middle.addStretch(1)
        self._text_area = scroll_area(texts)
        column.addLayout(head)
        column.addWidget(self._text_area, 1)
        column.addWidget(self.picture, 6)
        column.addWidget(self.progress)

    def _fit(self) -> None:
        """Use the largest type that needs no scrolling; next to a picture, leave the text its lines."""
        rest = 80 + 3 * 24 + self._theme.px(40)
        width = max(1, self.width() - 2 * _SIDES)
        pictured = self.picture.isVisibleTo(self)
        for role in _ROLES:
            self.prompt.show_text(self.prompt.plain_text(), role)
            if pictured or self.prompt.heightForWidth(width) + rest <= self.height():
                break
        lines = min(self.prompt.heightForWidth(width), self.height() // 2)
        self._text_area.setMinimumHeight(lines if pictured else 0)

    @Slot(object)
    def _show_form(self, form: RecordForm) -> None:
        self._show(form.protocol.tasks[0])

    @Slot(object)
    def _show_task(self, task: ProtocolTask) -> None:
        self._show(task)

    def _show(self, task: ProtocolTask) -> None:
        tasks = self._model.setup.form.protocol.tasks
        several = len(tasks) > 1 and task in tasks
        self._language = language_of(task.language) or current()
        self.setLayoutDirection(QLocale(task.language).textDirection())
        with reading_in(self._language):
            step = _("{place} of {count}", place=tasks.index(task) + 1, count=len(tasks)) if several else ""
            self.step.setText(step)
            self.setWindowTitle(_("What to say"))
            self.setAccessibleName(_("What to say"))
            self.progress.setAccessibleName(_("Speech so far"))
        self.picture.show_picture(task.picture)
        self.prompt.show_text(task.text, language=task.language)
        self._show_phase(self._phase)
        self._fit()

    @Slot(object)
    def _show_phase(self, phase: RecordPhase) -> None:
        under_way = phase in (RecordPhase.COUNTING_IN, RecordPhase.RECORDING, RecordPhase.PAUSED)
        self.setProperty("staysWhenLocked", under_way)  # a person reads aloud from it
        text, icon, ink = _STYLES[phase]
        self._phase = phase
        with reading_in(self._language):
            self.state.setText(_(text))
        self._icon.show_icon(icon, ink)
        self.progress.setVisible(phase in (RecordPhase.RECORDING, RecordPhase.PAUSED))
        if phase is RecordPhase.READY:
            self.progress.show_share(0.0)

    @Slot(int)
    def _show_count(self, left: int) -> None:
        self.progress.show_share(0.0)
        with reading_in(self._language):
            self.state.setText(_("Get ready: {seconds}", seconds=left) if left else _("Get ready"))

    @Slot(object)
    def _show_moment(self, moment: Moment) -> None:
        if self.isVisible():
            self.progress.show_share(self._model.task.progress(moment.speech))


def _other_screen(beside: QWidget | None) -> QScreen | None:
    own = None if beside is None else beside.screen()
    return next((screen for screen in QGuiApplication.screens() if screen is not own), None)
