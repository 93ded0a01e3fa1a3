"""Whether signs mean their name: how they move together and with arousal, and how they read acted emotion.

    python tests/benchmarks/sign_figures.py MEASURED.toml

MEASURED.toml was written by `vbdesk norms measure` (see adopt_reference.py); its journal is read. Actors are measured
once and kept in actors.jsonl next to it. Readers differ as people do; an actor's recordings differ from the actor's own
mean as states do. Nothing is chosen on the actors: acted emotion only shows direction.
"""

import argparse
import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from figures import AUDIO
from numpy.typing import NDArray
from reference_calibration import Reader, read_group, readings, z_of

from vbdesk.contract.catalog import SignName
from vbdesk.lab.corpus.journal import MeasurementJournal
from vbdesk.lab.corpus.measurement import MeasuredFile, extractor_fingerprint, file_digest, measure_file
from vbdesk.signs.reference_data import load_reference_data

AXES = ("vad-arousal", "vad-valence", "vad-dominance")
DRAWS, SEED = 1000, 20250101
CONTRASTS = (
    ("anxiety", ("fear",), ("neutral",)),
    ("anxiety", ("fear",), ("anger", "joy")),
    ("anxious-mood", ("fear",), ("neutral",)),
    ("anxious-mood", ("fear",), ("anger", "joy")),
    ("stress", ("anger", "fear"), ("neutral",)),
    ("stress", ("anger", "fear"), ("joy",)),
    ("mood-disruption", ("sad",), ("neutral",)),
    ("mood-disruption", ("sad",), ("anger", "fear", "joy")),
    ("emotional-destabilization", ("anger", "fear", "joy"), ("neutral",)),
    ("vad-arousal", ("anger", "fear", "joy"), ("neutral", "sad")),
    ("vad-valence", ("joy",), ("anger", "fear", "sad")),
    ("vad-dominance", ("anger",), ("fear", "sad")),
)


@dataclass(frozen=True)
class Scene:
    """One recording of an actor."""

    corpus: str
    actor: str
    emotion: str
    measured: MeasuredFile


def main() -> None:
    """Print the correlations and the areas."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=Path)
    chosen = parser.parse_args().measured
    native = read_group(
        AUDIO / "norms", AUDIO / "norms" / "speakers.csv", chosen.with_name(f"{chosen.name}.measured.jsonl")
    )
    scenes = read_scenes(AUDIO / "emotion_dev", chosen.with_name("actors.jsonl"))
    names = [*(name.value for name in SignName), *AXES, "anxious-mood"]
    people = table_of([reader.measured for reader in native], names)
    acted = table_of([scene.measured for scene in scenes], names)
    states = from_own_mean(acted, [scene.corpus + scene.actor for scene in scenes])
    between, within = correlations(people), correlations(states)
    print_axes(names, between, within)
    print_matrix(names[: len(SignName)], between, within)
    print_areas(names, acted, scenes)


def read_scenes(folder: Path, path: Path) -> list[Scene]:
    """The recordings of the actors, measured now if the journal at `path` does not know them."""
    with (folder / "labels.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    scenes = []
    with MeasurementJournal(path, extractor_fingerprint()) as journal:
        for row in rows:
            sound = folder / row["path"]
            digest = file_digest(sound)
            found = journal.find(digest)
            if found is None:
                found = measure_file(sound)
                journal.record(digest, found)
            if isinstance(found, MeasuredFile):
                scenes.append(Scene(row["corpus"], row["actor"], row["emotion"], found))
    return scenes


def table_of(recordings: Sequence[MeasuredFile], names: Sequence[str]) -> NDArray[np.float64]:
    """Index of every sign and metric in `names` as an analysis gives it, shape (recordings, names); NaN if unknown."""
    reference = load_reference_data()
    metrics = reference.metrics.metrics
    rows = []
    for measured in recordings:
        reader = Reader("", "", None, measured)
        signs = {
            name.value: reading.index
            for name, reading in readings(reference.norms, reference.calibration, reader).items()
        }
        z, _ = z_of(reference.norms, reader)
        rows.append([metric_sum(metrics[name].weights, z) if name in metrics else signs[name] for name in names])
    return np.array(rows, dtype=np.float64)


def metric_sum(weights: Mapping[str, float], z: Mapping[str, float]) -> float:
    return sum(weight * z.get(feature, 0.0) for feature, weight in weights.items())


def from_own_mean(table: NDArray[np.float64], owners: Sequence[str]) -> NDArray[np.float64]:
    """Each row minus the mean of the rows of its owner."""
    own = np.array(owners)
    left = table.copy()
    for owner in np.unique(own):
        left[own == owner] -= np.nanmean(table[own == owner], axis=0)
    return left


def correlations(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlation of every pair of columns over the rows that have both."""
    count = table.shape[1]
    found = np.eye(count)
    for first in range(count):
        for second in range(first):
            both = table[np.isfinite(table[:, [first, second]]).all(axis=1)][:, [first, second]]
            found[first, second] = found[second, first] = np.corrcoef(both.T)[0, 1]
    return found


