"""Write measured norms, and the reference and cut-points that follow from them, into the shipped data files.

    vbdesk norms measure FOLDER --speakers FOLDER/speakers.csv --out OUT/measured.toml
    python tests/benchmarks/adopt_reference.py FOLDER OUT/measured.toml

FOLDER holds the readers of the Speech Accent Archive. The journal that the first command leaves next to its file is
read again. Changed are the numbers in resources/norms/norms.toml, signs/signs.toml and metrics/metrics.toml; versions
and texts are not. The table of changes goes to the standard output.
"""

import argparse
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from reference_calibration import (
    LEVEL_CUTS,
    Reader,
    calibrated,
    metric_reference,
    read_group,
    score_at,
    sign_correlations,
    without_arousal,
)

from vbdesk.data_files import read_data, read_toml
from vbdesk.signs.calibration import Calibration
from vbdesk.signs.norms import Norms
from vbdesk.signs.reference_data import ReferenceData, load_reference_data

RESOURCES = Path(__file__).parents[2] / "resources"
ALIKE = 0.6
MEASURED = ("male", "female", "mixed", "reference", "sex_difference_d", "age_slope")
HEADER = """\
# norms.toml: acoustic features of vbdesk, their definitions and reference values.
# Numbers by `vbdesk norms measure`, written by tests/benchmarks/adopt_reference.py; do not edit them by hand.
# Parse with Python tomllib.
"""


def main() -> None:
    """Adopt the measured norms."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("measured", type=Path)
    chosen = parser.parse_args()
    journal = chosen.measured.with_name(f"{chosen.measured.name}.measured.jsonl")
    group = read_group(chosen.folder, chosen.folder / "speakers.csv", journal)
    before = load_reference_data()
    adopt_norms(chosen.measured)
    norms = read_data(RESOURCES / "norms" / "norms.toml", Norms)
    path = RESOURCES / "signs" / "signs.toml"
    text = with_arousal_taken_out(path.read_text(encoding="utf-8"), before, norms, group)
    weighed = Calibration.model_validate(tomllib.loads(without_pairs(text)))
    calibration = calibrated(weighed, norms, group)
    sys.stdout.write("| sign | mean, SD before | now | cut for consider before | now |\n|---|---|---|---|---|\n")
    for name, sign in calibration.signs.items():
        old = before.calibration.signs[name]
        sys.stdout.write(
            f"| {name.value} | {old.reference_mean:.3g}, {old.reference_sd:.3g} | {sign.reference_mean:.3g}, "
            f"{sign.reference_sd:.3g} | {old.cut_consider} | {sign.cut_consider} |\n"
        )
        numbers: dict[str, Any] = {
            "reference_mean": sign.reference_mean,
            "reference_sd": sign.reference_sd,
            "logit_slope": sign.logit_slope,
            **{key: getattr(sign, key) for key in LEVEL_CUTS},
            **{f"score_{key}": round(score_at(sign, getattr(sign, key)), 4) for key in LEVEL_CUTS},
            "cut_rationale": sign.cut_rationale,
        }
        text = replaced(text, f"[sign.{name.value}]", numbers)
    pairs = sign_correlations(norms, calibration, group, ALIKE)
    path.write_text(with_pairs(text, pairs), encoding="utf-8")
    path = RESOURCES / "metrics" / "metrics.toml"
    text = path.read_text(encoding="utf-8")
    for name, metric in before.metrics.metrics.items():
        mean, sd = metric_reference(norms, metric.weights, group, before.metrics.rules.min_weight_available)
        sys.stdout.write(
            f"| metric {name} | {metric.reference_mean:.3g}, {metric.reference_sd:.3g} | {mean:.3g}, {sd:.3g} | | |\n"
        )
        text = replaced(
            text,
            f"[metric.{name}]",
            {"reference_mean": float(f"{mean:.4g}"), "reference_sd": float(f"{sd:.4g}")},
        )
    path.write_text(text, encoding="utf-8")


def adopt_norms(measured: Path) -> None:
    """Take the numbers of the measured file, and print how far the means and SDs of the groups moved."""
    path = RESOURCES / "norms" / "norms.toml"
    content, found = read_toml(path), read_toml(measured)
    sys.stdout.write("| feature | men: mean moved (SD) | SD now / before | women: mean | SD |\n|---|---|---|---|---|\n")
    for name, entry in content["feature"].items():
        own = found["feature"][name]
        moved = []
        for sex in ("male", "female"):
            was, now = entry[sex], own[sex]
            moved.append(f"{(now['t_mean'] - was['t_mean']) / was['t_sd']:+.2f} | {now['t_sd'] / was['t_sd']:.2f}")
        sys.stdout.write(f"| {name} | {' | '.join(moved)} |\n")
        content["feature"][name] = {key: value for key, value in entry.items() if key not in MEASURED} | {
            key: own[key] for key in MEASURED if key in own
        }
    content["meta"] |= {key: found["meta"][key] for key in ("extractor", "robust")}
    content["voice_class"] = {**content["voice_class"], **found["voice_class"]}
    path.write_text(HEADER + "\n" + tomli_w.dumps(content), encoding="utf-8")


def replaced(text: str, table: str, numbers: Mapping[str, Any]) -> str:
    """`text` with other values for keys of one table."""
    begin = text.index(table + "\n")
    end = text.index("\n[", begin + 1)
    part = text[begin:end]
    for key, value in numbers.items():
        written = f'"{value}"' if isinstance(value, str) else repr(value)
        part, count = re.subn(rf"(?m)^{key} = .*$", lambda _, key=key, written=written: f"{key} = {written}", part)
        if count != 1:
            raise ValueError(f"{table} has {count} lines for {key}")
    return text[:begin] + part + text[end:]


def with_arousal_taken_out(text: str, before: ReferenceData, norms: Norms, group: Sequence[Reader]) -> str:
    """`text` with the weights of the signs whose common part with arousal is taken out."""
    arousal = before.metrics.metrics["vad-arousal"].weights
    for name, sign in before.calibration.signs.items():
        if sign.arousal_removed is None:
            continue
        share, weights = without_arousal(sign, arousal, norms, group)
        text = replaced(text, f"[sign.{name.value}]", {"arousal_removed": float(f"{share:.4g}")})
        for feature, weight in weights.items():
            table = f'[[sign.{name.value}.evidence]]\nfeature = "{feature}"'
            direction = "higher" if weight > 0 else "lower"
            text = replaced(text, table, {"weight": weight, "direction": direction})
    return text


def with_pairs(text: str, pairs: list[tuple[str, str, float]]) -> str:
    """`text` with the pairs of signs that cannot be told apart."""
    begin, end = place_of_pairs(text)
    blocks = [f'[[separability.pair]]\na = "{a}"\nb = "{b}"\nr = {np.round(r, 2)}' for a, b, r in pairs]
    return text[:begin] + "\n".join(blocks) + text[end:]


def without_pairs(text: str) -> str:
    """`text` without pairs: those of the weights before say nothing about the new ones."""
    begin, end = place_of_pairs(text)
    return text[:begin].replace("[separability]\n", "[separability]\npair = []\n") + text[end:]


def place_of_pairs(text: str) -> tuple[int, int]:
    """Begin and end of the pairs."""
    return text.index("[[separability.pair]]"), text.index("\n\n", text.rindex("[[separability.pair]]"))


if __name__ == "__main__":
    main()
