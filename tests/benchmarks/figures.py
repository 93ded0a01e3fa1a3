"""One row of the table of figures: what was measured, against which bar, and whether it is met.

Every benchmark of the analysis exposes `rows()`, which yields its rows as they are measured; `analysis_figures.py`
collects them all. A row whose data or peer is not here is skipped, and says so.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

AUDIO = Path(__file__).parents[3] / "shared" / "audio"
DATA = Path(__file__).parents[1] / "data"


class Verdict(StrEnum):
    """How a figure stands to its bar."""

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
    """A figure with a bar."""
    return Row(topic, what, bar, measured, Verdict.MET if met else Verdict.MISSED, peer)


def reported(topic: str, what: str, measured: str, peer: str = "") -> Row:
    """A figure without a bar."""
    return Row(topic, what, "", measured, Verdict.NO_BAR, peer)


def skipped(topic: str, what: str, bar: str, reason: str) -> Row:
    """A figure that could not be measured here."""
    return Row(topic, what, bar, reason, Verdict.SKIPPED)


def show(rows: Iterable[Row]) -> list[Row]:
    """Print each row as soon as it is measured, and give them all."""
    shown = []
    for row in rows:
        peer = f"  (peer: {row.peer})" if row.peer else ""
        bar = f"  [bar: {row.bar}]" if row.bar else ""
        sys.stdout.write(f"{row.verdict:8}  {row.topic}: {row.what}: {row.measured}{bar}{peer}\n")
        sys.stdout.flush()
        shown.append(row)
    return shown
