"""The narrative of a result in the reader's language, written from its signals."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from vbdesk.contract.baseline_changes import OWN_RANGE_Z
from vbdesk.contract.catalog import SignName
from vbdesk.contract.feature_texts import is_finding
from vbdesk.contract.levels import Level, overall_level
from vbdesk.contract.narrative import PLACEHOLDER, History, NarrativeFacts, history_of, write_narrative
from vbdesk.contract.narrative_texts import DEFAULT_LANGUAGE, Narrative, UnknownLanguage, read_narrative
from vbdesk.contract.results import LongitudinalSignal, Signal, Summary, ValueInterpretation, VocalFeature
from vbdesk.contract.spoken_language import is_widened
from vbdesk.language import current
from vbdesk.language.pseudo import PSEUDO, pseudo
from vbdesk.report.shipped_signs import ShippedSign, shipped_signs

"""Beyond so many own variabilities a change may be unusual; at a slow sign a later recording has to repeat it."""

_HIGH = frozenset({ValueInterpretation.HIGH, ValueInterpretation.SLIGHTLY_ELEVATED})


@dataclass(frozen=True, slots=True)
class ShownNarrative:
    """A narrative to show.

    Attributes:
        text: empty if the service gave none.
        of_service: it is the service's own text, in the language of the service.
    """

    text: str
    of_service: bool = False


def narrative_of(signals: Sequence[Signal], summary: Summary, issues: Collection[str]) -> ShownNarrative:
    """The narrative in the reader's language, or the service's own text if its signals are not known here.

    Args:
        signals: every signal of the result.
        summary: of the same result.
        issues: codes of the recording's quality issues.
    """
    text = summary.description.summary.strip()
    if not text:
        return ShownNarrative("")
    narrative = _narrative()
    known = _known_signs(signals)
    features = summary.description.vocal_features
    if known is None or any(feature.feature not in narrative.texts.clauses for feature in features):
        return ShownNarrative(text, of_service=True)
    written = write_narrative(_facts(signals, known, summary, issues, narrative.rules.length.max_signals), narrative)
    return ShownNarrative(pseudo(written) if current().name == PSEUDO else written)


def _narrative() -> Narrative:
    try:
        return read_narrative(current().tag)
    except UnknownLanguage:
        return read_narrative(DEFAULT_LANGUAGE)


def _known_signs(signals: Sequence[Signal]) -> Mapping[str, ShippedSign] | None:
    """The signs as they are shipped; None if one is not known, or is not from a calibration."""
    known = {signal.name: sign for signal in signals if (sign := shipped_signs().get(signal.name)) is not None}
    all_versioned = all(signal.sign_version for signal in signals)
    return known if all_versioned and len(known) == len({signal.name for signal in signals}) else None


def _facts(
    signals: Sequence[Signal],
    known: Mapping[str, ShippedSign],
    summary: Summary,
    issues: Collection[str],
    most: int,
) -> NarrativeFacts:
    overall = overall_level(signal.level for signal in signals)
    named: list[Signal] = []
    if overall not in (Level.NONE, Level.INCONCLUSIVE):
        at_level = [signal for signal in signals if signal.level is overall]
        named = sorted(at_level, key=lambda signal: -signal.score)[:most]
    return NarrativeFacts(
        overall=overall,
        action=summary.recommended_action,
        issues=issues,
        cautious=any(is_widened(signal.sign_version) for signal in signals),
        named=[SignName(signal.name) for signal in named],
        heard=_heard(summary.description.vocal_features, [known[signal.name] for signal in named]),
        grades={_grade(signal, known[signal.name]) for signal in named},
        confounders=known[named[0].name].confounders if named else (),
        levels={SignName(signal.name): signal.level for signal in signals},
        history=_history(signals, known),
    )


def _grade(signal: Signal, sign: ShippedSign) -> str:
    return PLACEHOLDER if sign.placeholder else signal.evidence_grade or sign.evidence_grade


def _heard(features: Sequence[VocalFeature], named: Sequence[ShippedSign]) -> list[tuple[str, bool]]:
    """Findings that raise a named sign. The service lists features of the named signs first, the strongest first."""
    heard = []
    for feature in features:
        name, higher = feature.feature, feature.value_interpretation in _HIGH
        raises = any((sign.weights[name] > 0) is higher for sign in named if name in sign.weights)
        if raises and is_finding(name, feature.value_interpretation):
            heard.append((name, higher))
    return heard


def _history(signals: Sequence[Signal], known: Mapping[str, ShippedSign]) -> History | None:
    compared = [signal for signal in signals if isinstance(signal, LongitudinalSignal)]
    far = [each for each in compared if not each.anomaly and abs(each.z_score or 0.0) > OWN_RANGE_Z]
    found = history_of(compared, [each.name for each in far if known[each.name].slow])
    return None if found == "in_line" and far else found
