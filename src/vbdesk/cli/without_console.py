"""Errors of a program that has no console: Windows gives `pythonw` and windowed programs no standard streams."""

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from vbdesk.language import _

log = logging.getLogger(__name__)


@contextmanager
def explaining_in_a_box() -> Iterator[None]:
    """Collect what is printed; if the command fails, show it in a message box."""
    printed = io.StringIO()
    sys.stdout = sys.stderr = printed
    try:
        yield
    except SystemExit as end:
        if end.code:
            show_box(printed.getvalue().strip() or str(end.code))
        raise
    except Exception:  # its message may name a person: only the log has more, and only where it was
        log.exception("crashed")
        show_box(_("vbdesk ended unexpectedly. Start it again; the log says more."))
        raise
    finally:
        sys.stdout = sys.stderr = None


def show_box(text: str) -> None:
    """Show a text in a window of its own until it is closed."""
    from PySide6.QtWidgets import QApplication, QMessageBox

    application = QApplication.instance() or QApplication(sys.argv[:1])
    box = QMessageBox(QMessageBox.Icon.Critical, application.applicationName() or "vbdesk", text)
    box.exec()
