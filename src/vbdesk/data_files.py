"""TOML data files: the one reader, and the base of the models that check them."""

import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from vbdesk.language import message, plural_message, system_reason


class DataFileError(Exception):
    """A data file cannot be used; the message names the file, the field and the error."""


class DataModel(BaseModel):
    """A part of a data file. Unknown fields are ignored: they are notes for readers."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class StrictDataModel(DataModel):
    """A part of a data file in which an unknown field is an error."""

    model_config = ConfigDict(extra="forbid")


AnyData = TypeVar("AnyData", bound=DataModel)


def read_toml(path: Path) -> dict[str, Any]:
    """Read the TOML file at `path`, not validated. A byte order mark, as some editors write, is accepted.

    Raises:
        DataFileError: the file cannot be read, or is not TOML.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataFileError(
            message("{file} cannot be read: {cause}.", file=path.resolve().name, cause=system_reason(error))
        ) from error
    except UnicodeDecodeError as error:
        raise DataFileError(message("{file} is not text in UTF-8.", file=path.name)) from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, column = _place_of(error, text)
        raise DataFileError(
            message(
                "{file} is not valid TOML: line {line}, column {column}.",
                file=path.name,
                line=str(line),
                column=str(column),
            )
        ) from error
    except RecursionError as error:
        raise DataFileError(message("{file} is nested too deeply.", file=path.name)) from error


def _place_of(error: tomllib.TOMLDecodeError, text: str) -> tuple[int, int]:
    """Line and column of a fault, from 1; Python 3.11 has them in its English text only."""
    found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
    if found is not None:
        return int(found[1]), int(found[2])
    lines = text.split("\n")
    return len(lines), len(lines[-1]) + 1


def read_data(path: Path, kind: type[AnyData], context: dict[str, Any] | None = None) -> AnyData:
    """Read the TOML file at `path` as a `kind`; its validators get `context`.

    Raises:
        DataFileError: the file cannot be read, is not TOML, or is not a valid `kind`.
    """
    content = read_toml(path)
    try:
        return kind.model_validate(content, context=context)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        location = ".".join(str(part) for part in first["loc"]) or message("the file")
        own = first.get("ctx", {}).get("error")  # raised by a validator of ours, perhaps with a message
        reason = own if isinstance(own, ValueError) else first["msg"]
        more = error.error_count() - 1
        one = message("{file}: {place}: {reason}.", file=path.name, place=location, reason=reason)
        several = plural_message(
            "{file}: {place}: {reason} (and {count} more).",
            "{file}: {place}: {reason} (and {count} more).",
            more,
            file=path.name,
            place=location,
            reason=reason,
        )
        raise DataFileError(several if more else one) from error
