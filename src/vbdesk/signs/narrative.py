"""The facts of the narrative for care staff, from the readings of one passage."""

import re
from collections.abc import Collection, Sequence

from vbdesk.contract.feature_texts import is_finding
from vbdesk.contract.levels import Level, RecommendedAction, overall_level
from vbdesk.contract.narrative import PLACEHOLDER, NarrativeFacts, write_narrative
from vbdesk.contract.narrative_texts import NarrativeTexts
from vbdesk.signs.norms import ZScores, interpret
from vbdesk.signs.reference_data import ReferenceData
from vbdesk.signs.scoring import Reading


def named_readings(readings: Sequence[Reading], most: int) -> list[Reading]:
    """The readings that the text names: those at an overall level of `low` or more, highest score first."""
    overall = overall_level(reading.level for reading in readings)
    if overall in (Level.NONE, Level.INCONCLUSIVE):
        return []
    at_level = [reading for reading in readings if reading.level is overall]
    return sorted(at_level, key=lambda reading: -reading.score)[:most]


def contributing_features(named: Sequence[Reading]) -> list[str]:
    """Features of the named signs, largest contribution first."""
    moved: dict[str, float] = {}
    for reading in named:
        for feature, contribution in reading.contributions.items():
            moved[feature] = max(moved.get(feature, 0.0), abs(contribution))
    return sorted(moved, key=lambda feature: -moved[feature])


def render_summary(
    readings: Sequence[Reading],
    z: ZScores,
    issues: Collection[str],
    action: RecommendedAction,
    reference: ReferenceData,
) -> str:
    """Write the summary of one passage.

    Args:
        readings: every sign of the model.
        z: z values of the passage.
        issues: quality issue codes.
        action: the recommended action.
        reference: signs, and the texts of one language.
    """
    named = named_readings(readings, reference.narrative.rules.length.max_signals)
    signs = [reference.calibration.signs[reading.sign] for reading in named]
    facts = NarrativeFacts(
        overall=overall_level(reading.level for reading in readings),
        action=action,
        issues=issues,
        cautious=reference.widening is not None,
        named=[reading.sign for reading in named],
        heard=_heard(named, z),
        grades={PLACEHOLDER if sign.placeholder else sign.evidence_grade for sign in signs},
        confounders=signs[0].confounders if signs else (),
        levels={reading.sign: reading.level for reading in readings},
    )
    return write_narrative(facts, reference.narrative)


def _heard(named: Sequence[Reading], z: ZScores) -> list[tuple[str, bool]]:
    """Features that raise the named signs and lie outside the normal range, in a direction that counts."""
    raising = contributing_features([_upward(reading) for reading in named])
    return [(feature, z[feature] > 0) for feature in raising if is_finding(feature, interpret(z[feature]))]


def _upward(reading: Reading) -> Reading:
    risen = {feature: value for feature, value in reading.contributions.items() if value > 0}
    return Reading(reading.sign, reading.index, reading.score, reading.level, risen)


def add_history_sentence(text: str, sentence: str, texts: NarrativeTexts) -> str:
    """Insert a sentence about earlier recordings after the features, or else after the finding."""
    anchors = [
        re.escape(texts.features.heard).replace(r"\{clauses\}", "[^.]*"),
        re.escape(texts.features.none_stood_out),
        re.escape(texts.finding[Level.NONE]),
    ]
    found = next((match for anchor in anchors if (match := re.search(anchor, text))), None)
    if found is None:
        return text
    return f"{text[: found.end()]} {sentence}{text[found.end() :]}"
