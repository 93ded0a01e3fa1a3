"""The notice that a result is there: in the window, and in the system's notifications if another window is in front."""

from collections.abc import Callable
from functools import partial
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from vbdesk.desk.flow.navigation import Navigator
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.notice import Notice, NoticeAction, Tone
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.language import _, ngettext
from vbdesk.outbox.library.items import RecordingItem


@runtime_checkable
class RecordingWindow(Protocol):
    """A window that knows whether a recording runs."""

    def is_recording(self) -> bool:
        """Whether a recording is under way."""


class ResultNotice(QObject):
    """A message with a button that opens the result; while a recording runs it waits.

    Attributes:
        banner: the message, at the foot of the window.
    """

    def __init__(self, area: QWidget) -> None:
        super().__init__(area)
        self.banner = Banner()
        self.banner.float_over(area)
        self._area = area
        self._notify: Callable[[str], None] | None = None
        self._navigator: Navigator | None = None
        self._name: Callable[[str], str] = str
        self._came: list[RecordingItem] = []

    def follow(self, navigator: Navigator, notify: Callable[[str], None], name: Callable[[str], str] = str) -> None:
        """Begin with another profile; `name` gives the words for a subject."""
        self._forget()
        self.banner.clear()
        self._navigator, self._notify, self._name = navigator, notify, name
        navigator.asked.connect(self._on_asked)

    @Slot(object)
    def show_arrived(self, came: tuple[RecordingItem, ...]) -> None:
        """Say that results have come."""
        self._came += came
        if self._notify is not None and not self._area.window().isActiveWindow():
            self._notify(ngettext("{count} result is ready", "{count} results are ready", len(self._came)))
        self.show_waiting()

    @Slot()
    def show_waiting(self) -> None:
        """Show the message, unless a recording runs: it would cover controls, and the person in the room may see it."""
        if not self._came or self._is_recording():
            self.banner.clear()
            return
        if len(self._came) == 1:
            item = self._came[0]
            sentence = _("The result of {subject} is ready.", subject=self._name(item.group_id))
            route = RecordingRoute(item.take_id, item.job_id, item.group_id, item.recorded_at)
            opens = NoticeAction(_("Open result"), partial(self._open, "result", route))
        else:
            sentence = ngettext("{count} result is ready.", "{count} results are ready.", len(self._came))
            opens = NoticeAction(_("Open Outbox"), partial(self._open, "outbox"))
        self.banner.show_notice(Notice(Tone.OK, sentence, (opens,), closed=self._forget))

    def _is_recording(self) -> bool:
        window = self._area.window()
        return isinstance(window, RecordingWindow) and window.is_recording()

    def _open(self, page: str, argument: RecordingRoute | None = None) -> None:
        self._forget()
        if self._navigator is not None:
            self._navigator.open(page, argument)

    @Slot(str, object)
    def _on_asked(self, key: str, argument: object) -> None:
        """A result that was opened needs no notice."""
        if key == "outbox":
            self._came = []
        elif isinstance(argument, RecordingRoute):
            self._came = [item for item in self._came if item.take_id != argument.take_id]
        self.show_waiting()

    @Slot()
    def _forget(self) -> None:
        self._came = []
