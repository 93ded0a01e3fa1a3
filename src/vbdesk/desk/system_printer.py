"""The printers of the system, and printing of pages that are pictures."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QRectF, QSizeF, Qt
from PySide6.QtGui import QImage, QPageLayout, QPageSize, QPainter
from PySide6.QtPrintSupport import QPrinter, QPrinterInfo

from vbdesk.language import message

_TITLE = "vbdesk report"
_LETTER_PAPER = {QPageSize.PageSizeId.Letter, QPageSize.PageSizeId.Legal, QPageSize.PageSizeId.Tabloid}


class PrintingFailed(Exception):
    """The printer takes no page; `str(error)` is a sentence for the user."""


class PrintJob:
    """Pages for one printer. Its title, which others see in the queue of a shared printer, names no person.

    Attributes:
        device: for a print dialog to set up.
    """

    def __init__(self) -> None:
        self.device = QPrinter(QPrinter.PrinterMode.HighResolution)
        self.device.setDocName(_TITLE)
        self.device.setCreator("vbdesk")

    @property
    def takes_letter(self) -> bool:
        """Whether the paper is of North America, not A4."""
        return self.device.pageLayout().pageSize().id() in _LETTER_PAPER

    def print_pages(self, pages: Sequence[bytes], on_page: Callable[[], None]) -> int:
        """Print the pages that were chosen in the dialog; returns how many. Blocks on the print service.

        Args:
            pages: PNG pictures of whole sheets of paper.
            on_page: called before each page. What it raises ends the job; no printer takes back the pages before.

        Raises:
            PrintingFailed: the printer takes no page.
        """
        device = self.device
        chosen = pages[max(1, device.fromPage()) - 1 : device.toPage() or None]
        if not chosen:
            raise PrintingFailed(message("The report has fewer pages than were chosen. Choose other pages."))
        device.setPageOrientation(QPageLayout.Orientation.Portrait)
        device.setFullPage(True)
        painter = QPainter()
        if not painter.begin(device):
            raise PrintingFailed(
                message(
                    "The printer does not take the report. Check that it is switched on and not paused, then print "
                    "again."
                )
            )
        try:
            for number, page in enumerate(chosen):
                on_page()
                if number and not device.newPage():
                    raise PrintingFailed(message("The printer stopped before the last page. Check it and print again."))
                _paint(painter, device.paperRect(QPrinter.Unit.DevicePixel).size(), page)
        finally:
            painter.end()  # also removes the temporary file of the print service
        if device.printerState() is QPrinter.PrinterState.Error:
            raise PrintingFailed(message("The printer reports an error. Check it, then print again."))
        return len(chosen)


class SystemPrinters:
    """Printers by the operating system's print service."""

    def job(self) -> PrintJob | None:
        """A job for a print dialog to set up; None without a printer. Blocks on the print service."""
        return PrintJob() if QPrinterInfo.availablePrinterNames() else None


def _paint(painter: QPainter, paper: QSizeF, page: bytes) -> None:
    """Fill the paper with a page; on paper of another shape it keeps its own."""
    image = QImage.fromData(page)
    size = QSizeF(image.size()).scaled(paper, Qt.AspectRatioMode.KeepAspectRatio)
    target = QRectF(0, 0, size.width(), size.height())
    target.moveCenter(QRectF(0, 0, paper.width(), paper.height()).center())
    painter.drawImage(target, image)
