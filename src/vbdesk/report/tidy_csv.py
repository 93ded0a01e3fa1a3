"""Tidy CSV: UTF-8, comma, header, one observation per row, empty if missing.

Numbers have no thousands separator, times are RFC 3339 in UTC, booleans are true and false. Text that a spreadsheet
would run as a formula is prefixed with an apostrophe.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from vbdesk.contract.timestamps import format_timestamp
from vbdesk.report.data_dictionary import DictionaryColumn, TableDefinition, table_definitions
from vbdesk.report.safe_text import safe_text
from vbdesk.report.subject_record import SubjectRecord
from vbdesk.report.tables import Row, Value, table_rows

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\n", "＝", "＋", "－", "＠")
DICTIONARY_FILE = "data_dictionary.csv"
_DICTIONARY_HEADER = ("table", "column", "type", "unit", "values", "key", "about")


def csv_files(records: Sequence[SubjectRecord], *, scores: bool = True) -> Mapping[str, bytes]:
    """Tables and data dictionary by file name; deterministic.

    Args:
        records: the subjects, in the order of the rows.
        scores: include raw scores and extended metrics, for research.
    """
    files = {}
    for name, table in table_definitions().items():
        columns = table.columns_for(scores=scores)
        files[f"{name}.csv"] = _csv(_lines(columns, exported_rows(name, records, scores=scores)))
    files[DICTIONARY_FILE] = dictionary_csv(table_definitions(), scores=scores)
    return files


def exported_rows(table: str, records: Iterable[SubjectRecord], *, scores: bool) -> Iterator[Row]:
    """Rows of a table; without raw scores, there are no extended metrics either."""
    return (row for row in table_rows(table, records) if scores or row.get("kind") != "extended_metric")


def dictionary_csv(tables: Mapping[str, TableDefinition], *, scores: bool) -> bytes:
    """Data dictionary of `tables`, with or without columns of raw scores."""
    return _csv(_dictionary_lines(tables, scores=scores))


def csv_cell(value: Value) -> str:
    """Format a value for a CSV file; empty if missing."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case datetime():
            return format_timestamp(value)
    # many readers end a row at a lone carriage return, and the csv module does not quote it
    text = safe_text(value).replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _lines(columns: Sequence[DictionaryColumn], rows: Iterable[Row]) -> Iterable[Sequence[str]]:
    names = [column.name for column in columns]
    yield names
    for row in rows:
        yield [csv_cell(row.get(name)) for name in names]


def _dictionary_lines(tables: Mapping[str, TableDefinition], *, scores: bool) -> Iterable[Sequence[str]]:
    yield _DICTIONARY_HEADER
    for name, table in tables.items():
        for column in table.columns_for(scores=scores):
            key = csv_cell(column.name in table.keys)
            yield name, column.name, column.type, column.unit, ";".join(column.values), key, column.about


def _csv(lines: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode("utf-8")
