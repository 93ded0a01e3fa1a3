"""The summary for care staff: rules choose its sentences from written templates.

The order is quality (or else language), finding, features, evidence, an everyday cause, special sentences, action. The
text describes the recording and the voice, never the person. It names levels in words and gives no number.
"""

import re
from collections.abc import Collection, Iterable, Sequence

from vbdesk.contract.catalog import SignName
from vbdesk.contract.feature_texts import is_finding
from vbdesk.contract.levels import LEVEL_ORDER, Level, RecommendedAction, overall_level
from vbdesk.contract.results import IssueCode
from vbdesk.signs.calibration import SignCalibration
from vbdesk.signs.narrative_texts import Narrative, NarrativeTexts
from vbdesk.signs.norms import ZScores, interpret
from vbdesk.signs.reference_data import ReferenceData
from vbdesk.signs.scoring import Reading

NOISE_ISSUES = frozenset({IssueCode.HIGH_BACKGROUND_NOISE, IssueCode.NOISE_LIMITS_VOICE_QUALITY})


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
    narrative, texts = reference.narrative, reference.narrative.texts
    overall = overall_level(reading.level for reading in readings)
    named = named_readings(readings, narrative.rules.length.max_signals)
    signs = [reference.calibration.signs[reading.sign] for reading in named]
    signals = texts.list.join([texts.signs[reading.sign] for reading in named])
    caution = _quality(issues, texts)
    if not caution and reference.widening is not None and overall is not Level.INCONCLUSIVE:
        caution = [texts.features.compared_cautiously]
    sentences = [*caution, texts.finding[overall].format(signals=signals)]
    if named:
        sentences += [_heard(named, z, narrative), _evidence(signs, texts)]
    if overall.flagged:
        sentences.append(_cause(signs[0], issues, narrative))
    sentences += _special(readings, narrative)
    sentences.append(texts.action[action])
    return " ".join(sentences)


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


def _quality(issues: Collection[str], texts: NarrativeTexts) -> list[str]:
    return [sentence for code, sentence in texts.quality.items() if code.value in issues][:1]


def _heard(named: Sequence[Reading], z: ZScores, narrative: Narrative) -> str:
    """Name the features that raise the named signs and lie outside the normal range, in a direction that counts."""
    rules, texts = narrative.rules, narrative.texts
    clauses: list[str] = []
    for feature in contributing_features([_upward(reading) for reading in named]):
        if feature in rules.vocal_features.never or not is_finding(feature, interpret(z[feature])):
            continue
        clause = texts.clauses[feature].higher if z[feature] > 0 else texts.clauses[feature].lower
        if clause not in clauses:
            clauses.append(clause)
    if not clauses:
        return texts.features.none_stood_out
    return texts.features.heard.format(clauses=texts.list.join(clauses[: rules.length.max_features]))


def _upward(reading: Reading) -> Reading:
    risen = {feature: value for feature, value in reading.contributions.items() if value > 0}
    return Reading(reading.sign, reading.index, reading.score, reading.level, risen)


def _evidence(signs: Sequence[SignCalibration], texts: NarrativeTexts) -> str:
    grades = {"placeholder" if sign.placeholder else sign.evidence_grade for sign in signs}
    weakest_first: Iterable[tuple[str, str]] = [
        *(texts.evidence_of_several if len(grades) > 1 else []),
        *texts.evidence,
    ]
    return next(sentence for grade, sentence in weakest_first if grade in grades)


def _cause(sign: SignCalibration, issues: Collection[str], narrative: Narrative) -> str:
    causes, phrases = narrative.rules.causes, narrative.texts.causes
    fitting = [causes.always[confounder] for confounder in sign.confounders if confounder in causes.always]
    if NOISE_ISSUES.intersection(issues):
        noisy = [causes.in_noise[confounder] for confounder in sign.confounders if confounder in causes.in_noise]
        fitting = noisy + fitting
    return phrases.sentence.format(cause=phrases.phrase[fitting[0]])


def _special(readings: Sequence[Reading], narrative: Narrative) -> list[str]:
    levels: dict[SignName, Level] = {reading.sign: reading.level for reading in readings}
    return [
        narrative.texts.special[special.words]
        for special in narrative.rules.special
        if any(sign in levels and (special.always or levels[sign] in LEVEL_ORDER[1:]) for sign in special.signs)
    ]
