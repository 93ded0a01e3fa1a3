"""Lists that come in pages, read as one."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")


class Page(Protocol):
    """One page of a list."""

    @property
    def total_pages(self) -> int:
        """How many pages there are now."""
        ...


P = TypeVar("P", bound=Page)


def read_all(read: Callable[[int], P], items: Callable[[P], Iterable[T]], identity: Callable[[T], str]) -> Iterator[T]:
    """Every item of every page, once.

    What is new while we read pushes known items onto the pages to come, where they are met again: they are told by
    their identity. What is deleted meanwhile may keep an item from us; it comes with the next reading.

    Args:
        read: reads the page of that number, from 0.
        items: what stands on a page.
        identity: tells items apart.
    """
    seen: set[str] = set()
    number, total = 0, 1
    while number < total:
        page = read(number)
        for item in items(page):
            if identity(item) not in seen:
                seen.add(identity(item))
                yield item
        number, total = number + 1, page.total_pages
