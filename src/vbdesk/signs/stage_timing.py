"""Optional timing of the stages of an analysis."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

StageTimer = Callable[[str], AbstractContextManager[object]]
"""Called with a stage's name, from any thread; the work of the stage runs inside the returned context."""

ACTIVITY, QUALITY, FEATURES, SPEAKERS, SCORING, NARRATIVE = (
    "activity",
    "quality",
    "features",
    "speakers",
    "scoring",
    "narrative",
)


def no_timing(_stage: str) -> AbstractContextManager[object]:
    """Measure nothing."""
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Lap:
    """One timed stage; `began_s` counts from the start of the stopwatch."""

    stage: str
    began_s: float
    seconds: float


class Stopwatch:
    """Measure stages; a stage may repeat, and stages may overlap.

    Attributes:
        laps: in the order of their ends.
    """

    def __init__(self) -> None:
        """Start."""
        self._zero = time.perf_counter()
        self.laps: list[Lap] = []

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Time the block, also if it raises."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.laps.append(Lap(stage, began - self._zero, time.perf_counter() - began))
