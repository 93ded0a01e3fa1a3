"""The notice that the organisation wants the app lock, which is not set up; shown when a profile is opened."""

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.notice import Notice, NoticeAction, Tone
from vbdesk.language import _


class LockNotice(QObject):
    """A message with a button that opens Account; closed, it comes back when a profile is opened next.

    Signals:
        page_wanted: (str) key of the page where the lock is turned on.

    Attributes:
        banner: the message, at the foot of the window.
    """

    page_wanted = Signal(str)

    def __init__(self, area: QWidget) -> None:
        super().__init__(area)
        self.banner = Banner()
        self.banner.float_over(area)
        self._due = self._missing = False

    def begin(self) -> None:
        """Begin with an opened profile: show the message as soon as the lock is known to be missing."""
        self._due, self._missing = True, False
        self.show_again()

    @Slot()
    def end(self) -> None:
        """Hide the message until the next profile is opened."""
        self._due = False
        self.show_again()

    def set_missing(self, missing: bool) -> None:
        """Set whether the organisation wants the lock, this profile can have it, and it is not set up."""
        self._missing = missing
        self.show_again()

    def show_again(self) -> None:
        """Show or hide the message as needed, in the reader's language."""
        if self._due and self._missing:
            sentence = _("Your organisation asks for the app lock. Choose a passphrase for it under Account.")
            opens = NoticeAction(_("Open Account"), self._open)
            self.banner.show_notice(Notice(Tone.WARN, sentence, (opens,), closed=self.end))
        else:
            self.banner.clear()

    @Slot()
    def _open(self) -> None:
        self.end()
        self.page_wanted.emit("account")
