"""Pages that are out of the window while their work ends."""

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from vbdesk.desk.flow.tasks import Stoppable, TaskOwner


class RetiredPages(QObject):
    """Deletes pages as soon as what runs in them has ended."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._pages: dict[TaskOwner, tuple[QWidget, list[Stoppable]]] = {}

    def take(self, page: QWidget, parts: list[Stoppable]) -> None:
        """Keep a hidden page until `parts` have ended."""
        owner = TaskOwner(self)
        self._pages[owner] = page, parts
        owner.all_ended.connect(self._on_ended)
        owner.close(*parts)

    def running_parts(self) -> list[Stoppable]:
        """What still runs."""
        return [part for _page, parts in self._pages.values() for part in parts if part.alive()]

    @Slot()
    def _on_ended(self) -> None:
        owner = self.sender()
        if isinstance(owner, TaskOwner):
            page, _parts = self._pages.pop(owner)
            page.deleteLater()
            owner.deleteLater()
