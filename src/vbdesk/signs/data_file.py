"""Data files that a person may edit, checked as they are read."""

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError


class DataFileError(Exception):
    """A data file is not what the analysis needs; the message names the file, the place and the fault."""


class DataModel(BaseModel):
    """A part of a data file. Fields that only people read are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class StrictDataModel(DataModel):
    """A part of a data file in which a field that is not known is a slip of the pen."""

    model_config = ConfigDict(extra="forbid")


AnyData = TypeVar("AnyData", bound=DataModel)


def read_data(path: Path, kind: type[AnyData], context: dict[str, Any] | None = None) -> AnyData:
    """Read the TOML file at `path` as a `kind`; `context` is what its validators compare it with.

    Raises:
        DataFileError: it is missing, is not TOML, or does not hold what it must.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataFileError(f"{path.resolve().name} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise DataFileError(f"{path.name} is not text in UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise DataFileError(f"{path.name} is not valid TOML: {error}.") from error
    except RecursionError as error:
        raise DataFileError(f"{path.name} is nested too deeply.") from error
    try:
        return kind.model_validate(content, context=context)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        reason = first["msg"].removeprefix("Value error, ")
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise DataFileError(f"{path.name}: {place}: {reason}{more}.") from error
