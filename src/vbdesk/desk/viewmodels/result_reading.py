"""A result put in words, rows and bands: all that the Result page shows. No Qt: made on a worker."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from vbdesk.contract.catalog import MODEL_SIGNS, ModelName
from vbdesk.contract.levels import Level, RecommendedAction, overall_level, recommended_action
from vbdesk.contract.results import (
    AudioQuality,
    ExtendedMetric,
    LongitudinalSignal,
    ModelResult,
    Result,
    Signal,
    ValueInterpretation,
    VocalFeature,
    signals_of,
)
from vbdesk.desk.sign_reference import SignReference, healthy_flagged_share, sign_references
from vbdesk.resource_files import resource

OWN_RANGE_Z = 1.96
"""Within this many own variabilities a change is ordinary."""

BANDS = tuple(ValueInterpretation)
"""The five ordinal bands, from low to high."""


@dataclass(frozen=True, slots=True)
class Change:
    """A sign against the subject's own baseline.

    Attributes:
        arrow: icon.
        words: above, below or in the own range.
        z: in own variabilities.
        stands_out: outside the own range.
    """

    arrow: str
    words: str
    z: float
    stands_out: bool


@dataclass(frozen=True, slots=True)
class SignRow:
    """One signal.

    Attributes:
        change: None at the first recording, or when history was not asked for.
        evidence: the evidence grade in words; empty when the sign is unknown here.
        about: what research knows, and which everyday causes sound the same.
        figures: what researchers read: score, interval, baseline, z.
    """

    name: str
    label: str
    level: Level
    change: Change | None
    evidence: str
    grade: str
    known: str
    confounders: tuple[str, ...]
    figures: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FeatureRow:
    """One vocal feature: value with unit, and which of the five bands it lies in."""

    label: str
    value: str
    band: int
    word: str


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One extended metric between its two anchors; mean and spread are shares 0..1."""

    label: str
    mean: float
    spread: float
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class ResultReading:
    """All that the Result page shows of one recording.

    Attributes:
        action: title and sentence of what is suggested.
        flagged_share: the share of healthy speakers that this model flags, as a sentence; empty when unknown.
        quality_notes: how many things are to be noted about the recording.
        raw: the result as JSON.
    """

    target: str
    level: Level
    action: tuple[str, str]
    signs: tuple[SignRow, ...]
    narrative: str
    features: tuple[FeatureRow, ...]
    metrics: tuple[MetricRow, ...]
    flagged_share: str
    quality: str
    quality_notes: int
    raw: str

    @property
    def longitudinal(self) -> bool:
        """Whether any sign is compared with the subject's own baseline."""
        return any(sign.change is not None for sign in self.signs)


def reading_of(result: Result, raw: str | None = None) -> ResultReading:
    """Put `result` in words. `raw` is the JSON to show; by default the result's own."""
    words, signals = _words(), signals_of(result)
    if isinstance(result, ModelResult):
        level, action = result.summary.overall_level, result.summary.recommended_action
        narrative, features = result.summary.description.summary, result.summary.description.vocal_features
        metrics = result.extended_metrics
    else:
        level = overall_level(signal.level for signal in signals)
        action, narrative, features, metrics = recommended_action([level]), "", [], []
    model = _model_of(signals) if isinstance(result, ModelResult) else None
    notes, quality = _quality(result.audio_quality, words)
    return ResultReading(
        target=f"Model {model.value}" if model else ", ".join(signal.label for signal in signals[:1]),
        level=level,
        action=_action(action, words),
        signs=tuple(_sign_row(signal) for signal in signals),
        narrative=narrative,
        features=tuple(_feature_row(feature) for feature in features),
        metrics=tuple(_metric_row(metric) for metric in metrics),
        flagged_share=_flagged_share(model),
        quality=quality,
        quality_notes=notes,
        raw=raw or json.dumps(result.model_dump(mode="json"), indent=2),
    )


def _model_of(signals: list[Signal]) -> ModelName | None:
    names = {signal.name for signal in signals}
    return next((name for name, signs in MODEL_SIGNS.items() if names == {sign.value for sign in signs}), None)


