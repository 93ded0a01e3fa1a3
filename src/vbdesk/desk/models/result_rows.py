"""The rows of a result: one signal, one vocal feature; made on a worker."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from vbdesk.contract.baseline_changes import Comparison
from vbdesk.contract.catalog import label_of
from vbdesk.contract.feature_texts import is_finding, plain_words
from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.contract.results import LongitudinalSignal, Signal, ValueInterpretation, VocalFeature
from vbdesk.desk.models.repeatability import sign_repeatability
from vbdesk.report.shipped_signs import ShippedSign, shipped_signs

if TYPE_CHECKING:
    from vbdesk.report.own_ranges import OwnRange

translate = QCoreApplication.translate

OWN_RANGE_Z = 1.96
"""Within this many own variabilities a change is ordinary."""

BANDS = tuple(ValueInterpretation)
"""The five ordinal bands, from low to high."""


@dataclass(frozen=True, slots=True)
class Change:
    """A sign against the subject's own baseline.

    Attributes:
        arrow: icon.
        words: above, below or in the own normal range.
        sentence: the same at length.
        z: in units of the own variability.
        stands_out: outside the own normal range.
    """

    arrow: str
    words: str
    sentence: str
    z: float
    stands_out: bool


@dataclass(frozen=True, slots=True)
class SignRow:
    """One signal.

    Attributes:
        change: None for the first recording, or if no history was requested.
        no_change: why there is none, as text.
        evidence: the evidence grade as text; empty for an unknown sign.
        about: research, how often healthy speakers are flagged, and how it compares, as sentences.
        confounders: everyday causes that sound the same.
        figures: for researchers: score, interval, baseline, z.
    """

    name: str
    label: str
    level: Level
    score: float
    change: Change | None
    no_change: str
    evidence: str
    about: tuple[str, ...]
    confounders: tuple[str, ...]
    figures: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FeatureRow:
    """One vocal feature: value with unit, and its band of five.

    Attributes:
        plain: the feature in everyday words; empty if it is not known here.
        finding: outside the normal range, in a direction that means something.
        own: for researchers, the subject's own usual range and where this recording lies; empty if it is not known.
        own_stands_out: outside that range, or beyond the limits for a change.
    """

    name: str
    label: str
    value: str
    number: float
    unit: str
    band: int
    word: str
    plain: str = ""
    finding: bool = False
    own: str = ""
    own_stands_out: bool = False


def sign_rows(signals: list[Signal], comparison: Comparison = Comparison.COMPARED) -> tuple[SignRow, ...]:
    """Rows of signals, by level, then by score, highest first; without a level last."""
    ordered = sorted(signals, key=lambda signal: (_rank(signal.level), signal.score), reverse=True)
    return tuple(_sign_row(signal, comparison) for signal in ordered)


def feature_row(feature: VocalFeature, own: "OwnRange | None" = None) -> FeatureRow:
    """The row of a vocal feature, with the subject's own usual range if it is known."""
    unit = feature.unit.replace("^2", "²")
    return FeatureRow(
        name=feature.feature,
        label=feature.label,
        value=with_unit(feature.value, unit),
        number=feature.value,
        unit=unit,
        band=BANDS.index(feature.value_interpretation),
        word=feature.value_interpretation.value.capitalize(),
        plain=plain_words(feature.feature),
        finding=is_finding(feature.feature, feature.value_interpretation),
        own="" if own is None else _own_words(own, unit),
        own_stands_out=own is not None and (own.changed or own.position != "within"),
    )


def _own_words(own: "OwnRange", unit: str) -> str:
    match own.position:
        case "below":
            words = translate("result", "Own usual range {low} to {high}: this one is below it.")
        case "above":
            words = translate("result", "Own usual range {low} to {high}: this one is above it.")
        case "within":
            words = translate("result", "Own usual range {low} to {high}: this one is within it.")
    sentence = words.format(low=with_unit(own.low, ""), high=with_unit(own.high, unit))
    if not own.changed:
        return sentence
    return f"{sentence} {translate('result', 'It differs from this person’s norm by more than chance.')}"


def own_ranges_note(rows: Iterable[FeatureRow | None]) -> str:
    """How often a feature is outside its own range by chance; empty where no row has such a range."""
    if not any(row is not None and row.own for row in rows):
        return ""
    return translate(
        "result",
        "A value outside the own usual range is ordinary: in about 3 of 10 recordings of a person who has not changed, "
        "at least one listed feature is outside. Another microphone or another task also moves features.",
    )


