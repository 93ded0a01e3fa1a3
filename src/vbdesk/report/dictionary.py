"""The data dictionary: which tables there are, and what each column holds."""

from collections.abc import Mapping
from functools import cache
from typing import Literal

from pydantic import TypeAdapter, model_validator

from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.resource_files import resource

ColumnType = Literal["text", "code", "integer", "number", "boolean", "time"]


class Column(StrictDataModel):
    """One column.

    Attributes:
        unit: UCUM code of its numbers; empty where there is none.
        values: every code that may stand in it; empty where any may.
        research: written only where scores are asked for.
        about: what it holds, for a reader of the data.
    """

    name: str
    type: ColumnType
    about: str
    unit: str = ""
    values: tuple[str, ...] = ()
    research: bool = False


class TableDefinition(StrictDataModel):
    """One table; `keys` name its rows."""

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
    return _TABLES.validate_python(read_toml(resource("report", "tables.toml")))


@cache
def cohort_definition() -> TableDefinition:
    """The table of many subjects' newest readings: cohort_table.toml."""
    return TableDefinition.model_validate(read_toml(resource("report", "cohort_table.toml")))


@cache
def _units() -> Mapping[str, str]:
    return _UNITS.validate_python(read_toml(resource("report", "units.toml")))


def ucum(unit: str) -> str:
    """The UCUM code of a unit as the service names it; an annotation in braces where there is no such unit."""
    if not unit:
        return "1"
    plain = "".join(letter for letter in unit if "!" <= letter <= "~" and letter not in "{}")
    return _units().get(unit, f"{{{plain}}}" if plain else "1")
