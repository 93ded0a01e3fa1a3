"""The narrative for care staff, written from facts: the service and the desk write the same sentences.

The order is quality (or else language), finding, features, history, evidence, an everyday cause, special sentences,
action. The text describes the recording and the voice, never the person. It names levels in words and gives no number.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vbdesk.contract.catalog import SignName
from vbdesk.contract.levels import LEVEL_ORDER, Level, RecommendedAction, overall_level
from vbdesk.contract.narrative_texts import CauseRules, Narrative, NarrativeRules, NarrativeTexts
from vbdesk.contract.results import IssueCode, LongitudinalSignal

NOISE_ISSUES = frozenset({IssueCode.HIGH_BACKGROUND_NOISE, IssueCode.NOISE_LIMITS_VOICE_QUALITY})
PLACEHOLDER = "placeholder"
"""In place of the evidence grade of a sign without an established marker."""

History = Literal["changed", "changed_elsewhere", "unconfirmed", "in_line"]


@dataclass(frozen=True, slots=True)
class NarrativeFacts:
    """The facts that a narrative reports.

    Attributes:
        overall: the overall level.
        action: the recommended action.
        issues: quality issue codes.
        cautious: rate and pauses were compared more cautiously, because of the language.
        named: signs at an overall level of `low` or more, the strongest first.
        heard: features that raise the named signs and are findings, the strongest first, and whether each is higher.
        grades: evidence grades of the named signs, or `PLACEHOLDER`.
        confounders: of the strongest named sign.
        levels: of every sign.
        history: how the recording compares with the subject's earlier ones; None if there is nothing to report.
    """

    overall: Level
    action: RecommendedAction
    issues: Collection[str]
    cautious: bool
    named: Sequence[SignName]
    heard: Sequence[tuple[str, bool]]
    grades: Collection[str]
    confounders: Sequence[str]
    levels: Mapping[SignName, Level]
    history: History | None = None


def history_of(signals: Sequence[LongitudinalSignal], unconfirmed: Collection[str]) -> History | None:
    """What to say about the history; None without one, or without a change to report.

    Args:
        signals: of one recording.
        unconfirmed: slow signs with a change that was seen in one recording only.
    """
    overall = overall_level(signal.level for signal in signals)
    if overall is Level.INCONCLUSIVE:
        return None
    known = [signal for signal in signals if signal.baseline_score is not None]
    standing_out = [signal for signal in known if signal.level is overall and overall is not Level.NONE]
    if any(signal.anomaly for signal in standing_out):
        return "changed"
    if any(signal.anomaly for signal in known):
        return "changed_elsewhere"
    if any(signal.name in unconfirmed for signal in known):
        return "unconfirmed"
    return "in_line" if standing_out and overall.flagged else None


def write_narrative(facts: NarrativeFacts, narrative: Narrative) -> str:
    """Write the narrative in the language of `narrative`."""
    rules, texts = narrative.rules, narrative.texts
    signals = texts.list.join([texts.signs[sign] for sign in facts.named])
    caution = [sentence for code, sentence in texts.quality.items() if code.value in facts.issues][:1]
    if not caution and facts.cautious and facts.overall is not Level.INCONCLUSIVE:
        caution = [texts.features.compared_cautiously]
    sentences = [*caution, texts.finding[facts.overall].format(signals=signals)]
    if facts.named:
        sentences.append(_heard(facts, rules, texts))
    if facts.history is not None:
        sentences.append(getattr(texts.history, facts.history))
    if facts.named:
        sentences.append(_evidence(facts.grades, texts))
    if facts.overall.flagged:
        cause = everyday_cause(facts.confounders, facts.issues, rules.causes)
        sentences.append(texts.causes.sentence.format(cause=texts.causes.phrase[cause]))
    sentences += [texts.special[words] for words in special_words(facts.levels, rules)]
    sentences.append(texts.action[facts.action])
    return " ".join(sentences)


def _heard(facts: NarrativeFacts, rules: NarrativeRules, texts: NarrativeTexts) -> str:
    clauses = dict.fromkeys(
        texts.clauses[feature].higher if higher else texts.clauses[feature].lower
        for feature, higher in facts.heard
        if feature in texts.clauses and feature not in rules.vocal_features.never
    )
    if not clauses:
        return texts.features.none_stood_out
    return texts.features.heard.format(clauses=texts.list.join([*clauses][: rules.length.max_features]))


def _evidence(grades: Collection[str], texts: NarrativeTexts) -> str:
    weakest_first: Iterable[tuple[str, str]] = [
        *(texts.evidence_of_several if len(set(grades)) > 1 else []),
        *texts.evidence,
    ]
    return next(sentence for grade, sentence in weakest_first if grade in grades)


def everyday_cause(confounders: Sequence[str], issues: Collection[str], causes: CauseRules) -> str:
    """The everyday cause to name: one of a noisy recording first, where it is noisy."""
    fitting = [causes.always[confounder] for confounder in confounders if confounder in causes.always]
    if NOISE_ISSUES.intersection(issues):
        fitting = [causes.in_noise[each] for each in confounders if each in causes.in_noise] + fitting
    return fitting[0]


def special_words(levels: Mapping[SignName, Level], rules: NarrativeRules) -> list[str]:
    """Keys of the special sentences for these signs."""
    return [
        special.words
        for special in rules.special
        if any(sign in levels and (special.always or levels[sign] in LEVEL_ORDER[1:]) for sign in special.signs)
    ]