def with_unit(value: float, unit: str) -> str:
    """A value with three digits and its unit."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f} {unit}".replace("-", "−").strip()


def _rank(level: Level) -> int:
    return -1 if level is Level.INCONCLUSIVE else LEVEL_ORDER.index(level)


def _sign_row(signal: Signal, comparison: Comparison) -> SignRow:
    reference = shipped_signs().get(signal.name)
    grade = signal.evidence_grade or (reference.evidence_grade if reference else "")
    change = _change(signal)
    about = [] if change is None else [change.sentence]
    if change is None and reference is not None and reference.needs_baseline:
        about.append(_why_no_baseline(signal, comparison))
    if reference is not None and reference.known:
        about.append(reference.known)
    if reference is not None:
        about.extend(_twin_sentences(reference))
    about.extend(_healthy_share(signal, reference))
    return SignRow(
        name=signal.name,
        label=signal.label,
        level=signal.level,
        score=signal.score,
        change=change,
        no_change=_no_change(signal, comparison),
        evidence=reference.evidence_text(signal.evidence_grade) if reference else "",
        about=tuple(about),
        confounders=reference.confounders if reference else (),
        figures=_figures(signal, grade),
    )


def _no_change(signal: Signal, comparison: Comparison) -> str:
    if comparison is Comparison.EXCLUDED:
        return translate("Result", "Excluded from the course")
    if not isinstance(signal, LongitudinalSignal):
        return translate("Result", "Not compared")
    if comparison is Comparison.PENDING:
        return translate("Result", "Not compared yet")
    return translate("Result", "First recording")


def _why_no_baseline(signal: Signal, comparison: Comparison) -> str:
    """Why a sign that needs the person's own earlier recordings was judged without them."""
    if comparison is Comparison.EXCLUDED:
        return translate(
            "result",
            "This sign says more in comparison with this person's own earlier recordings. This recording is excluded "
            "from the person's course, so it is not compared.",
        )
    if not isinstance(signal, LongitudinalSignal):
        return translate(
            "result",
            "This sign says more in comparison with this person's own earlier recordings. This analysis did not "
            "compare it with them.",
        )
    if comparison is Comparison.PENDING:
        return translate(
            "result",
            "This sign says more in comparison with this person's own earlier recordings. The course was not "
            "read since this one, so the comparison is not known yet.",
        )
    if comparison is Comparison.FIRST:
        return translate(
            "result",
            "This sign says more in comparison with this person's own earlier recordings. This is the first one, so "
            "it was compared with other people only.",
        )
    return translate(
        "result",
        "This sign says more in comparison with this person's own earlier recordings. They do not suffice for a "
        "baseline yet, so it was compared with other people only.",
    )


def _twin_sentences(reference: ShippedSign) -> Iterator[str]:
    """Which signs are nearly the same as this one, and what follows for its level."""
    for name, r in reference.twins.items():
        if r > 0:
            sentence = translate(
                "Result",
                "Nearly the same as {sign}: the two move as one in healthy readers (correlation {r}). "
                "Read them as one finding.",
            )
        else:
            sentence = translate(
                "Result",
                "Nearly the opposite of {sign}: in healthy readers one rises as the other falls (correlation {r}).",
            )
        yield sentence.format(sign=label_of(name), r=f"{r:+.2f}".replace("-", "−"))
    if reference.held_low_by is not None:
        sentence = translate("Result", "{sign} has the stronger evidence, so this level never passes low.")
        yield sentence.format(sign=label_of(reference.held_low_by))


def _healthy_share(signal: Signal, reference: ShippedSign | None) -> list[str]:
    if reference is not None and not any(level.flagged for level in reference.score_cuts):
        return [translate("Result", "This sign never passes low, so it flags nobody.")]
    known = sign_repeatability().get(signal.name)
    if known is None or known.healthy_share is None:
        return []
    of_thousand = round(1000 * known.healthy_share)
    return [f"Of 1000 healthy people who read aloud, this sign alone flags about {of_thousand}."]


def _change(signal: Signal) -> Change | None:
    if not isinstance(signal, LongitudinalSignal) or signal.z_score is None:
        return None
    z = signal.z_score
    how_far = f"{abs(z):.1f} times this person's own variability"
    if not (signal.anomaly or abs(z) > OWN_RANGE_Z):
        side = "above" if z > 0 else "below"
        sentence = f"In this person's own range: {how_far} {side} the baseline."
        return Change("equals", "In own range", sentence, z, stands_out=False)
    arrow, words = ("arrow-up", "Above baseline") if z > 0 else ("arrow-down", "Below baseline")
    if signal.anomaly:
        sentence = f"{words}, by {how_far}: unusual for this person."
    else:
        sentence = f"{words}, by {how_far}; not enough yet to be called unusual."
    return Change(arrow, words, sentence, z, stands_out=True)


def _figures(signal: Signal, grade: str) -> tuple[tuple[str, str], ...]:
    figures = [("Score", f"{signal.score:.2f}")]
    if signal.score_interval is not None:
        figures.append(("Interval", "{:.2f} to {:.2f}".format(*signal.score_interval)))
    if isinstance(signal, LongitudinalSignal):
        for name, value, form in (
            ("Latest", signal.latest_score, ".2f"),
            ("Baseline", signal.baseline_score, ".2f"),
            ("Deviation", signal.deviation_from_baseline, "+.2f"),
            ("z", signal.z_score, "+.1f"),
            ("Population z", signal.population_z, "+.1f"),
        ):
            if value is not None:
                figures.append((name, format(value, form).replace("-", "−")))
    if grade:
        figures.append(("Evidence", f"grade {grade}"))
    if signal.sign_version:
        figures.append(("Version", signal.sign_version))
    return tuple(figures)
