"""Extended metrics as rows for researchers: where they lie, their evidence, and why a sign says something else."""

from collections.abc import Sequence
from dataclasses import dataclass

from vbdesk.contract.levels import Level
from vbdesk.contract.results import ExtendedMetric, Signal
from vbdesk.language import _, joined
from vbdesk.report.reader_words import label_word, level_in_sentence
from vbdesk.report.shipped_metrics import ShippedMetric, shipped_metrics
from vbdesk.report.shipped_signs import ShippedSign, shipped_signs

_NEAR_AN_ANCHOR, _TOWARDS_AN_ANCHOR = 0.3, 0.12
"""From the middle of a metric's scale: from how far on words name the nearer anchor, and lean to it."""

_MOSTLY_Z = 1.96
"""Within this many standard errors lie 95 of 100 repeats with other words."""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One extended metric between two anchors; mean and spread are shares 0..1.

    Attributes:
        evidence: research support, and what it was validated against; empty for a metric that is not known here.
        expected: where it would lie had the person said other words.
        disagreement: why a sign of nearly the same name says something else; empty if none does.
    """

    label: str
    mean: float
    spread: float
    low: str
    high: str
    text: str
    evidence: str
    expected: str
    disagreement: str


def metric_rows(metrics: Sequence[ExtendedMetric], signals: Sequence[Signal]) -> tuple[MetricRow, ...]:
    """The rows of the metrics of one recording, next to its `signals`."""
    return tuple(_row(metric, signals) for metric in metrics)


def _row(metric: ExtendedMetric, signals: Sequence[Signal]) -> MetricRow:
    known = shipped_metrics().get(metric.metric_id)
    evidence = ""
    if known is not None:
        graded = _("{support} (grade {grade}).", support=known.evidence_text, grade=known.evidence_grade)
        evidence = joined(graded, _(known.kind))
    return MetricRow(
        label=_(metric.label),
        mean=metric.score_mean,
        spread=metric.score_std,
        low=_(metric.low_anchor),
        high=_(metric.high_anchor),
        text=_position(metric),
        evidence=evidence,
        expected=_("With other words of this person mostly {low:.2f} to {high:.2f}.", **_expected(metric)),
        disagreement="" if known is None else _disagreement(metric, known, signals),
    )


def _position(metric: ExtendedMetric) -> str:
    end = _end(metric)
    if not end:
        return _("In the middle")
    anchor = _anchor(metric, end)
    if abs(metric.score_mean - 0.5) >= _NEAR_AN_ANCHOR:
        return _("Near “{anchor}”", anchor=anchor)
    return _("Towards “{anchor}”", anchor=anchor)


def _expected(metric: ExtendedMetric) -> dict[str, float]:
    width = _MOSTLY_Z * metric.score_std
    return {"low": max(0.0, metric.score_mean - width), "high": min(1.0, metric.score_mean + width)}


def _end(metric: ExtendedMetric) -> str:
    """The end to which the metric leans: `low`, `high`, or empty in the middle."""
    off = metric.score_mean - 0.5
    if abs(off) < _TOWARDS_AN_ANCHOR:
        return ""
    return "high" if off > 0 else "low"


def _anchor(metric: ExtendedMetric, end: str) -> str:
    anchor = metric.high_anchor if end == "high" else metric.low_anchor
    return _(anchor)


def _disagreement(metric: ExtendedMetric, known: ShippedMetric, signals: Sequence[Signal]) -> str:
    end = _end(metric)
    for signal in signals:
        reference = shipped_signs().get(signal.name)
        corresponding = known.same_family.get(signal.name)
        if not end or reference is None or corresponding is None:
            continue
        if (signal.level is Level.NONE) if end == corresponding else signal.level.flagged:
            return _explained(metric, known, signal, reference, end)
    return ""


def _explained(metric: ExtendedMetric, known: ShippedMetric, signal: Signal, reference: ShippedSign, end: str) -> str:
    names = {"metric": label_word(metric.label), "anchor": _anchor(metric, end), "sign": label_word(signal.label)}
    if signal.level is Level.NONE:
        found = _("{metric} lies towards “{anchor}”, and the sign {sign} does not stand out.", **names)
    else:
        found = _(
            "{metric} lies towards “{anchor}”, and the sign {sign} is at the level “{level}”.",
            level=level_in_sentence(signal.level),
            **names,
        )
    why = _(
        "They are different measures: {metric} weighs {of_metric} features (evidence grade {metric_grade}), the sign "
        "weighs {of_sign} by published effects (evidence grade {sign_grade}), and {shared} of them are the "
        "same.",
        metric=label_word(metric.label),
        of_metric=len(known.features),
        metric_grade=known.evidence_grade,
        of_sign=len(reference.features),
        sign_grade=signal.evidence_grade or reference.evidence_grade,
        shared=len(known.features & reference.features),
    )
    if signal.score_interval is None:
        return joined(found, why)
    spread = _(
        "With other words of this person {metric} would mostly lie between {low:.2f} and {high:.2f}, and the score of "
        "the sign between {sign_low:.2f} and {sign_high:.2f}.",
        metric=label_word(metric.label),
        sign_low=signal.score_interval[0],
        sign_high=signal.score_interval[1],
        **_expected(metric),
    )
    return joined(found, why, spread)
