"""Compare our acoustic features with the reference extractor (Praat), which the norms were measured with.

Needs the extra `bench`. For each feature it prints how many recordings were compared, the correlation, the mean
absolute difference, the median difference (ours minus reference), and both in units of the norms' standard deviation
(mean of male and female) on the feature's scale. A feature fails above 0.15 (median) or 0.35 (mean absolute).

    python tests/benchmarks/compare_with_praat.py AUDIO... [--write CSV] [--reference CSV]

`--write` keeps the reference values, so that tests can compare without Praat; `--reference` reads them instead of
running the slow reference extractor.
"""

import argparse
import csv
import math
import sys
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile as sf
import soxr

from vbdesk.resource_files import resource
from vbdesk.voice.features import FEATURES, PitchTractModel, extract_features
from vbdesk.voice.recording import ANALYSIS_RATE

LARGEST_MEDIAN_SD, LARGEST_MEAN_SD = 0.15, 0.35

Values = Mapping[str, float]


def reference_values(path: Path) -> Values:
    """Features of a file by the reference extractor; NaN if missing."""
    import reference_extractor

    found = reference_extractor.extract(reference_extractor.load(str(path))) or {}
    values = {name: float(found.get(name, math.nan)) for name in FEATURES}
    formants = np.array([values[f"formant_{number}_mean"] for number in (1, 2, 3)])
    pitch = 12 * math.log2(values["pitch_mean"] / 100)
    values["pitch_tract_residual"] = pitch - PitchTractModel.load().expected_pitch(formants)
    return values


def own_values(path: Path) -> Values:
    """Features of a file by the product; NaN if missing."""
    samples, rate = sf.read(path, dtype="float32", always_2d=True)
    mono = samples.mean(axis=1)
    mono = mono if rate == ANALYSIS_RATE else soxr.resample(mono, rate, ANALYSIS_RATE)
    features = extract_features(mono.astype(np.float32))
    return {name: math.nan if item.value is None else item.value for name, item in features.items()}


def read_reference(path: Path) -> dict[str, dict[str, float]]:
    """Reference values by file name and feature, as `write_reference` wrote them."""
    table: dict[str, dict[str, float]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            table.setdefault(row["file"], {})[row["feature"]] = float(row["value"])
    return table


def write_reference(path: Path, table: Mapping[str, Values]) -> None:
    """Write reference values as rows of file, feature, value."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["file", "feature", "value"])
        writer.writerows(
            (name, feature, f"{value:.6g}") for name, row in table.items() for feature, value in row.items()
        )


def in_standard_deviations(norm: Mapping[str, Any], ours: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Differences on the feature's scale in units of the norms' standard deviation."""
    spread = (norm["male"]["t_sd"] + norm["female"]["t_sd"]) / 2
    if norm["scale"] == "log":
        bounds = norm.get("floor", 1e-9), norm.get("ceiling", math.inf)
        ours, reference = np.log(np.clip(ours, *bounds)), np.log(np.clip(reference, *bounds))
    return (ours - reference) / spread


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of one feature with the reference over several recordings.

    Attributes:
        n: recordings in which both have the feature; without any, the rest is NaN.
        correlation: Pearson's r.
        mean_absolute, median: of the differences (ours minus reference) in the feature's unit.
        mean_absolute_sd, median_sd: the same in standard deviations of the norms.
    """

    feature: str
    n: int
    correlation: float = math.nan
    mean_absolute: float = math.nan
    median: float = math.nan
    mean_absolute_sd: float = math.nan
    median_sd: float = math.nan

    @property
    def passed(self) -> bool:
        """Whether the differences are small relative to those between people; True without data."""
        return not (abs(self.median_sd) > LARGEST_MEDIAN_SD or self.mean_absolute_sd > LARGEST_MEAN_SD)


def compare(ours: Mapping[str, Values], reference: Mapping[str, Values]) -> dict[str, Agreement]:
    """Agreement of every feature, over the recordings in `ours`."""
    with resource("norms", "norms.toml").open("rb") as file:
        norms = tomllib.load(file)["feature"]
    table = {}
    for feature in FEATURES:
        pairs = np.array([(ours[name][feature], reference[name][feature]) for name in ours])
        pairs = pairs[np.isfinite(pairs).all(axis=1)]
        if not pairs.size:
            table[feature] = Agreement(feature, 0)
            continue
        difference = pairs[:, 0] - pairs[:, 1]
        deviation = in_standard_deviations(norms[feature], pairs[:, 0], pairs[:, 1])
        table[feature] = Agreement(
            feature,
            n=len(pairs),
            correlation=float(np.corrcoef(pairs.T)[0, 1]) if len(pairs) > 2 else math.nan,
            mean_absolute=float(np.abs(difference).mean()),
            median=float(np.median(difference)),
            mean_absolute_sd=float(np.abs(deviation).mean()),
            median_sd=float(np.median(deviation)),
        )
    return table


def report(table: Mapping[str, Agreement]) -> bool:
    """Print the table; return whether every feature is within its limits."""
    sys.stdout.write(f"{'feature':28}{'n':>4}{'r':>8}{'MAE':>10}{'median':>10}{'median/SD':>11}{'MAE/SD':>8}\n")
    for row in table.values():
        sys.stdout.write(
            f"{row.feature:28}{row.n:4}{row.correlation:8.4f}{row.mean_absolute:10.4f}{row.median:10.4f}"
            f"{row.median_sd:11.3f}{row.mean_absolute_sd:8.3f}{'' if row.passed else '  FAILS'}\n"
        )
    return all(row.passed for row in table.values())


def main() -> int:
    """Run the comparison; return 1 if a feature is outside its limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("audio", nargs="+", type=Path)
    parser.add_argument("--write", type=Path, help="CSV file to keep the reference values in")
    parser.add_argument("--reference", type=Path, help="CSV file to take the reference values from")
    arguments = parser.parse_args()

    started = time.perf_counter()
    ours = {path.name: own_values(path) for path in arguments.audio}
    seconds = sum(sf.info(path).duration for path in arguments.audio)
    sys.stdout.write(f"own features: {time.perf_counter() - started:.1f} s for {seconds:.0f} s of sound\n")
    known = read_reference(arguments.reference) if arguments.reference else {}
    reference = {path.name: known.get(path.name) or reference_values(path) for path in arguments.audio}
    if arguments.write:
        write_reference(arguments.write, reference)
    return 0 if report(compare(ours, reference)) else 1


if __name__ == "__main__":
    sys.exit(main())
