"""The trimmed part of a recording."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrimRange:
    """A part of a recording, in seconds from its start."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Duration."""
        return self.end - self.start
