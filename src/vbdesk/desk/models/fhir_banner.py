"""Send to a FHIR server from a page: an entry of its export menu, a question, a message."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from vbdesk.desk.models.fhir_sending import FhirSending
from vbdesk.desk.ui.work_banner import WorkBanner
from vbdesk.language import _


class FhirBanner(WorkBanner):
    """Binds `FhirSending` to a page.

    Attributes:
        action: of the menu; hidden while no server is configured.

    Signals:
        wanted: the entry was chosen.
    """

    wanted = Signal()

    def __init__(self, model: FhirSending, menu: QMenu, page: QWidget) -> None:
        super().__init__(page)
        self.action = QAction(_("Send to the FHIR server"), menu)
        self.action.setVisible(False)
        self.action.triggered.connect(self.wanted)
        menu.addAction(self.action)
        self.confirmed.connect(model.confirm)
        self.refused.connect(model.refuse)
        self.stop_wanted.connect(model.cancel)
        model.known.connect(self._on_known)
        model.asked.connect(self._on_asked)
        model.progressed.connect(self.show_progress)
        model.done.connect(self.show_done)
        model.failed.connect(self.show_failure)
        model.stopped.connect(self.show_stop)
        model.ended.connect(self.end)

    @Slot(str)
    def _on_known(self, address: str) -> None:
        self.action.setVisible(bool(address))

    @Slot(str)
    def _on_asked(self, sentence: str) -> None:
        self.ask(sentence, _("Send"))
