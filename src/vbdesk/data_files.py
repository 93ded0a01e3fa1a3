"""TOML data files: the one reader, and the base of the models that check them."""

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError


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
    """Read the TOML file at `path`, not validated.

    Raises:
        DataFileError: the file cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataFileError(f"{path.resolve().name} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise DataFileError(f"{path.name} is not text in UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise DataFileError(f"{path.name} is not valid TOML: {error}.") from error
    except RecursionError as error:
        raise DataFileError(f"{path.name} is nested too deeply.") from error


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
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        reason = first["msg"].removeprefix("Value error, ")
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise DataFileError(f"{path.name}: {place}: {reason}{more}.") from error
