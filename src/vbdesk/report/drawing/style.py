"""Colours of printed reports and exported charts."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated

from pydantic import Field, model_validator

from vbdesk.contract.levels import Level
from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.resource_files import resource

Colour = Annotated[str, Field(pattern=r"^#[0-9A-F]{6}$")]


class DrawingColours(StrictDataModel):
    """Colours by use; `accent` never means a level."""

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


class DrawingLevelColours(StrictDataModel):
    """Colours of a level: `ink` of text, `shape` of glyphs, `tint`, `heat` of bars."""

    ink: Colour
    shape: Colour
    tint: Colour
    heat: Colour


class DrawingStyle(StrictDataModel):
    """Colours of look.toml."""

    colour: DrawingColours
    level: Mapping[Level, DrawingLevelColours]

    @model_validator(mode="after")
    def _complete(self) -> "DrawingStyle":
        if set(self.level) != set(Level):
            raise ValueError("a level has no colours")
        return self


@cache
def style() -> DrawingStyle:
    """The colours of look.toml, validated."""
    return DrawingStyle.model_validate(read_toml(resource("report", "look.toml")))