def print_axes(names: Sequence[str], between: NDArray[np.float64], within: NDArray[np.float64]) -> None:
    """Correlation of each sign with arousal, and the sign that is most like it."""
    arousal = names.index("vad-arousal")
    signs = len(SignName)
    sys.stdout.write(
        "| sign | arousal, readers | arousal, actors | most like it, readers | r |\n|---|---|---|---|---|\n"
    )
    for row in range(signs):
        others = np.abs(between[row, :signs])
        others[row] = 0
        nearest = int(others.argmax())
        sys.stdout.write(
            f"| {names[row]} | {between[row, arousal]:+.2f} | {within[row, arousal]:+.2f} | {names[nearest]} | "
            f"{between[row, nearest]:+.2f} |\n"
        )


def print_matrix(names: Sequence[str], between: NDArray[np.float64], within: NDArray[np.float64]) -> None:
    """All pairs: readers above the diagonal, actors below."""
    sys.stdout.write("\nReaders above the diagonal, actors below\n\n| |")
    sys.stdout.write("|".join(f" {number} " for number in range(1, len(names) + 1)) + "|\n")
    sys.stdout.write("|---" * (len(names) + 1) + "|\n")
    for row, name in enumerate(names):
        cells = [
            "–" if row == column else f"{(between if column > row else within)[row, column]:+.2f}"
            for column in range(len(names))
        ]
        sys.stdout.write(f"| {row + 1} {name} | {' | '.join(cells)} |\n")


def print_areas(names: Sequence[str], table: NDArray[np.float64], scenes: Sequence[Scene]) -> None:
    """AUC of each contrast in each corpus, with a 90 % interval by drawing actors."""
    corpora = list(dict.fromkeys(scene.corpus for scene in scenes))
    sys.stdout.write(f"\n| index | emotions | {' | '.join(corpora)} |\n|---|---|{'---|' * len(corpora)}\n")
    for name, high, low in CONTRASTS:
        cells = []
        for corpus in corpora:
            own = [number for number, scene in enumerate(scenes) if scene.corpus == corpus]
            values = table[own, names.index(name)]
            emotions = np.array([scenes[number].emotion for number in own])
            actors = np.array([scenes[number].actor for number in own])
            value, bottom, top = area(values, np.isin(emotions, high), np.isin(emotions, low), actors)
            cells.append(f"{value:.2f} ({bottom:.2f} to {top:.2f})")
        sys.stdout.write(f"| {name} | {', '.join(high)} against {', '.join(low)} | {' | '.join(cells)} |\n")


def area(
    values: NDArray[np.float64], high: NDArray[np.bool_], low: NDArray[np.bool_], actors: NDArray[np.str_]
) -> tuple[float, float, float]:
    """AUC, with the ends of its 90 % interval."""
    random = np.random.default_rng(SEED)
    names = np.unique(actors)
    drawn = []
    for number in range(DRAWS + 1):
        chosen = names if number == 0 else random.choice(names, names.size)
        rows = np.concatenate([np.flatnonzero(actors == actor) for actor in chosen])
        above, below = values[rows][high[rows]], values[rows][low[rows]]
        above, below = above[np.isfinite(above)], below[np.isfinite(below)]
        pairs = np.sign(above[:, None] - below[None, :])
        drawn.append(float((pairs.mean() + 1) / 2))
    return drawn[0], *np.quantile(drawn[1:], [0.05, 0.95]).tolist()


if __name__ == "__main__":
    main()
