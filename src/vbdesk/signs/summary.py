"""Convert the readings of one passage to the parts of a result."""

from collections.abc import Collection, Sequence

from vbdesk.contract.levels import overall_level, recommended_action
from vbdesk.contract.results import Description, Signal, Summary, VocalFeature
from vbdesk.signs.narrative import contributing_features, named_readings, render_summary
from vbdesk.signs.norms import interpret
from vbdesk.signs.passage import Passage
from vbdesk.signs.reference_data import ReferenceData
from vbdesk.signs.scoring import Reading

DECIMALS = 4
PRIMARY_COUNT = 3


def make_signal(reading: Reading, reference: ReferenceData) -> Signal:
    """Convert a reading to its wire model."""
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
    readings: Sequence[Reading], passage: Passage, issues: Collection[str], reference: ReferenceData
) -> Summary:
    """Summarise all signs of a model for one passage."""
    levels = [reading.level for reading in readings]
    action = recommended_action(levels)
    return Summary(
        overall_level=overall_level(levels),
        recommended_action=action,
        flagged_count=sum(level.flagged for level in levels),
        primary_signals=primary_signals(readings),
        description=Description(
            summary=render_summary(readings, passage.z, issues, action, reference),
            vocal_features=choose_vocal_features(readings, passage, reference),
        ),
    )


def primary_signals(readings: Sequence[Reading]) -> list[str]:
    """The three signs with the highest score, inconclusive ones included, ties in the order of the model."""
    ranked = sorted(readings, key=lambda reading: -round(reading.score, DECIMALS))
    return [reading.sign.value for reading in ranked[:PRIMARY_COUNT]]


def choose_vocal_features(
    readings: Sequence[Reading], passage: Passage, reference: ReferenceData
) -> list[VocalFeature]:
    """The measured features to list: those of the named signs, strongest first, then the default ones."""
    choice = reference.narrative.rules.vocal_features
    named = named_readings(readings, reference.narrative.rules.length.max_signals)
    wanted = dict.fromkeys([*contributing_features(named), *choice.filler])
    listed = [feature for feature in wanted if feature in passage.z and feature not in choice.never]
    return [_vocal_feature(feature, passage, reference) for feature in listed[: choice.max_count]]


def _vocal_feature(feature: str, passage: Passage, reference: ReferenceData) -> VocalFeature:
    norm, value = reference.norms.features[feature], passage.features[feature].value
    if value is None:
        raise ValueError(f"{feature} was not measured")
    return VocalFeature(
        feature=feature,
        label=norm.label,
        value=round(value, DECIMALS),
        unit=norm.unit,
        value_interpretation=interpret(passage.z[feature]),
    )
