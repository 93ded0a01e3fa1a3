"""What can stand in a cell of a table; one delegate knows how to paint them all."""

from dataclasses import dataclass
from typing import Protocol

from vbdesk.contract.levels import Level
from vbdesk.outbox.library.states import OutboxState


@dataclass(frozen=True, slots=True)
class TextCell:
    """A sentence or a figure.

    Attributes:
        ink: colour token.
        strong: in a heavier weight.
        right: figures stand at the right edge.
    """

    text: str
    ink: str = "text2"
    strong: bool = False
    right: bool = False


@dataclass(frozen=True, slots=True)
class TwoLineCell:
    """A name over a caption."""

    first: str
    second: str

    @property
    def text(self) -> str:
        """Both, as a screen reader says them."""
        return f"{self.first}, {self.second}" if self.second else self.first


@dataclass(frozen=True, slots=True)
class StateCell:
    """The state of a recording in the outbox."""

    state: OutboxState

    @property
    def text(self) -> str:
        """The state in a word."""
        return self.state.value.replace("_", " ").capitalize()


@dataclass(frozen=True, slots=True)
class LevelCell:
    """A level; None where there is none to tell, with `words` in its place."""

    level: Level | None
    words: str = ""

    @property
    def text(self) -> str:
        """The level in a word."""
        return self.words if self.level is None else self.level.value.capitalize()


@dataclass(frozen=True, slots=True)
class ProgressCell:
    """How far something is: figures, what else there is to say, and a bar."""

    figures: str
    more: str
    share: float

    @property
    def text(self) -> str:
        """What stands above the bar."""
        return f"{self.figures} {self.more}".strip()


@dataclass(frozen=True, slots=True)
class ButtonCell:
    """A button; empty `text` for none. `quiet` ones are words only."""

    text: str
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A cell of a heat map.

    Attributes:
        text: what it says, for who cannot see it.
        level: paints the cell in its colour, with its shape; None for one without.
        icon: in place of the shape, on a quiet ground.
        figure: a number in place of the shape.
        strong: out of the ordinary, so it wears an edge.
    """

    text: str
    level: Level | None = None
    icon: str = ""
    figure: str = ""
    strong: bool = False


@dataclass(frozen=True, slots=True)
class LevelCountsCell:
    """How many there are of each level, as a bar of `total`."""

    counts: tuple[tuple[Level, int], ...]
    total: int

    @property
    def text(self) -> str:
        """The counts in words."""
        return ", ".join(f"{level.value} {count}" for level, count in self.counts if count) or "nothing yet"


Cell = TextCell | TwoLineCell | StateCell | LevelCell | ProgressCell | ButtonCell | HeatCell | LevelCountsCell


class Row(Protocol):
    """A row of a table."""

    @property
    def key(self) -> str:
        """What tells the row from all others, whatever its content."""

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One cell a column; asked for when the row is painted."""
