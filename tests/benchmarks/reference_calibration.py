"""Reference and cut-points of signs and metrics, and how often healthy people are flagged, from measured readers.

Everything is computed as the product does it: norms by `measure_norms`, z widened for free speech, levels by
`score_sign`, with the recording's own clarity and bandwidth. With `cross_validated`, norms and cut-points come from
one half of the readers and rates from the other, both ways.
"""

import csv
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np

from vbdesk.contract.catalog import MODEL_SIGNS, ModelName, SignName
from vbdesk.contract.levels import LEVEL_ORDER, Level, recommended_action
from vbdesk.lab.corpus.journal import MeasurementJournal
from vbdesk.lab.corpus.measurement import MeasuredFile, extractor_fingerprint, file_digest
from vbdesk.lab.norms.norms_writer import measure_norms
from vbdesk.lab.norms.reference_group import ReferenceSpeaker
from vbdesk.signs.calibration import Calibration, SignCalibration
from vbdesk.signs.norms import Norms, VoicePosition, ZScores, logistic
from vbdesk.signs.reference_data import load_reference_data
from vbdesk.signs.scoring import (
    Reading,
    RecordingConditions,
    feature_contributions,
    measured_weight_share,
    score_sign,
)
from vbdesk.voice.measurement import Measurement

FEWEST = 20
STRETCH = (1.0, 1.35)
LOGIT_AT_MEAN = -float(np.log(4))  # score 0.2
LEVEL_CUTS = ("cut_low", "cut_consider", "cut_moderate", "cut_elevated")
MODEL_RATES = ("any_low_or_more", "any_flagged", "review_or_more", "escalate")


@dataclass(frozen=True)
class Reader:
    """One reader of a group, one recording."""

    name: str
    sex: str
    age: float | None
    measured: MeasuredFile

    @property
    def reference(self) -> ReferenceSpeaker:
        return ReferenceSpeaker(self.name, self.sex, self.age, self.measured.features)  # type: ignore[arg-type]


def read_group(folder: Path, table: Path, journal: Path) -> list[Reader]:
    """The readers of `table` that the journal of `vbdesk norms measure` holds."""
    known = MeasurementJournal(journal, extractor_fingerprint())
    readers = []
    with table.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found = known.find(file_digest(folder / row["path"]))
            if isinstance(found, MeasuredFile):
                readers.append(Reader(row["speaker"], row["sex"], float(row["age"]) if row["age"] else None, found))
    return readers


def z_of(norms: Norms, reader: Reader) -> tuple[ZScores, VoicePosition]:
    features = {name: Measurement(value) for name, value in reader.measured.features.items()}
    voice = norms.locate(features)
    return norms.standardise(features, voice), voice


def not_widened(norms: Norms) -> Norms:
    features = {
        name: norm.model_copy(update={"sd_inflation_free_speech": 1.0}) for name, norm in norms.features.items()
    }
    return norms.model_copy(update={"features": features})


def halved(readers: Sequence[Reader]) -> list[float]:
    """Weight of each reader: each sex counts as half of the group."""
    sexes = [reader.sex for reader in readers]
    return [0.5 / sexes.count(sex) for sex in sexes]


def weighted(values: Sequence[float], weights: Sequence[float]) -> tuple[float, float, float]:
    """Mean, SD and 95th percentile."""
    mean = float(np.average(values, weights=weights))
    sd = float(np.sqrt(np.average((np.array(values) - mean) ** 2, weights=weights)))
    top = float(np.quantile(values, 0.95, weights=np.array(weights), method="inverted_cdf"))
    return mean, sd, top


def measured_norms(readers: Sequence[Reader]) -> Norms:
    return Norms.model_validate(tomllib.loads(measure_norms([reader.reference for reader in readers], FEWEST).text))


def calibrated(calibration: Calibration, norms: Norms, readers: Sequence[Reader]) -> Calibration:
    """`calibration` with reference and cut-points of these readers, whose z are not widened.

    Cut-points are normal quantiles of the expected rates of the grade, times a stretch that fits the 95th percentile.
    """
    as_read = not_widened(norms)
    placed = [z_of(as_read, reader) for reader in readers]
    signs = {}
    for name, sign in calibration.signs.items():
        used = [
            (reader, z, voice)
            for reader, (z, voice) in zip(readers, placed, strict=True)
            if (sign.applies_to == "all" or reader.sex == "female")
            and measured_weight_share(sign, z, voice.tract_share) >= calibration.scoring.min_weight_available
        ]
        sums = [sum(feature_contributions(sign, z, voice.tract_share).values()) for _, z, voice in used]
        mean, sd, top = weighted(sums, halved([reader for reader, _, _ in used]))
        stretch = float(np.clip((top - mean) / sd / NormalDist().inv_cdf(0.95), *STRETCH))
        rates = calibration.levels.expected_rate[sign.evidence_grade]
        cuts = {
            key: float(f"{stretch * NormalDist().inv_cdf(1 - rates.at(level)):.4g}")
            for key, level in zip(LEVEL_CUTS, LEVEL_ORDER[1:], strict=True)
        }
        signs[name] = sign.model_copy(
            update={
                "reference_mean": float(f"{mean:.4g}"),
                "reference_sd": float(f"{sd:.4g}"),
                "logit_slope": float(f"{-LOGIT_AT_MEAN / cuts['cut_consider']:.5g}"),
                "cut_rationale": sign.cut_rationale.partition("stretch ")[0]
                + f"stretch {stretch:.2f}. "
                + sign.cut_rationale.partition("stretch ")[2].partition(". ")[2],
                **cuts,
            }
        )
    return calibration.model_copy(update={"signs": signs})


