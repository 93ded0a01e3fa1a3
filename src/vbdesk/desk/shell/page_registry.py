"""The registry of pages: each has one entry."""

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
        title: makes its name in the reader's language.
        build: makes the page, with its parent, because Qt would style it again if it got the parent later.
        sidebar: key of the sidebar entry to highlight; its own key for a page in the sidebar.
    """

    key: str
    title: Callable[[], str]
    icon: str
    build: Callable[[Workspace, QWidget], QWidget]
    sidebar: str = ""

    @property
    def in_sidebar(self) -> bool:
        """Whether the page has its own entry in the sidebar."""
        return not self.sidebar
