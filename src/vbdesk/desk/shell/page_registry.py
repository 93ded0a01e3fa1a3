"""Which pages there are; a page plugs in with one entry here."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from vbdesk.desk.shell.workspace import Workspace


@dataclass(frozen=True, slots=True)
class PageSpec:
    """A page of the window.

    A page is a QWidget that follows the `Page` protocol.

    Attributes:
        key: by which the navigator asks for it.
        build: makes its view model and the page.
        rail: key of the rail entry that is lit while it is shown; its own key for a page in the rail.
    """

    key: str
    title: str
    icon: str
    build: Callable[[Workspace], QWidget]
    sidebar: str = ""

    @property
    def in_sidebar(self) -> bool:
        """Whether the page has an entry of its own in the rail."""
        return not self.sidebar
