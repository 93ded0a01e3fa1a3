"""Colours of what is printed."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated

from pydantic import Field, model_validator

from vbdesk.contract.levels import Level
from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.resource_files import resource

Colour = Annotated[str, Field(pattern=r"^#[0-9A-F]{6}$")]


class Colours(StrictDataModel):
    """Colours by use: three strengths of text, edges, fills, and the accent, which never means a level."""

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


class LevelColours(StrictDataModel):
    """Colours of one level: `ink` of the word, `shape` of the glyph, `tint` behind both, `heat` of bars."""

    ink: Colour
    shape: Colour
    tint: Colour
    heat: Colour


class Look(StrictDataModel):
    """All of look.toml."""

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
    return Look.model_validate(read_toml(resource("report", "look.toml")))
