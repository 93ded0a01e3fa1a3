"""Pages of a list: 0-based, never an error past the end."""

import re
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

_INTEGER = re.compile(r"[+-]?[0-9]+")


def _integer(value: object) -> object:
    """Digits as they stand: the framework would also take `1.0` and `1_0`."""
    if isinstance(value, str) and not _INTEGER.fullmatch(value):
        raise PydanticCustomError("int_parsing", "Give a page as an integer; the first is 0.")
    return value


PageNumber = Annotated[int, BeforeValidator(_integer), Query(ge=0, description="0-based.")]


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
