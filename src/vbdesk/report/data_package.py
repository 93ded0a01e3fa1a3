"""Frictionless Data Package next to the tidy CSV: the schema of every table, from the data dictionary.

Tabular Data Package 1.0, which all readers know: https://specs.frictionlessdata.io/tabular-data-package/
"""

import json
from collections.abc import Mapping
from typing import Any

from vbdesk import __version__
from vbdesk.report.data_dictionary import ColumnType, DictionaryColumn, TableDefinition

PACKAGE_FILE = "datapackage.json"
_SUBJECT, _RECORDING = "group_id", "job_id"
_TYPES: Mapping[ColumnType, dict[str, Any]] = {
    "text": {"type": "string"},
    "code": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean", "trueValues": ["true"], "falseValues": ["false"]},
    "time": {"type": "datetime", "format": "any"},  # microseconds, which the default format does not have
}


def data_package(tables: Mapping[str, TableDefinition], *, scores: bool) -> bytes:
    """`datapackage.json` of the tables, with or without columns of raw scores; the same for all subjects."""
    document = {
        "profile": "tabular-data-package",
        "name": "vbdesk",
        "title": "Voice biomarker recordings",
        "description": f"Exported by vbdesk {__version__}. Signals, not diagnoses, and not clinically validated.",
        "resources": [_resource(name, table, scores=scores) for name, table in tables.items()],
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


def _resource(name: str, table: TableDefinition, *, scores: bool) -> dict[str, Any]:
    columns = table.columns_for(scores=scores)
    return {
        "profile": "tabular-data-resource",
        "name": name,
        "path": f"{name}.csv",
        "title": table.title,
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "dialect": {"delimiter": ",", "lineTerminator": "\n", "quoteChar": '"', "doubleQuote": True, "header": True},
        "schema": {
            "fields": [_field(column) for column in columns],
            "missingValues": [""],
            **_keys(name, table),
        },
    }


def _field(column: DictionaryColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        **_TYPES[column.type],
        "description": column.about,
        **({"unit": column.unit} if column.unit else {}),
        **({"constraints": {"enum": list(column.values)}} if column.values else {}),
    }


def _keys(name: str, table: TableDefinition) -> dict[str, Any]:
    """Primary key, and the recording that a row belongs to. A recording may be in the course of two subjects."""
    found: dict[str, Any] = {}
    if not table.partial_key:
        found["primaryKey"] = list(dict.fromkeys([_SUBJECT, *table.keys]))
    if name != "recordings" and _RECORDING in table.keys:
        fields = [_SUBJECT, _RECORDING]
        found["foreignKeys"] = [{"fields": fields, "reference": {"resource": "recordings", "fields": fields}}]
    return found
