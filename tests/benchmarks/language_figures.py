"""How much second-language readers widen the comparison of rate and pauses, and what that changes.

    vbdesk norms measure ../shared/audio/norms --speakers ../shared/audio/norms/speakers.csv --out OUT/measured.toml
    python tests/benchmarks/language_figures.py OUT/measured.toml [--write]

The journal of the first command is read; the second-language readers are measured once, into a journal next to it.
`--write` puts the amounts into resources/norms/second_language.toml. Rates after the widening are cross-validated:
the amounts for a reader come from readers of other first languages.
"""

import argparse
import csv
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import tomli_w
from adopt_reference import RESOURCES
from figures import AUDIO
from reference_calibration import (
    Reader,
    cross_validated,
    flag_rate,
    model_rates,
    not_widened,
    read_group,
    readings,
    z_of,
)
from reference_figures import FLAGGED, measured_group
from scipy.stats import mannwhitneyu, spearmanr

from vbdesk.contract.catalog import MODEL_SIGNS, ModelName, SignName
from vbdesk.signs.language_widening import LanguageWidening
from vbdesk.signs.norms import Norms, ZScores
from vbdesk.signs.reference_data import load_reference_data
from vbdesk.signs.scoring import Reading

FOLDER = "second_language"
RESOURCE = RESOURCES / "norms" / "second_language.toml"
GROUP = "timing"
LIMITS = (0.01, 0.99)
SLOWER = 0.75
GROWS_WITH_TEMPO = ("speech_rate", "articulation_rate", "pause_rate")
SHRINKS_WITH_TEMPO = ("pause_duration", "pause_duration_variability", "phrase_length", "voiced_segment_length")
SLOW_SIGNS = (SignName.MOOD_DISRUPTION, SignName.FATIGUE, SignName.COGNITIVE_IMPAIRMENT)
HEADER = """\
# second_language.toml: how much more cautiously rate and pauses are compared in another language.
# Numbers by tests/benchmarks/language_figures.py --write; do not edit them by hand. Parse with Python tomllib.

"""


