"""Write the norms file of a measured group: shipped definitions, measured numbers."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray
from scipy.stats import linregress

from vbdesk.contract.catalog import SignName
from vbdesk.data_files import read_data, read_toml
from vbdesk.lab.checked_file import write_checked
from vbdesk.lab.corpus.measurement import extractor_fingerprint
from vbdesk.lab.norms.reference_group import ReferenceSpeaker, Sex
from vbdesk.lab.norms.spread import (
    ClassSpread,
    class_entry,
    line_through,
    mixed_entry,
    significant,
    spread_of,
)
from vbdesk.resource_files import resource
from vbdesk.signs.calibration import Calibration
from vbdesk.signs.norms import PITCH_ORIGIN_HZ, FeatureNorm, Norms
from vbdesk.signs.reference_data import load_reference_data
from vbdesk.signs.scoring import feature_contributions, measured_weight_share, sign_applies
from vbdesk.voice.measurement import Measurement

FEWEST_FOR_AGE = 20
CLEAR_T = 3.0  # t value of an age slope; strict because 36 features in two classes are tested
MIDDLE_AGE = 32.0
GROUPS_ALONG_PITCH = frozenset({"voice quality", "spectrum", "resonance"})
"""Groups of features that depend on the pitch of a voice by the physics of the source or of its measurement.

Timing, loudness and intonation may go with pitch, too, but as part of the same state, which must not be taken out."""

_ONLY_OF_THE_SHIPPED = ("n_native", "n_over_60", "source_cites", "licence_note", "why_measured")
_HEADER = """\
# Acoustic norms measured with vbdesk's own extractor by `vbdesk norms measure`.
# Definitions and texts are those of the shipped norms; numbers marked norm_source = "measured" were measured here.
"""


@dataclass(frozen=True, slots=True)
class MeasuredNorms:
    """A norms file and its statistics.

    Attributes:
        text: the file's content.
        measured: number of features with measured numbers.
        kept: features that keep the shipped numbers, with the reason.
        at_limit: number of speakers on the floor or ceiling, by feature.
        signs: number of signs with a measured reference.
    """

    text: str
    measured: int
    kept: Mapping[str, str]
    at_limit: Mapping[str, int]
    signs: int


def measure_norms(group: Sequence[ReferenceSpeaker], fewest: int, language: str = "en") -> MeasuredNorms:
    """Measure the norms of `group`, who read their first language, the BCP 47 tag `language`.

    A feature with fewer than `fewest` speakers in a class keeps its shipped numbers.
    """
    shipped_path = resource("norms", "norms.toml")
    shipped = read_data(shipped_path, Norms)
    content: dict[str, Any] = read_toml(shipped_path)
    kept: dict[str, str] = {}
    at_limit: dict[str, int] = {}
    pitches = _pitches(group)
    for name, norm in shipped.features.items():
        values: dict[Sex, list[tuple[float, float | None]]] = {"male": [], "female": []}
        for speaker in group:
            if name in speaker.features:
                values[speaker.sex].append((speaker.features[name], speaker.age))
        reason = _reason_to_keep(norm, values, fewest)
        entry = content["feature"][name]
        if reason is not None:
            kept[name] = reason
            entry["norm_source"] = f"kept from the shipped norms: {reason}"
            continue
        at_limit[name] = _replace_numbers(entry, norm, values)
        if name == "pitch_mean":
            entry.pop("reference", None)  # compared with both groups, by the share of the tract
        elif norm.group in GROUPS_ALONG_PITCH:
            entry["reference"] = _along_pitch(norm, name, group, pitches)
        else:
            entry["reference"] = {"t_mean": entry["mixed"]["t_mean"], "t_sd": entry["mixed"]["t_sd"]}
    content["meta"] = {**_meta(content["meta"], group), "language": language}
    content["voice_class"] = {**content["voice_class"], **_voice_class(group, pitches, fewest)}
    content.pop("calibration", None)
    references = sign_references(Norms.model_validate(content), load_reference_data().calibration, group, fewest)
    if references:
        content["sign_reference"] = {name.value: entry for name, entry in references.items()}
    text = _HEADER + "\n" + tomli_w.dumps(content)
    limited = {name: count for name, count in at_limit.items() if count}
    return MeasuredNorms(text, len(at_limit), kept, limited, len(references))


def write_norms(norms: MeasuredNorms, path: Path) -> None:
    """Write the file atomically, after checking that it can be read.

    Raises:
        DataFileError: the file is not valid, which is a bug.
        OSError: the file cannot be written.
    """
    write_checked(path, norms.text, lambda draft: read_data(draft, Norms))


def _reason_to_keep(
    norm: FeatureNorm, values: Mapping[Sex, Sequence[tuple[float, float | None]]], fewest: int
) -> str | None:
    counts = {sex: len(found) for sex, found in values.items()}
    if min(counts.values()) < fewest:
        return f"measured in {counts['male']} male and {counts['female']} female speakers, {fewest} of each are needed"
    if any(spread_of(norm, [value for value, _ in found]).sd == 0 for found in values.values()):
        return "it did not vary"
    return None


def _replace_numbers(
    entry: dict[str, Any], norm: FeatureNorm, values: Mapping[Sex, Sequence[tuple[float, float | None]]]
) -> int:
    """Write the measured numbers into a feature's entry; return the number of speakers on its floor or ceiling."""
    spreads = {sex: spread_of(norm, [value for value, _ in found]) for sex, found in values.items()}
    male, female = spreads["male"], spreads["female"]
    entry["norm_source"] = "measured"
    entry["norm_cites"] = []
    pooled = np.sqrt((male.sd**2 + female.sd**2) / 2)
    entry["sex_difference_d"] = significant(float((female.mean - male.mean) / pooled), 3)
    entry["male"], entry["female"] = class_entry(norm, male), class_entry(norm, female)
    entry["mixed"] = mixed_entry(norm, male, female)
    slopes = {sex: _age_slope(norm, spreads[sex], values[sex]) for sex in values}
    entry["age_slope"] = {sex: slope for sex, slope in slopes.items() if slope is not None}
    if not entry["age_slope"]:
        del entry["age_slope"]
    return male.at_limit + female.at_limit


