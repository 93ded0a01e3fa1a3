"""The data dictionary: which tables there are, and what each column holds."""

import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, model_validator

from vbdesk.resource_files import resource

ColumnType = Literal["text", "code", "integer", "number", "boolean", "time"]


class Column(BaseModel):
    """One column.

    Attributes:
        unit: UCUM code of its numbers; empty where there is none.
        values: every code that may stand in it; empty where any may.
        research: written only where scores are asked for.
        about: what it holds, for a reader of the data.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    type: ColumnType
    about: str
    unit: str = ""
    values: tuple[str, ...] = ()
    research: bool = False


class TableDefinition(BaseModel):
    """One table; `keys` name its rows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    keys: tuple[str, ...]
    columns: tuple[Column, ...]

    @model_validator(mode="after")
    def _consistent(self) -> "TableDefinition":
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names) or not set(self.keys) <= set(names):
            raise ValueError("a column stands twice, or a key is no column")
        return self

    def columns_for(self, *, scores: bool) -> tuple[Column, ...]:
        """The columns to write, with or without raw scores."""
        return tuple(column for column in self.columns if scores or not column.research)


_TABLES: TypeAdapter[Mapping[str, TableDefinition]] = TypeAdapter(Mapping[str, TableDefinition])
_UNITS: TypeAdapter[Mapping[str, str]] = TypeAdapter(Mapping[str, str])


@cache
def table_definitions() -> Mapping[str, TableDefinition]:
    """Every table of tables.toml, in its order."""
    with resource("report", "tables.toml").open("rb") as file:
        return _TABLES.validate_python(tomllib.load(file))


@cache
def _units() -> Mapping[str, str]:
    with resource("report", "units.toml").open("rb") as file:
        return _UNITS.validate_python(tomllib.load(file))


def ucum(unit: str) -> str:
    """The UCUM code of a unit as the service names it; an annotation in braces where there is no such unit."""
    if not unit:
        return "1"
    plain = "".join(letter for letter in unit if "!" <= letter <= "~" and letter not in "{}")
    return _units().get(unit, f"{{{plain}}}" if plain else "1")
