"""Colours of printed reports and exported charts."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Annotated

from pydantic import Field, model_validator

from vbdesk.contract.levels import Level
from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.resource_files import resource

Colour = Annotated[str, Field(pattern=r"^#[0-9A-F]{6}$")]


class Look(StrEnum):
    """Colours of reports and charts: as in the desk, for paper in grey, or safe for colour-blind readers."""

    LIGHT = "light"
    PRINT = "print"
    SAFE = "safe"

    @property
    def file(self) -> str:
        """Name of its file in `resources/report`."""
        return f"look-{self}.toml"


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


class DrawingPatterns(StrictDataModel):
    """Marks that keep their meaning without colour.

    Attributes:
        own_range_hatched: draw the subject's own range as hatching instead of an area.
        interval_edged: draw the edges of the estimate's interval.
        interval_opacity: of the interval's area.
        reading_opacity: of readings, where a subject has few and where it has many.
    """

    own_range_hatched: bool
    interval_edged: bool
    interval_opacity: Annotated[float, Field(ge=0.0, le=1.0)]
    reading_opacity: tuple[Annotated[float, Field(gt=0.0, le=1.0)], Annotated[float, Field(gt=0.0, le=1.0)]]


class DrawingStyle(StrictDataModel):
    """Content of a file of a look."""

    colour: DrawingColours
    pattern: DrawingPatterns
    level: Mapping[Level, DrawingLevelColours]

    @model_validator(mode="after")
    def _complete(self) -> "DrawingStyle":
        if set(self.level) != set(Level):
            raise ValueError("a level has no colours")
        return self


@cache
def style(look: Look = Look.LIGHT) -> DrawingStyle:
    """The validated style of a look."""
    return DrawingStyle.model_validate(read_toml(resource("report", look.file)))
