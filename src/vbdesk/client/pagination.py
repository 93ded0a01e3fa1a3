"""Read all pages of a list."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")


class ListPage(Protocol):
    """One page of a list."""

    @property
    def total_pages(self) -> int:
        """Present number of pages."""
        ...


P = TypeVar("P", bound=ListPage)


def read_all(read: Callable[[int], P], items: Callable[[P], Iterable[T]], identity: Callable[[T], str]) -> Iterator[T]:
    """Every item of every page, once.

    Items that are added meanwhile push known ones onto later pages; those are recognised by their identity and skipped.
    Items that are deleted meanwhile may hide others, which the next read finds.

    Args:
        read: reads the page of a number, from 0.
        items: the items of a page.
        identity: the identity of an item.
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