def _age_slope(
    norm: FeatureNorm, spread: ClassSpread, values: Sequence[tuple[float, float | None]]
) -> dict[str, float | bool] | None:
    """Slope in SD per decade of age within a class; None with too few known ages."""
    known = [(age, norm.transform(value)) for value, age in values if age is not None]
    if len(known) < FEWEST_FOR_AGE or len({age for age, _ in known}) < 2:
        return None
    ages, transformed = (np.array(column) for column in zip(*sorted(known), strict=True))
    line = linregress((ages - MIDDLE_AGE) / 10, (transformed - spread.mean) / spread.sd)
    t_value = float(line.slope / line.stderr)
    return {
        "sd_per_decade": significant(float(line.slope), 3),
        "t_value": significant(t_value, 3),
        "significant": bool(abs(t_value) >= CLEAR_T),
    }


def _pitches(group: Sequence[ReferenceSpeaker]) -> dict[str, tuple[float, float]]:
    """Maps speaker to mean pitch and to the pitch that is usual for the tract, in semitones re 150 Hz."""
    found = {}
    for speaker in group:
        hertz, residual = speaker.features.get("pitch_mean"), speaker.features.get("pitch_tract_residual")
        if hertz is not None and residual is not None:
            pitch = 12 * float(np.log2(hertz / PITCH_ORIGIN_HZ))
            found[speaker.name] = (pitch, pitch - residual)
    return found


def _along_pitch(
    norm: FeatureNorm, name: str, group: Sequence[ReferenceSpeaker], pitches: Mapping[str, tuple[float, float]]
) -> dict[str, float]:
    """Line of the transformed feature over pitch, each sex weighted as half of the group."""
    known = [speaker for speaker in group if name in speaker.features and speaker.name in pitches]
    counts = {sex: sum(speaker.sex == sex for speaker in known) for sex in ("male", "female")}
    line = line_through(
        np.array([pitches[speaker.name][0] for speaker in known]),
        np.array([norm.transform(speaker.features[name]) for speaker in known]),
        np.array([1 / counts[speaker.sex] for speaker in known]),
    )
    return {
        "t_mean": significant(line.mean, 5),
        "t_slope": significant(line.slope, 4),
        "t_sd": significant(line.sd, 5),
    }


def _voice_class(
    group: Sequence[ReferenceSpeaker], pitches: Mapping[str, tuple[float, float]], fewest: int
) -> dict[str, Any]:
    """Logistic models of the sex of the speakers on pitch and tract; nothing with too few speakers."""
    known = [speaker for speaker in group if speaker.name in pitches]
    female = np.array([speaker.sex == "female" for speaker in known], dtype=bool)
    if min(np.sum(female), np.sum(~female)) < fewest:
        return {}
    pitch, tract = np.array([pitches[speaker.name] for speaker in known]).T
    both = fit_logistic(np.stack([pitch, tract], axis=1), female)
    alone = fit_logistic(tract[:, None], female)
    logit = both[0] + both[1] * pitch + both[2] * tract
    alone_logit = alone[0] + alone[1] * tract
    names = ("intercept", "pitch", "tract", "tract_alone_intercept", "tract_alone")
    agreement = {"measured_agreement": logit, "measured_agreement_tract_alone": alone_logit}
    return {
        **{key: significant(float(value), 5) for key, value in zip(names, [*both, *alone], strict=True)},
        **{key: significant(float(np.mean((found > 0) == female)), 4) for key, found in agreement.items()},
        "n": len(known),
        "note": "Each sex weighs as half. Agreement with the sex in the table of speakers, in the same speakers.",
    }


