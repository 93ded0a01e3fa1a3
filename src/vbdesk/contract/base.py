"""The base of every model on the wire."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class WireModel(BaseModel):
    """A frozen model; unknown fields on input are ignored, so that newer servers and older clients get on."""

    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())


def is_none(value: Any) -> bool:
    """Whether an optional field is left out of the JSON: use as `Field(default=None, exclude_if=is_none)`."""
    return value is None
