"""Data dictionary of the exports: tables, columns, units."""

from collections.abc import Mapping
from functools import cache
from typing import Literal

from pydantic import TypeAdapter, model_validator

from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.resource_files import resource

ColumnType = Literal["text", "code", "integer", "number", "boolean", "time"]


class DictionaryColumn(StrictDataModel):
    """One column of a table.

    Attributes:
        unit: UCUM code of its numbers; empty without a unit.
        values: the allowed codes; empty if any value is allowed.
        research: written only with raw scores.
        about: description for a reader of the data.
    """

    name: str
    type: ColumnType
    about: str
    unit: str = ""
    values: tuple[str, ...] = ()
    research: bool = False


class TableDefinition(StrictDataModel):
    """One table.

    Attributes:
        keys: the columns that identify a row of a subject.
        partial_key: one of them may be missing in a row.
    """

    title: str
    keys: tuple[str, ...]
    partial_key: bool = False
    columns: tuple[DictionaryColumn, ...]

    @model_validator(mode="after")
    def _consistent(self) -> "TableDefinition":
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names) or not set(self.keys) <= set(names):
            raise ValueError("a column is defined twice, or a key is not a column")
        return self

    def columns_for(self, *, scores: bool) -> tuple[DictionaryColumn, ...]:
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
    """The table of the newest readings of many subjects: cohort_table.toml."""
    return TableDefinition.model_validate(read_toml(resource("report", "cohort_table.toml")))


@cache
def _units() -> Mapping[str, str]:
    return _UNITS.validate_python(read_toml(resource("report", "units.toml")))


def ucum_code(unit: str) -> str:
    """UCUM code of a unit; an annotation in braces if UCUM does not have it."""
    if not unit:
        return "1"
    printable = "".join(letter for letter in unit if "!" <= letter <= "~" and letter not in "{}")
    return _units().get(unit, f"{{{printable}}}" if printable else "1")
