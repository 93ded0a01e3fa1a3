"""Cell types of tables; one delegate paints them all."""

from dataclasses import dataclass
from typing import Protocol

from vbdesk.contract.levels import Level
from vbdesk.language import _, formats
from vbdesk.outbox.library.states import STATE_TEXTS, OutboxState
from vbdesk.report.reader_words import level_word
from vbdesk.report.result_texts import overall_word


@dataclass(frozen=True, slots=True)
class LabelCell:
    """A sentence or a number.

    Attributes:
        ink: colour token.
        strong: in a heavier weight.
        right: aligned to the right edge.
        name: an id. Ids often differ at the end, so long ones are cut in the middle.
    """

    text: str
    ink: str = "text2"
    strong: bool = False
    right: bool = False
    name: bool = False


@dataclass(frozen=True, slots=True)
class TwoLineCell:
    """A name over a caption; a long name is cut in the middle."""

    first: str
    second: str

    @property
    def text(self) -> str:
        """Both lines, for a screen reader."""
        return f"{self.first}, {self.second}" if self.second else self.first


@dataclass(frozen=True, slots=True)
class StateCell:
    """The state of a recording in the outbox."""

    state: OutboxState

    @property
    def text(self) -> str:
        """The state in a word."""
        return _(STATE_TEXTS[self.state])


@dataclass(frozen=True, slots=True)
class LevelCell:
    """A level, or `detail` if there is none; of a sign, or the `overall` one of a recording."""

    level: Level | None
    detail: str = ""
    overall: bool = False

    @property
    def text(self) -> str:
        """The level in a word."""
        if self.level is None:
            return self.detail
        return overall_word(self.level) if self.overall else level_word(self.level)


@dataclass(frozen=True, slots=True)
class ProgressCell:
    """Progress: numbers, more text, and a bar."""

    figures: str
    more: str
    share: float

    @property
    def text(self) -> str:
        """The text above the bar."""
        return f"{self.figures} {self.more}".strip()


@dataclass(frozen=True, slots=True)
class ButtonCell:
    """A button; no button if `text` is empty. A quiet button is text only."""

    text: str
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A cell of a heat map.

    Attributes:
        text: for screen readers.
        level: colour and shape of the cell; None for neither.
        icon: shown instead of the shape, on a neutral background.
        figure: a number shown instead of the shape.
        strong: with a border, since the value is unusual.
    """

    text: str
    level: Level | None = None
    icon: str = ""
    figure: str = ""
    strong: bool = False


@dataclass(frozen=True, slots=True)
class LevelCountsCell:
    """Counts of each level, as a stacked bar of `total`."""

    counts: tuple[tuple[Level, int], ...]
    total: int

    @property
    def text(self) -> str:
        """The counts in words."""
        counts = [_("{level}: {count}", level=level_word(level), count=count) for level, count in self.counts if count]
        return formats.list_of(counts) if counts else _("nothing yet")


Cell = LabelCell | TwoLineCell | StateCell | LevelCell | ProgressCell | ButtonCell | HeatCell | LevelCountsCell


class Row(Protocol):
    """A row of a table."""

    @property
    def key(self) -> str:
        """Unique key of the row, independent of its content."""

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One cell for each column; read when the row is painted."""
