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
from scipy.stats import linregress

from vbdesk.data_files import read_data, read_toml
from vbdesk.privacy import set_export_mode
from vbdesk.resource_files import resource
from vbdesk.signs.corpus.measurement import extractor_fingerprint
from vbdesk.signs.norms import FeatureNorm, Norms
from vbdesk.signs.norms_measure.index_reference import sign_references
from vbdesk.signs.norms_measure.reference_group import ReferenceSpeaker, Sex
from vbdesk.signs.norms_measure.spread import ClassSpread, class_entry, mixed_entry, significant, spread_of
from vbdesk.signs.reference_data import load_reference_data
from vbdesk.voice.measurement import Measurement

FEWEST_FOR_AGE = 20
CLEAR_T = 3.0  # t value of an age slope; strict because 36 features in two classes are tested
MIDDLE_AGE = 32.0
UNSURE = (0.1, 0.9)

_NOT_MEASURED_HERE = ("second_language_shift_sd", "split_half_icc_measured", "split_half_n")
_ONLY_OF_THE_SHIPPED = ("n_native", "n_second_language", "n_over_60", "source_cites", "licence_note", "why_measured")
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
        left_out: number of outliers left out, by feature.
        signs: number of signs with a measured reference.
    """

    text: str
    measured: int
    kept: Mapping[str, str]
    left_out: Mapping[str, int]
    signs: int


def measure_norms(group: Sequence[ReferenceSpeaker], fewest: int) -> MeasuredNorms:
    """Measure the norms of `group`.

    A feature with fewer than `fewest` speakers in a class keeps its shipped numbers.
    """
    shipped_path = resource("norms", "norms.toml")
    shipped = read_data(shipped_path, Norms)
    content: dict[str, Any] = read_toml(shipped_path)
    kept: dict[str, str] = {}
    left_out: dict[str, int] = {}
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
        left_out[name] = _replace_numbers(entry, norm, values)
    content["meta"] = _meta(content["meta"], group)
    content["voice_class"] = {**content["voice_class"], **_voice_class(shipped, group)}
    content.pop("calibration", None)
    references = sign_references(Norms.model_validate(content), load_reference_data().calibration, group, fewest)
    if references:
        content["sign_reference"] = {name.value: entry for name, entry in references.items()}
    text = _HEADER + "\n" + tomli_w.dumps(content)
    outliers = {name: count for name, count in left_out.items() if count}
    return MeasuredNorms(text, len(left_out), kept, outliers, len(references))


def write_norms(norms: MeasuredNorms, path: Path) -> None:
    """Write the file atomically, after checking that it can be read.

    Raises:
        DataFileError: the file is not valid, which is a bug.
        OSError: the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_text(norms.text, encoding="utf-8")
        set_export_mode(draft)
        read_data(draft, Norms)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


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
    """Write the measured numbers into a feature's entry; return the number of outliers left out."""
    spreads = {sex: spread_of(norm, [value for value, _ in found]) for sex, found in values.items()}
    male, female = spreads["male"], spreads["female"]
    for key in _NOT_MEASURED_HERE:
        entry.pop(key, None)
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
    return male.left_out + female.left_out


def _age_slope(
    norm: FeatureNorm, spread: ClassSpread, values: Sequence[tuple[float, float | None]]
) -> dict[str, float | bool] | None:
    """Slope in SD per decade of age within a class; None with too few known ages."""
    kept = set(spread.values.tolist())
    known = [(age, norm.transform(value)) for value, age in values if age is not None and value in kept]
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


def _voice_class(norms: Norms, group: Sequence[ReferenceSpeaker]) -> dict[str, Any]:
    """Agreement of the shipped voice-class model with the sex of the speakers."""
    shares = []
    for speaker in group:
        features = {name: Measurement(value) for name, value in speaker.features.items()}
        share = norms.female_share(features)
        if share is not None:
            shares.append((share, speaker.sex))
    if not shares:
        return {}
    agreement = np.mean([(share >= 0.5) == (sex == "female") for share, sex in shares])
    unsure = np.mean([UNSURE[0] < share < UNSURE[1] for share, _ in shares])
    return {
        "measured_agreement": significant(float(agreement), 4),
        "measured_unsure_share": significant(float(unsure), 4),
        "n": len(shares),
        "note": "Coefficients as shipped; agreement with the sex that the table of speakers gives.",
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
        "robust": "One value a speaker, the mean over the recordings; values beyond 3.5 robust SD are left out.",
        "age_bands": "Age bands are not tabulated. Use age_slope (SD per decade from age 32, within sex) only where "
        "significant = true, and cap the correction at 3 decades.",
        "n_male": sum(speaker.sex == "male" for speaker in group),
        "n_female": sum(speaker.sex == "female" for speaker in group),
    }
    return {**meta, **own_words, "telephone": shipped["telephone"]}
