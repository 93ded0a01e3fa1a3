"""From the readings of one voice to the parts of a result."""

from collections.abc import Collection, Sequence

from vbdesk.contract.levels import overall_level, recommended_action
from vbdesk.contract.results import Description, Signal, Summary
from vbdesk.signs.narrative import render
from vbdesk.signs.passage import Passage
from vbdesk.signs.reference import Reference
from vbdesk.signs.scoring import Reading
from vbdesk.signs.vocal_features import choose_vocal_features

DECIMALS = 4
PRIMARY_COUNT = 3


def make_signal(reading: Reading, reference: Reference) -> Signal:
    """The reading as it goes over the wire."""
    interval = reading.interval
    return Signal(
        name=reading.sign.value,
        label=reading.sign.label,
        score=round(reading.score, DECIMALS),
        level=reading.level,
        flagged=reading.level.flagged,
        evidence_grade=reference.calibration.signs[reading.sign].evidence_grade,
        score_interval=None if interval is None else (round(interval[0], DECIMALS), round(interval[1], DECIMALS)),
        sign_version=reference.calibration.meta.version,
    )


def summarise_readings(
    readings: Sequence[Reading], passage: Passage, issues: Collection[str], reference: Reference
) -> Summary:
    """The result across all signs of a bundle, for one voice."""
    levels = [reading.level for reading in readings]
    action = recommended_action(levels)
    return Summary(
        overall_level=overall_level(levels),
        recommended_action=action,
        flagged_count=sum(level.flagged for level in levels),
        primary_signals=primary_signals(readings),
        description=Description(
            summary=render(readings, passage.z, issues, action, reference),
            vocal_features=choose_vocal_features(readings, passage, reference),
        ),
    )


def primary_signals(readings: Sequence[Reading]) -> list[str]:
    """The three signs of highest score on the wire, inconclusive ones included, ties in the order of the bundle."""
    ranked = sorted(readings, key=lambda reading: -round(reading.score, DECIMALS))
    return [reading.sign.value for reading in ranked[:PRIMARY_COUNT]]
