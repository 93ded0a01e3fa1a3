"""The measured features that stand beside the summary."""

from collections.abc import Sequence

from vbdesk.contract.results import VocalFeature
from vbdesk.signs.narrative import moving_features, named_readings
from vbdesk.signs.norms import interpret
from vbdesk.signs.passage import Passage
from vbdesk.signs.reference import Reference
from vbdesk.signs.scoring import Reading

DECIMALS = 4


def choose_vocal_features(readings: Sequence[Reading], passage: Passage, reference: Reference) -> list[VocalFeature]:
    """Features of the named signs, strongest first, then the usual ones; those that were not measured are left out."""
    choice = reference.wording.rules.vocal_features
    named = named_readings(readings, reference.wording.rules.length.max_signals)
    wanted = dict.fromkeys([*moving_features(named), *choice.filler])
    listed = [feature for feature in wanted if feature in passage.z and feature not in choice.never]
    return [_entry(feature, passage, reference) for feature in listed[: choice.max_count]]


def _entry(feature: str, passage: Passage, reference: Reference) -> VocalFeature:
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
