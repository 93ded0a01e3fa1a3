"""One row of the benchmark table: what was measured, its limit, and whether the limit is met.

Every benchmark of the analysis has a function `rows()`, which yields its rows when they are measured;
`analysis_figures.py` collects them. A row without its data or peer is skipped, and says so.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

AUDIO = Path(__file__).parents[3] / "shared" / "audio"
DATA = Path(__file__).parents[1] / "data"


class Verdict(StrEnum):
    """Whether a figure meets its limit."""

    MET = "met"
    MISSED = "missed"
    NO_BAR = "reported"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    Attributes:
        topic: what the row stands under in the table.
        what: which figure, on which recordings.
        bar: what it is held to, with its unit; empty without one.
        measured: the figure, with its unit; why not, when skipped.
        peer: the same of another program, measured in the same run; empty without one.
    """

    topic: str
    what: str
    bar: str
    measured: str
    verdict: Verdict
    peer: str = ""


def judged(topic: str, what: str, bar: str, measured: str, met: bool, peer: str = "") -> Row:
    """A figure with a limit."""
    return Row(topic, what, bar, measured, Verdict.MET if met else Verdict.MISSED, peer)


def reported(topic: str, what: str, measured: str, peer: str = "") -> Row:
    """A figure without a limit."""
    return Row(topic, what, "", measured, Verdict.NO_BAR, peer)


def skipped(topic: str, what: str, bar: str, reason: str) -> Row:
    """A figure that could not be measured here."""
    return Row(topic, what, bar, reason, Verdict.SKIPPED)


def show(rows: Iterable[Row]) -> list[Row]:
    """Print each row when it is measured, and return all rows."""
    shown = []
    for row in rows:
        peer = f"  (peer: {row.peer})" if row.peer else ""
        bar = f"  [bar: {row.bar}]" if row.bar else ""
        sys.stdout.write(f"{row.verdict:8}  {row.topic}: {row.what}: {row.measured}{bar}{peer}\n")
        sys.stdout.flush()
        shown.append(row)
    return shown