def _action(action: RecommendedAction, words: Mapping[str, Any]) -> tuple[str, str]:
    entry = words["action"][action.value]
    return entry["title"], entry["sentence"]


def _sign_row(signal: Signal) -> SignRow:
    reference = sign_references().get(signal.name)
    grade = signal.evidence_grade or (reference.evidence_grade if reference else "")
    return SignRow(
        name=signal.name,
        label=signal.label,
        level=signal.level,
        change=_change(signal),
        evidence=_evidence(signal, reference),
        grade=grade,
        known=reference.known if reference else "",
        confounders=reference.confounders if reference else (),
        figures=_figures(signal, grade),
    )


def _evidence(signal: Signal, reference: SignReference | None) -> str:
    """In words; the grade that came with the reading counts, unless no marker was ever confirmed."""
    if reference is None:
        return ""
    return reference.evidence_words_for(signal.evidence_grade)


def _change(signal: Signal) -> Change | None:
    if not isinstance(signal, LongitudinalSignal) or signal.z_score is None:
        return None
    z = signal.z_score
    if signal.anomaly or abs(z) > OWN_RANGE_Z:
        arrow, words = ("arrow-up", "Above baseline") if z > 0 else ("arrow-down", "Below baseline")
        return Change(arrow, words, z, stands_out=True)
    return Change("equals", "In own range", z, stands_out=False)


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


def _feature_row(feature: VocalFeature) -> FeatureRow:
    band = BANDS.index(feature.value_interpretation)
    word = feature.value_interpretation.value.capitalize()
    return FeatureRow(feature.label, f"{_rounded(feature.value)} {feature.unit}".replace("^2", "²").strip(), band, word)


def _rounded(value: float) -> str:
    """Three figures: what people can compare."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f}".replace("-", "−")


def _metric_row(metric: ExtendedMetric) -> MetricRow:
    return MetricRow(metric.label, metric.score_mean, metric.score_std, metric.low_anchor, metric.high_anchor)


def _flagged_share(model: ModelName | None) -> str:
    share = healthy_flagged_share().get(model.value) if model else None
    if share is None or model is None:
        return ""
    return (
        f"Model {model.value} flags about {share:.0%} of healthy speakers: of 100 people without any of these "
        f"conditions, about {share * 100:.0f} would show at least one signal at consider or above."
    )


def _quality(quality: AudioQuality, words: Mapping[str, Any]) -> tuple[int, str]:
    figures = []
    if quality.voice_percentage is not None:
        figures.append(f"Speech {quality.voice_percentage:.0f} %")
    if quality.audio_clarity is not None:
        figures.append(f"clarity {quality.audio_clarity:.0f} of 100")
    sentences = [", ".join(figures) + "."] if figures else []
    advice: list[str] = []
    for code in quality.issues:
        entry = words["issue"].get(code, words["issue"]["other"])
        sentences.append(entry["what"].format(code=code.replace("_", " ")))
        if entry["next_time"] not in advice:
            advice.append(entry["next_time"])
    if not quality.issues:
        sentences.append("Nothing to improve.")
    for place, sentence in enumerate(advice):
        sentences.append(f"Next time: {sentence[0].lower()}{sentence[1:]}" if place == 0 else sentence)
    return len(quality.issues), " ".join(sentences)


def title_of(recorded_at: datetime | None) -> str:
    """`Recording of 21 November, 10:41` in the local zone."""
    if recorded_at is None:
        return "Recording"
    local = recorded_at.astimezone()
    year = "" if local.year == datetime.now(local.tzinfo).year else f" {local.year}"
    return f"Recording of {local.day} {local:%B}{year}, {local:%H:%M}"


@cache
def _words() -> Mapping[str, Any]:
    """The texts; reads a file once, on the worker that first needs them.

    Raises:
        ValueError: an action has no words.
    """
    with resource("result_words.toml").open("rb") as file:
        words = tomllib.load(file)
    missing = {action.value for action in RecommendedAction} - set(words["action"])
    if missing or "other" not in words["issue"]:
        raise ValueError(f"result_words.toml lacks words for: {', '.join(sorted(missing)) or 'other issues'}")
    return words
