"""How often vocal features of unchanged people are outside their own range, with the differences of real recordings.

`python tests/benchmarks/feature_range_people.py ../shared/audio/longitudinal`

Simulated features are independent; those of a voice are not. Here a person's recording is a norm plus the differences
of all features of one real recording from the mean of its reader, drawn at random. It lists the features that the
result of that recording lists. The recordings of the folder themselves are counted as well, a week apart.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import sqrt
from pathlib import Path

import numpy as np

from vbdesk.lab.variability.person_recordings import find_persons
from vbdesk.longitudinal.feature_ranges import FeatureReading, OwnRange, own_ranges
from vbdesk.longitudinal.feature_scales import shipped_feature_scales
from vbdesk.signs.analysis import measure_recording, score_recording
from vbdesk.signs.target import ScoringTarget
from vbdesk.voice.decode import decode

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
WEEKS, PEOPLE, SETTLED_WEEKS = 52, 100, 9
DURATION_S, VOICE_PERCENTAGE, CLARITY = 50.0, 60.0, 80.0


@dataclass(frozen=True, slots=True)
class Measured:
    """One recording: features on their scales, and the names of those that its `pulse` result lists."""

    values: Mapping[str, float]
    listed: frozenset[str]


def measure(path: Path) -> Measured:
    """Analyse one recording."""
    measured = measure_recording(decode(path))
    result = score_recording(measured, ScoringTarget.model("pulse"))
    values = {}
    for name, scale in shipped_feature_scales().feature.items():
        transformed = scale.transform(measured.passages[0].features[name].value)
        if transformed is not None:
            values[name] = transformed
    return Measured(values, frozenset(row.feature for row in result.summary.description.vocal_features))


def residuals(recordings: list[Measured]) -> list[Measured]:
    """Differences from the reader's own mean, with the variance of a single recording."""
    found = []
    for one in recordings:
        own = {}
        for name, value in one.values.items():
            others = [other.values[name] for other in recordings if name in other.values]
            if len(others) > 1:
                own[name] = (value - float(np.mean(others))) * sqrt(len(others) / (len(others) - 1))
        found.append(Measured(own, one.listed))
    return found


def ranges_of(series: list[Measured], *, listed_only: bool) -> dict[str, dict[str, OwnRange]]:
    """Own ranges by week and feature, of recordings a week apart."""
    found: dict[str, dict[str, OwnRange]] = {}
    for name, scale in shipped_feature_scales().feature.items():
        readings = [
            FeatureReading(
                f"{week:03d}",
                START + timedelta(days=7 * week),
                scale.restore(one.values[name]),
                scale.unit,
                "2.0.0",
                DURATION_S,
                VOICE_PERCENTAGE,
                CLARITY,
            )
            for week, one in enumerate(series)
            if name in one.values and (not listed_only or name in one.listed)
        ]
        for week, own in own_ranges(name, readings).items():
            found.setdefault(week, {})[name] = own
    return found


def shares(weeks: list[dict[str, OwnRange]]) -> str:
    """Compared features, and shares of recordings with at least one outside its range, and called a change."""
    compared = float(np.mean([len(own) for own in weeks]))
    each = float(np.mean([one.position != "within" for own in weeks for one in own.values()]))
    outside = float(np.mean([any(one.position != "within" for one in own.values()) for own in weeks]))
    changed = float(np.mean([any(one.changed for one in own.values()) for own in weeks]))
    return f"{len(weeks)} | {compared:.1f} | {100 * each:.1f} % | {100 * outside:.0f} % | {100 * changed:.1f} %"


def draw_person(generator: np.random.Generator, drawn_from: list[Measured]) -> list[Measured]:
    """Weekly recordings of an unchanged person."""
    scales = shipped_feature_scales().feature
    norm = {name: generator.normal(scale.mean, sqrt(scale.between_variance)) for name, scale in scales.items()}
    chosen = [drawn_from[k] for k in generator.integers(len(drawn_from), size=WEEKS)]
    return [
        Measured({name: norm[name] + difference for name, difference in one.values.items()}, one.listed)
        for one in chosen
    ]


def main(folder: Path) -> None:
    """Print the table of the method page."""
    readers = [[measure(path) for path in paths] for paths in find_persons(folder).values()]
    differences = [one for recordings in readers if len(recordings) > 1 for one in residuals(recordings)]
    generator = np.random.default_rng(7)
    drawn = [draw_person(generator, differences) for _ in range(PEOPLE)]
    print("| people | features | recordings | compared | one outside | at least one outside | at least one changed |")
    print("|---|---|---|---|---|---|---|")
    for listed_only, words in ((True, "those of a result"), (False, "all 36")):
        weeks = [
            own
            for person in drawn
            for week, own in ranges_of(person, listed_only=listed_only).items()
            if int(week) >= SETTLED_WEEKS
        ]
        print(f"| drawn | {words} | {shares(weeks)} |")
        real = [own for reader in readers for own in ranges_of(reader, listed_only=listed_only).values()]
        if real:
            print(f"| readers themselves | {words} | {shares(real)} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
