"""Colours of what is printed."""

import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from vbdesk.contract.levels import Level
from vbdesk.resource_files import resource

Colour = Annotated[str, Field(pattern=r"^#[0-9A-F]{6}$")]


class Colours(BaseModel):
    """Colours by use: three strengths of text, edges, fills, and the accent, which never means a level."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Colour
    text2: Colour
    text3: Colour
    border: Colour
    control: Colour
    surface: Colour
    quiet: Colour
    sunken: Colour
    band: Colour
    base: Colour
    accent: Colour


class LevelColours(BaseModel):
    """Colours of one level: `ink` of the word, `shape` of the glyph, `tint` behind both, `heat` of bars."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ink: Colour
    shape: Colour
    tint: Colour
    heat: Colour


class Look(BaseModel):
    """All of look.toml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    colour: Colours
    level: Mapping[Level, LevelColours]

    @model_validator(mode="after")
    def _complete(self) -> "Look":
        if set(self.level) != set(Level):
            raise ValueError("a level has no colours")
        return self


@cache
def look() -> Look:
    """The colours of look.toml, validated."""
    with resource("report", "look.toml").open("rb") as file:
        return Look.model_validate(tomllib.load(file))
