"""BIDS tables: TSV with n/a for missing values, and JSON column descriptions."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vbdesk.contract.timestamps import format_timestamp
from vbdesk.report.bids.texts import bids_texts
from vbdesk.report.data_dictionary import DictionaryColumn
from vbdesk.report.safe_text import safe_text
from vbdesk.report.tables import Row, Value

MISSING = "n/a"


@dataclass(frozen=True, slots=True)
class DescribedColumn:
    """A column with its description."""

    name: str
    about: str
    unit: str = ""
    values: Sequence[str] = ()

    @classmethod
    def of(cls, column: DictionaryColumn) -> "DescribedColumn":
        """A column of the data dictionary."""
        return cls(column.name, column.about, column.unit, column.values)

    @classmethod
    def named(cls, name: str) -> "DescribedColumn":
        """A column described in bids.toml."""
        return cls(name, bids_texts().column[name])


def tsv(columns: Sequence[DescribedColumn], rows: Iterable[Row]) -> bytes:
    """Header and rows; every row has every column."""
    lines = ["\t".join(column.name for column in columns)]
    lines += ["\t".join(_cell(row.get(column.name)) for column in columns) for row in rows]
    return ("\n".join(lines) + "\n").encode("utf-8")


def column_descriptions(columns: Sequence[DescribedColumn], about: str = "") -> bytes:
    """JSON file of a table's columns; `about` describes the table."""
    document: dict[str, Any] = {"MeasurementToolMetadata": {"Description": about}} if about else {}
    for column in columns:
        entry: dict[str, Any] = {"Description": column.about}
        if column.unit:
            entry["Units"] = column.unit
        if column.values:
            entry["Levels"] = {value: value for value in column.values}
        document[column.name] = entry
    return as_json(document)


def as_json(document: Mapping[str, Any]) -> bytes:
    """Indented JSON."""
    return safe_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _cell(value: Value) -> str:
    match value:
        case None | "":
            return MISSING
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case datetime():
            return format_timestamp(value)
    return " ".join(safe_text(value).split()) or MISSING
