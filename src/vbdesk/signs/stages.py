"""How long the stages of an analysis take, for whoever wants to know; nobody does by default."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

Stages = Callable[[str], AbstractContextManager[object]]
"""Called with the name of a stage, whose work is then done within the block; from any thread."""

ACTIVITY, QUALITY, FEATURES, SPEAKERS, SCORING, NARRATIVE = (
    "activity",
    "quality",
    "features",
    "speakers",
    "scoring",
    "narrative",
)


def untimed(_stage: str) -> AbstractContextManager[object]:
    """Take no time."""
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Lap:
    """A stage that was gone through: when it began, counted from the start of the stopwatch, and how long it took."""

    stage: str
    began_s: float
    seconds: float


class Stopwatch:
    """Times stages; a stage may come more than once, and two may overlap.

    Attributes:
        laps: in the order in which they ended.
    """

    def __init__(self) -> None:
        """Start."""
        self._zero = time.perf_counter()
        self.laps: list[Lap] = []

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Time the block; one that raises took its time too."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.laps.append(Lap(stage, began - self._zero, time.perf_counter() - began))