def _meta(shipped: Mapping[str, Any], group: Sequence[ReferenceSpeaker]) -> dict[str, Any]:
    people = [[speaker.name, speaker.sex, speaker.age, sorted(speaker.features.items())] for speaker in group]
    digest = hashlib.sha256(json.dumps(people).encode()).hexdigest()[:12]
    meta = {key: value for key, value in shipped.items() if key not in (*_ONLY_OF_THE_SHIPPED, "telephone")}
    for key in ("age_mean", "age_sd", "age_min", "age_max"):
        meta.pop(key, None)
    ages = [speaker.age for speaker in group if speaker.age is not None]
    if len(ages) > 1:
        meta |= {"n_with_age": len(ages), "age_mean": significant(float(np.mean(ages)), 4)}
        meta |= {"age_sd": significant(float(np.std(ages, ddof=1)), 4), "age_min": min(ages), "age_max": max(ages)}
    own_words = {
        "version": f"{shipped['version']}+measured.{digest}",
        "status": "measured at this site, not clinically validated",
        "extractor": f"vbdesk {version('vbdesk')} ({extractor_fingerprint()}); audio mono, resampled to 16 kHz",
        "norm_source": "Values under male, female and mixed are MEASURED by this extractor on recordings of this site.",
        "robust": "One value a speaker, the mean over the recordings. Values are held to the 1st and 99th percentile. "
        "Values on a floor or ceiling count as censored (maximum likelihood). Nobody is left out.",
        "age_bands": "Age bands are not tabulated. Use age_slope (SD per decade from age 32, within sex) only where "
        "significant = true, and cap the correction at 3 decades.",
        "n_male": sum(speaker.sex == "male" for speaker in group),
        "n_female": sum(speaker.sex == "female" for speaker in group),
    }
    return {**meta, **own_words, "telephone": shipped["telephone"]}


PENALTY = 1.0  # on squared weights of standardised columns; keeps the weights of separable groups finite
STEPS = 50

Floats = NDArray[np.float64]


def fit_logistic(columns: Floats, female: NDArray[np.bool_]) -> Floats:
    """Intercept and weight of each column, shape (n, k), by Newton's method; each sex weighs as half of the group."""
    middle, scale = columns.mean(axis=0), columns.std(axis=0)
    design = np.concatenate([np.ones((len(columns), 1)), (columns - middle) / scale], axis=1)
    weights = np.where(female, 0.5 / female.sum(), 0.5 / (~female).sum()) * len(female)
    ridge = PENALTY * np.diag([0.0] + [1.0] * columns.shape[1])
    found = np.zeros(design.shape[1])
    for _ in range(STEPS):
        share = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
        gradient = design.T @ (weights * (female - share)) - ridge @ found
        curvature = (design * (weights * share * (1 - share))[:, None]).T @ design + ridge
        found = found + np.linalg.solve(curvature, gradient)
    slopes = found[1:] / scale
    return np.concatenate([[found[0] - slopes @ middle], slopes])


DIGITS = 4


def sign_references(
    norms: Norms, calibration: Calibration, group: Sequence[ReferenceSpeaker], fewest: int
) -> dict[SignName, dict[str, float | int]]:
    """Mean, SD and number of speakers by sign, without signs with fewer than `fewest` speakers in a class.

    As in the shipped reference, z is not widened for free speech, and each class counts as half of the group. A sign
    for female-typical voices uses these voices only.
    """
    as_read = _not_widened(norms)
    sums: dict[SignName, dict[Sex, list[float]]] = {name: {"male": [], "female": []} for name in calibration.signs}
    rules = calibration.scoring
    for speaker in group:
        features = {name: Measurement(value) for name, value in speaker.features.items()}
        voice = as_read.locate(features)
        z = as_read.standardise(features, voice)
        for name, sign in calibration.signs.items():
            enough = measured_weight_share(sign, z, voice.tract_share) >= rules.min_weight_available
            if enough and sign_applies(rules, sign, voice.female_share):
                sums[name][speaker.sex].append(sum(feature_contributions(sign, z, voice.tract_share).values()))
    found = {
        name: _spread(
            by_sex, ("male", "female") if calibration.signs[name].applies_to == "all" else ("female",), fewest
        )
        for name, by_sex in sums.items()
    }
    return {name: entry for name, entry in found.items() if entry is not None}


def _not_widened(norms: Norms) -> Norms:
    features = {
        name: norm.model_copy(update={"sd_inflation_free_speech": 1.0}) for name, norm in norms.features.items()
    }
    return norms.model_copy(update={"features": features})


def _spread(sums: Mapping[Sex, Sequence[float]], sexes: Sequence[Sex], fewest: int) -> dict[str, float | int] | None:
    if min(len(sums[sex]) for sex in sexes) < fewest:
        return None
    values = np.concatenate([sums[sex] for sex in sexes])
    weights = np.concatenate([np.full(len(sums[sex]), 1 / len(sums[sex])) for sex in sexes])
    mean = float(np.average(values, weights=weights))
    sd = float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
    if not sd > 0:
        return None
    return {"mean": significant(mean, DIGITS), "sd": significant(sd, DIGITS), "n": values.size}
