"""From the index of a sign to its score and, by the cuts of its calibration, to its level."""

from typing import Protocol

from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.signs.norms import logistic

CUT_TOLERANCE = 1e-9  # an index equal to a cut reaches it despite rounding


class ScoreScale(Protocol):
    """The scale that turns an index into a score and a level; every calibration implements it."""

    @property
    def logit_intercept(self) -> float:
        """Logit of the score at index 0."""
        ...

    @property
    def logit_slope(self) -> float:
        """Change of that logit per unit of the index."""
        ...

    @property
    def cuts(self) -> dict[Level, float]:
        """Index from which each level holds, in ascending order."""
        ...

    @property
    def max_level(self) -> Level:
        """Highest level that the evidence allows."""
        ...


def index_to_score(sign: ScoreScale, index: float) -> float:
    """Convert an index to the score, 0 to 1: 0.2 at the healthy mean, 0.5 at the cut for `consider`."""
    return logistic(sign.logit_intercept + sign.logit_slope * index)


def index_to_level(sign: ScoreScale, index: float) -> Level:
    """Convert an index to the highest level whose cut it reaches, at most `max_level`."""
    reached = Level.NONE
    for level, cut in sign.cuts.items():
        if index >= cut - CUT_TOLERANCE:
            reached = level
    return min(reached, sign.max_level, key=LEVEL_ORDER.index)
