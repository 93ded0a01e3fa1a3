"""The summary that care staff read: sentences chosen by rules from written templates, never composed freely.

The order is quality, finding, features, weight of evidence, an everyday cause, special sentences, action. The text
speaks of the recording and the voice, never of the person; it names levels in words and no number.
"""

import re
from collections.abc import Collection, Iterable, Sequence

from vbdesk.contract.catalog import SignName
from vbdesk.contract.levels import LEVEL_ORDER, Level, RecommendedAction, overall_level
from vbdesk.contract.results import IssueCode, ValueInterpretation
from vbdesk.signs.calibration import SignCalibration
from vbdesk.signs.norms import Standardised, interpret
from vbdesk.signs.reference import Reference
from vbdesk.signs.scoring import Reading
from vbdesk.signs.wording import Wording, Words

NOISE_ISSUES = frozenset({IssueCode.HIGH_BACKGROUND_NOISE, IssueCode.NOISE_LIMITS_VOICE_QUALITY})


def named_readings(readings: Sequence[Reading], most: int) -> list[Reading]:
    """The readings that the text names: those at the overall level, if it is `low` or more, strongest first."""
    overall = overall_level(reading.level for reading in readings)
    if overall in (Level.NONE, Level.INCONCLUSIVE):
        return []
    at_level = [reading for reading in readings if reading.level is overall]
    return sorted(at_level, key=lambda reading: -reading.score)[:most]


def moving_features(named: Sequence[Reading]) -> list[str]:
    """Features of the named signs, those that moved one of them most first."""
    moved: dict[str, float] = {}
    for reading in named:
        for feature, contribution in reading.contributions.items():
            moved[feature] = max(moved.get(feature, 0.0), abs(contribution))
    return sorted(moved, key=lambda feature: -moved[feature])


def render(
    readings: Sequence[Reading],
    z: Standardised,
    issues: Collection[str],
    action: RecommendedAction,
    reference: Reference,
) -> str:
    """Write the summary of one voice.

    Args:
        readings: every sign of the bundle.
        z: features of the voice in the reference.
        issues: codes of what is wrong with the sound.
        action: what follows from the levels.
        reference: signs, and the words of a language.
    """
    wording, words = reference.wording, reference.wording.words
    overall = overall_level(reading.level for reading in readings)
    named = named_readings(readings, wording.rules.length.max_signals)
    signs = [reference.calibration.signs[reading.sign] for reading in named]
    signals = words.list.join([words.signs[reading.sign] for reading in named])
    sentences = [*_quality(issues, words), words.finding[overall].format(signals=signals)]
    if named:
        sentences += [_heard(named, z, wording), _evidence(signs, words)]
    if overall.flagged:
        sentences.append(_cause(signs[0], issues, wording))
    sentences += _special(readings, wording)
    sentences.append(words.action[action])
    return " ".join(sentences)


def with_history(text: str, sentence: str, words: Words) -> str:
    """Put a sentence about the subject's earlier recordings behind what was heard, or behind the finding."""
    anchors = [
        re.escape(words.features.heard).replace(r"\{clauses\}", "[^.]*"),
        re.escape(words.features.none_stood_out),
        re.escape(words.finding[Level.NONE]),
    ]
    found = next((match for anchor in anchors if (match := re.search(anchor, text))), None)
    if found is None:
        return text
    return f"{text[: found.end()]} {sentence}{text[found.end() :]}"


def _quality(issues: Collection[str], words: Words) -> list[str]:
    return [sentence for code, sentence in words.quality.items() if code.value in issues][:1]


def _heard(named: Sequence[Reading], z: Standardised, wording: Wording) -> str:
    """What moved the named signs up, if it stands out by itself."""
    rules, words = wording.rules, wording.words
    clauses: list[str] = []
    for feature in moving_features([_upward(reading) for reading in named]):
        if feature in rules.vocal_features.never or interpret(z[feature]) is ValueInterpretation.WITHIN_RANGE:
            continue
        clause = words.clauses[feature].higher if z[feature] > 0 else words.clauses[feature].lower
        if clause not in clauses:
            clauses.append(clause)
    if not clauses:
        return words.features.none_stood_out
    return words.features.heard.format(clauses=words.list.join(clauses[: rules.length.max_features]))


def _upward(reading: Reading) -> Reading:
    risen = {feature: value for feature, value in reading.contributions.items() if value > 0}
    return Reading(reading.sign, reading.index, reading.score, reading.level, risen)


def _evidence(signs: Sequence[SignCalibration], words: Words) -> str:
    grades = {"placeholder" if sign.placeholder else sign.evidence_grade for sign in signs}
    weakest_first: Iterable[tuple[str, str]] = [
        *(words.evidence_of_several if len(grades) > 1 else []),
        *words.evidence,
    ]
    return next(sentence for grade, sentence in weakest_first if grade in grades)


def _cause(sign: SignCalibration, issues: Collection[str], wording: Wording) -> str:
    causes, phrases = wording.rules.causes, wording.words.causes
    fitting = [causes.always[confounder] for confounder in sign.confounders if confounder in causes.always]
    if NOISE_ISSUES.intersection(issues):
        noisy = [causes.in_noise[confounder] for confounder in sign.confounders if confounder in causes.in_noise]
        fitting = noisy + fitting
    return phrases.sentence.format(cause=phrases.phrase[fitting[0]])


def _special(readings: Sequence[Reading], wording: Wording) -> list[str]:
    levels: dict[SignName, Level] = {reading.sign: reading.level for reading in readings}
    return [
        wording.words.special[special.words]
        for special in wording.rules.special
        if any(sign in levels and (special.always or levels[sign] in LEVEL_ORDER[1:]) for sign in special.signs)
    ]