def main() -> None:
    """Print the amounts and what they change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=Path)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    second = measured_group(FOLDER, chosen.measured.with_name(f"{FOLDER}.jsonl"), telephone=False)
    journal = chosen.measured.with_name(f"{chosen.measured.name}.measured.jsonl")
    native = read_group(AUDIO / "norms", AUDIO / "norms" / "speakers.csv", journal)
    with (AUDIO / FOLDER / "speakers.csv").open(newline="", encoding="utf-8") as file:
        languages = {row["speaker"]: row["first_language"] for row in csv.DictReader(file)}
    reference = load_reference_data()
    z = [z_of(not_widened(reference.norms), reader)[0] for reader in second]
    amounts = widening_of(z, reference.norms)
    if chosen.write:
        write(amounts, z, len(set(languages.values())))
    print_amounts(amounts, z)
    norms, calibration = reference.norms, reference.calibration
    before = [readings(norms, calibration, reader) for reader in second]
    after = []
    for reader in second:
        others = [own for own, other in zip(z, second, strict=True) if languages[other.name] != languages[reader.name]]
        after.append(readings(widening_of(others, norms).widen(norms), calibration, reader))
    natives_before, natives_after = cross_validated(native), cross_validated_widened(native, amounts)
    groups = (natives_before, natives_after, before, after)
    print_rates(groups)
    widened = amounts.widen(norms)
    slow = [[readings(own, calibration, slowed(reader)) for reader in second] for own in (norms, widened)]
    print_ranking(before, [readings(widened, calibration, reader) for reader in second], slow)


def widening_of(z: Sequence[ZScores], norms: Norms) -> LanguageWidening:
    """The amounts that give z of these readers a mean square of 1; the uncertainty of their mean counts as variance."""
    extra, columns = {}, {}
    for name, norm in norms.features.items():
        if norm.group == GROUP:
            values = np.array([own[name] for own in z if name in own])
            held = np.clip(values, *np.quantile(values, LIMITS))
            amount = float(np.mean(held**2) + held.var(ddof=1) / held.size - 1)
            if amount > 0.005:
                extra[name] = round(amount, 2)
                columns[name] = np.array([own.get(name, math.nan) for own in z])
    return LanguageWidening(
        extra_variance=extra, correlation=[[alike(columns[a], columns[b]) for b in extra] for a in extra]
    )


def alike(one: np.ndarray, other: np.ndarray) -> float:
    """Correlation around the native mean, not around their own: a shift of all is a part of what is unknown."""
    both = np.isfinite(one) & np.isfinite(other)
    return round(float(np.sum(one[both] * other[both]) / np.sqrt(np.sum(one[both] ** 2) * np.sum(other[both] ** 2))), 2)


def cross_validated_widened(native: Sequence[Reader], amounts: LanguageWidening) -> list[dict[SignName, Reading]]:
    """Native readers as if they were known to read a second language."""
    return cross_validated(native, change=amounts.widen)


def slowed(reader: Reader) -> Reader:
    """The same reader at 75 % of the tempo, simulated in the features."""
    features = dict(reader.measured.features)
    for name in GROWS_WITH_TEMPO:
        features[name] = features[name] * SLOWER
    for name in SHRINKS_WITH_TEMPO:
        if name in features:
            features[name] = features[name] / SLOWER
    return replace(reader, measured=replace(reader.measured, features=features))


def print_amounts(amounts: LanguageWidening, z: Sequence[ZScores]) -> None:
    sys.stdout.write("| feature | mean z | SD of z | variance added | SD of the reference x |\n|---|---|---|---|---|\n")
    for name, extra in amounts.extra_variance.items():
        values = np.array([own[name] for own in z if name in own])
        sys.stdout.write(
            f"| `{name}` | {values.mean():+.2f} | {values.std(ddof=1):.2f} | {extra:.2f} "
            f"| {math.sqrt(1 + extra):.2f} |\n"
        )


def print_rates(groups: Sequence[Sequence[Mapping[SignName, Reading]]]) -> None:
    titles = ("native, field off", "native, as if second language", "second language, field off", "second language")
    for kind in ("sign", "model"):
        sys.stdout.write(f"\n| {kind} | {' | '.join(titles)} |\n|---|---|---|---|---|\n")
        for name in SignName if kind == "sign" else ModelName:
            rates = [
                flag_rate(group, name) if isinstance(name, SignName) else model_rates(group, name)[FLAGGED]
                for group in groups
            ]
            sys.stdout.write(f"| {name.value} | {' | '.join(f'{100 * rate:.1f} %' for rate in rates)} |\n")


def print_ranking(
    before: Sequence[Mapping[SignName, Reading]],
    after: Sequence[Mapping[SignName, Reading]],
    slow: Sequence[Sequence[Mapping[SignName, Reading]]],
) -> None:
    sys.stdout.write(
        "\n| sign | rank correlation of the index | AUC of 25 % slower: field off | on |\n|---|---|---|---|\n"
    )
    for name in MODEL_SIGNS[ModelName.PULSE] + tuple(set(SLOW_SIGNS) - set(MODEL_SIGNS[ModelName.PULSE])):
        correlation = float(spearmanr(indices(before, name), indices(after, name)).statistic)
        auc = [
            mannwhitneyu(indices(slower, name), indices(group, name)).statistic / len(before) ** 2
            for group, slower in zip((before, after), slow, strict=True)
        ]
        told = " | ".join(f"{value:.2f}" for value in auc) if name in SLOW_SIGNS else "- | -"
        sys.stdout.write(f"| {name.value} | {correlation:.3f} | {told} |\n")


def indices(group: Sequence[Mapping[SignName, Reading]], name: SignName) -> list[float]:
    return [own[name].index for own in group if own[name].index is not None]


def write(amounts: LanguageWidening, z: Sequence[ZScores], languages: int) -> None:
    """Write the resource, with where its numbers come from."""
    meta = {
        "version": load_reference_data().calibration.meta.version,
        "applies_to": "recordings in another language than that of the norms, and speakers of a second language",
        "basis": f"mean square of z of {len(z)} adult second-language readers of English with {languages} first "
        "languages (Speech Accent Archive, one passage), against native readers; values held to the 1st and 99th "
        "percentile; the squared standard error of their mean is added",
        "command": "python tests/benchmarks/language_figures.py OUT/measured.toml --write",
        "not_measured": "recordings in other languages; the amounts of second-language readers stand in for them",
        "licence_note": "The archive is CC BY-NC-SA; only summary statistics were taken from it.",
    }
    rows = "".join(f"    {row},\n" for row in amounts.correlation)
    tables = tomli_w.dumps({"meta": meta, "extra_variance": amounts.extra_variance})
    RESOURCE.write_text(
        f"{HEADER}# In the order of [extra_variance].\ncorrelation = [\n{rows}]\n\n{tables}", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
