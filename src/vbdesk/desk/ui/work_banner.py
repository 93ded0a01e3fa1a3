"""The message of work that a page starts: a question first, then progress with Cancel, then how it ended."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from vbdesk.desk.ui.accessibility import announce
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.notice import Notice, NoticeAction, Tone, close_action
from vbdesk.language import _

_WORK = "work"  # topic of the message while it runs


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
        self.float_over(page)

    def ask(self, sentence: str, yes: str) -> None:
        """Ask before the work begins."""
        no, refused = NoticeAction(_("Cancel"), self.refused.emit), self.refused.emit
        self.show_notice(Notice(Tone.WARN, sentence, (NoticeAction(yes, self.confirmed.emit), no), closed=refused))
        self.button.setFocus()
        announce(self, sentence)

    @Slot(str)
    def show_progress(self, sentence: str) -> None:
        """Show what is under way."""
        self.say(Tone.INFO, sentence, NoticeAction(_("Cancel"), self.stop_wanted.emit, stays=True), topic=_WORK)

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
        self.withdraw(_WORK)

    def _show_end(self, tone: Tone, sentence: str) -> None:
        self.say(tone, sentence, close_action())
        announce(self, sentence, urgent=tone is Tone.FAIL)
