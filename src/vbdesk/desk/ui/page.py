"""What the window expects of a page."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class Page(Protocol):
    """A page of the window; also a QWidget with the object name "page"."""

    def opened(self, argument: object) -> None:
        """The page is in front now; `argument` is what to show, None for its usual content."""

    def closed(self) -> None:
        """Another page is in front now, or the profile is being closed."""
