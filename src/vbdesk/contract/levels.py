"""Levels of signals, and the overall level and action derived from them."""

from collections.abc import Iterable, Sequence
from enum import StrEnum


class Level(StrEnum):
    """How strong a signal is; `inconclusive` has no place in the order."""

    NONE = "none"
    LOW = "low"
    CONSIDER = "consider"
    MODERATE = "moderate"
    ELEVATED = "elevated"
    INCONCLUSIVE = "inconclusive"

    @property
    def flagged(self) -> bool:
        """Whether a signal at this level is flagged."""
        return self in FLAGGED_LEVELS


class RecommendedAction(StrEnum):
    """The action that a set of levels suggests."""

    NONE = "none"
    MONITOR = "monitor"
    CONSIDER = "consider"
    REVIEW = "review"
    ESCALATE = "escalate"
    INCONCLUSIVE = "inconclusive"


LEVEL_ORDER: tuple[Level, ...] = (Level.NONE, Level.LOW, Level.CONSIDER, Level.MODERATE, Level.ELEVATED)
"""The conclusive levels from least to most."""

FLAGGED_LEVELS = frozenset({Level.CONSIDER, Level.MODERATE, Level.ELEVATED})


def overall_level(levels: Iterable[Level]) -> Level:
    """The highest conclusive level; `inconclusive` if there is none."""
    conclusive = [level for level in levels if level is not Level.INCONCLUSIVE]
    return max(conclusive, key=LEVEL_ORDER.index, default=Level.INCONCLUSIVE)


def recommended_action(levels: Sequence[Level]) -> RecommendedAction:
    """The action for all levels; if two rows of the interface's table apply, the stronger one wins."""
    highest = overall_level(levels)
    if highest is Level.CONSIDER and levels.count(Level.CONSIDER) >= 2:
        return RecommendedAction.REVIEW
    return _ACTION_AT[highest]


_ACTION_AT: dict[Level, RecommendedAction] = {
    Level.INCONCLUSIVE: RecommendedAction.INCONCLUSIVE,
    Level.NONE: RecommendedAction.NONE,
    Level.LOW: RecommendedAction.MONITOR,
    Level.CONSIDER: RecommendedAction.CONSIDER,
    Level.MODERATE: RecommendedAction.REVIEW,
    Level.ELEVATED: RecommendedAction.ESCALATE,
}
