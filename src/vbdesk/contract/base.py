"""The base class of all wire models."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class WireModel(BaseModel):
    """A frozen model; unknown input fields are ignored, so that older clients work with newer servers."""

    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())


def is_none(value: Any) -> bool:
    """Whether `value` is None; `Field(default=None, exclude_if=is_none)` leaves a None out of the JSON."""
    return value is None
