"""The message of work that a page starts: a question first, then progress with Cancel, then how it ended."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from vbdesk.desk.ui.accessibility import announce
from vbdesk.desk.ui.banner import Banner, Tone
from vbdesk.language import _


class WorkBanner(Banner):
    """Floats over a page, next to the page's own message.

    Signals:
        confirmed: the answer to the question is yes.
        refused: it is no.
        stop_wanted: the work is to be stopped.
    """

    confirmed = Signal()
    refused = Signal()
    stop_wanted = Signal()

    def __init__(self, page: QWidget) -> None:
        super().__init__()
        self._asks = self._runs = False
        self.float_over(page)
        self.acted.connect(self._on_acted)
        self.other_acted.connect(self._on_other)
        self.closed.connect(self._on_other)

    def ask(self, sentence: str, yes: str) -> None:
        """Ask before the work begins."""
        self._asks, self._runs = True, False
        self.say(Tone.WARN, sentence, action=yes, other=_("Cancel"))
        self.button.setFocus()
        announce(self, sentence)

    @Slot(str)
    def show_progress(self, sentence: str) -> None:
        """Show what is under way."""
        self._asks, self._runs = False, True
        self.say(Tone.INFO, sentence, action=_("Cancel"))

    @Slot(str)
    def show_done(self, sentence: str) -> None:
        """Show what was done."""
        self._show_end(Tone.OK, sentence)

    @Slot(str)
    def show_failure(self, sentence: str) -> None:
        """Show why it was not done."""
        self._show_end(Tone.FAIL, sentence)

    @Slot(str)
    def show_stop(self, sentence: str) -> None:
        """Show that the person stopped it."""
        self._show_end(Tone.INFO, sentence)

    @Slot()
    def end(self) -> None:
        """The work has ended: take away what still says that it runs."""
        if self._runs:
            self._runs = False
            self.clear()

    def _show_end(self, tone: Tone, sentence: str) -> None:
        self._asks = self._runs = False
        self.say(tone, sentence, action=_("Close"))
        announce(self, sentence, urgent=tone is Tone.FAIL)

    @Slot()
    def _on_acted(self) -> None:
        if self._runs:
            self.stop_wanted.emit()
            return
        asks, self._asks = self._asks, False
        self.clear()
        if asks:
            self.confirmed.emit()

    @Slot()
    def _on_other(self) -> None:
        """Cancel, or the small button, while it asks."""
        asks, self._asks = self._asks, False
        if not self._runs:
            self.clear()
        if asks:
            self.refused.emit()
