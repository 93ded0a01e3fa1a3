"""The tables of the tidy CSV as Parquet, with a type for every column. Needs pyarrow, which is an extra."""

import io
import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from vbdesk.language import message
from vbdesk.report.data_dictionary import DictionaryColumn, TableDefinition, table_definitions
from vbdesk.report.safe_text import safe_text
from vbdesk.report.subject_record import SubjectRecord
from vbdesk.report.tables import Row, Value
from vbdesk.report.tidy_csv import DICTIONARY_FILE, dictionary_csv, exported_rows

if TYPE_CHECKING:
    import pyarrow

_MISSING = message(
    "Parquet needs the package pyarrow, which is not installed. Install it with: pip install 'vbdesk[parquet]'. "
    "Or export the same tables with the format csv."
)


def require_pyarrow() -> None:
    """Check that Parquet can be written.

    Raises:
        ValueError: pyarrow is not installed; the message says what to do.
    """
    if find_spec("pyarrow") is None:
        raise ValueError(_MISSING)


def parquet_files(records: Sequence[SubjectRecord], *, scores: bool = True) -> Mapping[str, bytes]:
    """Tables and data dictionary by file name; deterministic for one version of pyarrow.

    Args:
        records: the subjects, in the order of the rows.
        scores: include raw scores and extended metrics, for research.

    Raises:
        ValueError: pyarrow is not installed.
    """
    require_pyarrow()
    tables = table_definitions()
    files = {
        f"{name}.parquet": _parquet(table, list(exported_rows(name, records, scores=scores)), scores=scores)
        for name, table in tables.items()
    }
    return {**files, DICTIONARY_FILE: dictionary_csv(tables, scores=scores)}


def _parquet(table: TableDefinition, rows: Sequence[Row], *, scores: bool) -> bytes:
    import pyarrow
    from pyarrow import parquet

    columns = table.columns_for(scores=scores)
    about = {"title": table.title, "keys": json.dumps(table.keys)}
    schema = pyarrow.schema([_field(column) for column in columns], metadata=about)
    arrays = [
        pyarrow.array([_value(row.get(column.name)) for row in rows], type=schema.field(column.name).type)
        for column in columns
    ]
    file = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_arrays(arrays, schema=schema), file, compression="zstd")
    return file.getvalue()


def _field(column: DictionaryColumn) -> "pyarrow.Field":
    import pyarrow

    types = {
        "text": pyarrow.string(),
        "code": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "boolean": pyarrow.bool_(),
        "time": pyarrow.timestamp("us", "UTC"),
    }
    facts = {"about": column.about, "unit": column.unit, "values": ";".join(column.values)}
    return pyarrow.field(column.name, types[column.type], metadata={name: fact for name, fact in facts.items() if fact})


def _value(value: Value) -> Value:
    """Text as every format can encode it. Unlike in CSV, no apostrophe: nothing runs a formula here."""
    return safe_text(value) if isinstance(value, str) else value
