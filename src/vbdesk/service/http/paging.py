"""Pages of a list: 0-based, never an error past the end."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query

PageNumber = Annotated[int, Query(ge=0, description="0-based")]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list of `total` entries.

    Attributes:
        number: 0-based.
        size: entries on a full page.
        total: entries of the whole list.
    """

    number: int
    size: int
    total: int

    @property
    def total_pages(self) -> int:
        """At least 1, also for an empty list."""
        return max(1, -(-self.total // self.size))

    @property
    def offset(self) -> int:
        """Entries before this page; never beyond the list, however large the number."""
        return min(self.number * self.size, self.total)
