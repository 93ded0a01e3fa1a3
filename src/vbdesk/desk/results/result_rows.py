"""The rows of a result: one signal, one vocal feature; made on a worker."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vbdesk.contract.baseline_changes import OWN_RANGE_Z, Comparison
from vbdesk.contract.feature_texts import is_finding, plain_words
from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.contract.results import LongitudinalSignal, Signal, ValueInterpretation, VocalFeature
from vbdesk.desk.results.analysis_text import sign_text
from vbdesk.desk.results.repeatability import sign_repeatability
from vbdesk.language import _, formats, joined, ngettext
from vbdesk.report.reader_words import band_word, with_unit
from vbdesk.report.shipped_signs import ShippedSign, shipped_signs

if TYPE_CHECKING:
    from vbdesk.report.own_ranges import OwnRange

"""Within this many own variabilities a change is ordinary."""

BANDS = tuple(ValueInterpretation)
"""The five ordinal bands, from low to high."""


@dataclass(frozen=True, slots=True)
class Change:
    """A sign against the subject's own baseline.

    Attributes:
        arrow: icon.
        text: above, below or in the own normal range.
        sentence: the same at length.
        z: in units of the own variability.
        stands_out: outside the own normal range.
    """

    arrow: str
    text: str
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
    return FeatureRow(
        name=feature.feature,
        label=_(feature.label),
        value=with_unit(feature.value, feature.unit),
        number=feature.value,
        unit=feature.unit,
        band=BANDS.index(feature.value_interpretation),
        word=band_word(feature.value_interpretation),
        plain=plain_words(feature.feature),
        finding=is_finding(feature.feature, feature.value_interpretation),
        own="" if own is None else _own_text(own, feature.unit),
        own_stands_out=own is not None and (own.changed or own.position != "within"),
    )


def _own_text(own: "OwnRange", unit: str) -> str:
    ends = {"low": with_unit(own.low, ""), "high": with_unit(own.high, unit)}
    match own.position:
        case "below":
            sentence = _("Own usual range {low} to {high}: this one is below it.", **ends)
        case "above":
            sentence = _("Own usual range {low} to {high}: this one is above it.", **ends)
        case "within":
            sentence = _("Own usual range {low} to {high}: this one is within it.", **ends)
    if not own.changed:
        return sentence
    return joined(sentence, _("It differs from this person’s norm by more than chance."))


def own_ranges_note(rows: Iterable[FeatureRow | None]) -> str:
    """How often a feature is outside its own range by chance; empty where no row has such a range."""
    if not any(row is not None and row.own for row in rows):
        return ""
    return _(
        "A value outside the own usual range is ordinary: in about 3 of 10 recordings of a person who has not changed, "
        "at least one listed feature is outside. Another microphone or another task also moves features.",
    )


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
        about.append(_(reference.known))
    if reference is not None:
        about.extend(_twin_sentences(reference))
    about.extend(_healthy_share(signal, reference))
    return SignRow(
        name=signal.name,
        label=_(signal.label),
        level=signal.level,
        score=signal.score,
        change=change,
        no_change=_no_change(signal, comparison),
        evidence=reference.evidence_text(signal.evidence_grade) if reference else "",
        about=tuple(about),
        confounders=tuple(_(cause) for cause in reference.confounders) if reference else (),
        figures=_figures(signal, grade),
    )


def _no_change(signal: Signal, comparison: Comparison) -> str:
    if comparison is Comparison.EXCLUDED:
        return _("Excluded from the course")
    if not isinstance(signal, LongitudinalSignal):
        return _("Not compared")
    if comparison is Comparison.PENDING:
        return _("Not compared yet")
    return _("First recording")


def _why_no_baseline(signal: Signal, comparison: Comparison) -> str:
    """Why a sign that needs the person's own earlier recordings was judged without them."""
    if comparison is Comparison.EXCLUDED:
        return _(
            "This sign says more in comparison with this person's own earlier recordings. This recording is excluded "
            "from the person's course, so it is not compared."
        )
    if not isinstance(signal, LongitudinalSignal):
        return _(
            "This sign says more in comparison with this person's own earlier recordings. This analysis did not "
            "compare it with them."
        )
    if comparison is Comparison.PENDING:
        return _(
            "This sign says more in comparison with this person's own earlier recordings. The course was not "
            "read since this one, so the comparison is not known yet."
        )
    if comparison is Comparison.FIRST:
        return _(
            "This sign says more in comparison with this person's own earlier recordings. This is the first one, so "
            "it was compared with other people only."
        )
    return _(
        "This sign says more in comparison with this person's own earlier recordings. They do not suffice for a "
        "baseline yet, so it was compared with other people only."
    )