def without_arousal(
    sign: SignCalibration, arousal: Mapping[str, float], norms: Norms, readers: Sequence[Reader]
) -> tuple[float, dict[str, float]]:
    """Weights of `sign` that are uncorrelated with arousal among these readers, whose z are not widened.

    The evidence weights minus `share` times those of arousal, scaled to sum to 1; `share` is the slope of the evidence
    index on arousal.
    """
    as_read = not_widened(norms)
    placed = [z_of(as_read, reader)[0] for reader in readers]
    evidence = {row.feature: row.evidence_weight or 0.0 for row in sign.evidence}

    def index(weights: Mapping[str, float]) -> list[float]:
        return [sum(weight * z.get(feature, 0.0) for feature, weight in weights.items()) for z in placed]

    spread = np.cov(index(evidence), index(arousal), aweights=halved(readers))
    share = float(spread[0, 1] / spread[1, 1])
    left = {feature: weight - share * arousal.get(feature, 0.0) for feature, weight in evidence.items()}
    total = sum(map(abs, left.values()))
    return share, {feature: round(weight / total, 4) for feature, weight in left.items()}


def readings(norms: Norms, calibration: Calibration, reader: Reader) -> dict[SignName, Reading]:
    """Readings of every sign, as an analysis gives them."""
    z, voice = z_of(norms, reader)
    measured = reader.measured
    conditions = RecordingConditions(measured.speech_s, measured.voice_percentage, measured.audio_clarity, voice)
    return {
        name: score_sign(name, sign, calibration.scoring, z, conditions) for name, sign in calibration.signs.items()
    }


def halves(readers: Sequence[Reader]) -> Iterator[tuple[list[Reader], list[Reader]]]:
    """Two halves of the readers, each sex alike in both, and the same exchanged."""
    ordered = sorted(readers, key=lambda reader: (reader.sex, reader.name))
    yield ordered[0::2], ordered[1::2]
    yield ordered[1::2], ordered[0::2]


def cross_validated(
    native: Sequence[Reader], band: Mapping[str, Reader] | None = None, change: Callable[[Norms], Norms] | None = None
) -> list[dict[SignName, Reading]]:
    """Readings of every native reader by norms and cut-points of the other half.

    `band` gives other recordings; `change` is applied to the norms after the cut-points are set.
    """
    shipped = load_reference_data().calibration
    found = []
    for fitted, held_out in halves(native):
        norms = measured_norms(fitted)
        calibration = calibrated(shipped, norms, fitted)
        norms = norms if change is None else change(norms)
        for reader in held_out:
            own = reader if band is None else band.get(reader.name)
            if own is not None:
                found.append(readings(norms, calibration, own))
    return found


def flag_rate(group: Sequence[Mapping[SignName, Reading]], name: SignName) -> float:
    """Share of the readers with this sign at `consider` or above; inconclusive counts as not flagged."""
    return float(np.mean([own[name].level.flagged for own in group]))


def model_rates(group: Sequence[Mapping[SignName, Reading]], model: ModelName) -> dict[str, float]:
    """Shares of readers with a finding by any sign of a model."""
    rows = []
    for own in group:
        levels = [own[name].level for name in MODEL_SIGNS[model]]
        action = recommended_action(levels).value
        rows.append(
            (
                any(level not in (Level.NONE, Level.INCONCLUSIVE) for level in levels),
                any(level.flagged for level in levels),
                action in ("review", "escalate"),
                action == "escalate",
            )
        )
    return dict(zip(MODEL_RATES, np.mean(rows, axis=0).tolist(), strict=True))


def sign_correlations(
    norms: Norms, calibration: Calibration, group: Sequence[Reader], above: float
) -> list[tuple[str, str, float]]:
    """Pairs of signs whose index correlates beyond `above`, strongest first."""
    table = [readings(norms, calibration, reader) for reader in group]
    names = list(calibration.signs)
    index = np.array([[own[name].index if own[name].index is not None else np.nan for name in names] for own in table])
    pairs = []
    for first in range(len(names)):
        for second in range(first + 1, len(names)):
            both = np.isfinite(index[:, [first, second]]).all(axis=1)
            r = float(np.corrcoef(index[both][:, [first, second]].T)[0, 1])
            if abs(r) > above:
                pairs.append((names[first].value, names[second].value, round(r, 2)))
    return sorted(pairs, key=lambda pair: -abs(pair[2]))


def metric_reference(
    norms: Norms, weights: Mapping[str, float], readers: Sequence[Reader], min_weight_available: float
) -> tuple[float, float]:
    """Mean and SD of a metric's weighted sum among readers, z not widened; a missing feature adds nothing."""
    as_read = not_widened(norms)
    placed = [(reader, z_of(as_read, reader)[0]) for reader in readers]
    used = [
        (reader, z)
        for reader, z in placed
        if sum(abs(weight) for feature, weight in weights.items() if feature in z) >= min_weight_available
    ]
    sums = [sum(weight * z.get(feature, 0.0) for feature, weight in weights.items()) for _, z in used]
    mean, sd, _ = weighted(sums, halved([reader for reader, _ in used]))
    return mean, sd


def score_at(sign: SignCalibration, index: float) -> float:
    return logistic(sign.logit_intercept + sign.logit_slope * index)
