"""Pages of a list, numbered from 0; a page past the end is empty, not an error."""

import re
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

_INTEGER = re.compile(r"[+-]?[0-9]+")


def _integer(value: object) -> object:
    """Accept digits only: the framework would also accept `1.0` and `1_0`."""
    if isinstance(value, str) and not _INTEGER.fullmatch(value):
        raise PydanticCustomError("int_parsing", "Give a page as an integer; the first is 0.")
    return value


PageNumber = Annotated[int, BeforeValidator(_integer), Query(ge=0, description="0-based.")]


@dataclass(frozen=True, slots=True)
class PagePosition:
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
        """Number of entries before this page, at most `total`."""
        return min(self.number * self.size, self.total)