def _twin_sentences(reference: ShippedSign) -> Iterator[str]:
    """Which signs are nearly the same as this one, and what follows for its level."""
    for name, r in reference.twins.items():
        sign, correlation = sign_text(name), formats.figure(r, "+.2f")
        if r > 0:
            yield _(
                "Nearly the same as {sign}: the two move as one in healthy readers (correlation {r}). "
                "Read them as one finding.",
                sign=sign,
                r=correlation,
            )
        else:
            yield _(
                "Nearly the opposite of {sign}: in healthy readers one rises as the other falls (correlation {r}).",
                sign=sign,
                r=correlation,
            )
    if reference.held_low_by is not None:
        sign = sign_text(reference.held_low_by)
        yield _("{sign} has the stronger evidence, so this level never passes low.", sign=sign)


def _healthy_share(signal: Signal, reference: ShippedSign | None) -> list[str]:
    if reference is not None and not any(level.flagged for level in reference.score_cuts):
        return [_("This sign never passes low, so it flags nobody.")]
    known = sign_repeatability().get(signal.name)
    if known is None or known.healthy_share is None:
        return []
    return [
        ngettext(
            "Of 1000 healthy people who read aloud, this sign alone flags about {count}.",
            "Of 1000 healthy people who read aloud, this sign alone flags about {count}.",
            round(1000 * known.healthy_share),
        )
    ]


def _change(signal: Signal) -> Change | None:
    if not isinstance(signal, LongitudinalSignal) or signal.z_score is None:
        return None
    z, times = signal.z_score, abs(signal.z_score)
    above = z > 0
    if not (signal.anomaly or times > OWN_RANGE_Z):
        if above:
            sentence = _(
                "In this person's own range: {times:.1f} times this person's own variability above the baseline.",
                times=times,
            )
        else:
            sentence = _(
                "In this person's own range: {times:.1f} times this person's own variability below the baseline.",
                times=times,
            )
        return Change("equals", _("In own range"), sentence, z, stands_out=False)
    sentence = _beyond_baseline(times, above=above, unusual=bool(signal.anomaly))
    if above:
        return Change("arrow-up", _("Above baseline"), sentence, z, stands_out=True)
    return Change("arrow-down", _("Below baseline"), sentence, z, stands_out=True)


def _beyond_baseline(times: float, *, above: bool, unusual: bool) -> str:
    if above and unusual:
        return _(
            "Above baseline, by {times:.1f} times this person's own variability: unusual for this person.", times=times
        )
    if above:
        return _(
            "Above baseline, by {times:.1f} times this person's own variability; not enough yet to be called unusual.",
            times=times,
        )
    if unusual:
        return _(
            "Below baseline, by {times:.1f} times this person's own variability: unusual for this person.", times=times
        )
    return _(
        "Below baseline, by {times:.1f} times this person's own variability; not enough yet to be called unusual.",
        times=times,
    )


def _figures(signal: Signal, grade: str) -> tuple[tuple[str, str], ...]:
    figures = [(_("Score"), formats.number(signal.score, ".2f"))]
    if signal.score_interval is not None:
        low, high = signal.score_interval
        figures.append((_("Interval"), _("{low:.2f} to {high:.2f}", low=low, high=high)))
    if isinstance(signal, LongitudinalSignal):
        for name, value, form in (
            (_("Latest"), signal.latest_score, ".2f"),
            (_("Baseline"), signal.baseline_score, ".2f"),
            (_("Deviation"), signal.deviation_from_baseline, "+.2f"),
            # Translators: the z value of statistics.
            (_("z"), signal.z_score, "+.1f"),
            (_("Population z"), signal.population_z, "+.1f"),
        ):
            if value is not None:
                figures.append((name, formats.figure(value, form)))
    if grade:
        figures.append((_("Evidence"), _("grade {grade}", grade=grade)))
    if signal.sign_version:
        figures.append((_("Version"), signal.sign_version))
    return tuple(figures)
