"""How often healthy people are flagged, through the whole product, and how signs follow a raised pitch.

    python tests/benchmarks/reference_figures.py MEASURED.toml [--write]

MEASURED.toml was written by `vbdesk norms measure` (see adopt_reference.py); its journal is read. Second-language
readers, and the native readers through a telephone band (8 kHz, 300 to 3400 Hz), are measured once and kept in journals
next to it. Rates of native readers and of the telephone band are cross-validated: norms and cut-points from one half of
the readers, rates from the other. `--write` puts the rates into resources/signs/signs.toml.
"""

import argparse
import csv
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import soundfile as sf
import soxr
from adopt_reference import RESOURCES, replaced
from figures import AUDIO
from reference_calibration import Reader, cross_validated, flag_rate, model_rates, read_group, readings
from scipy.signal import butter, sosfilt

from vbdesk.contract.catalog import ModelName, SignName
from vbdesk.lab.corpus.journal import MeasurementJournal
from vbdesk.lab.corpus.measurement import extractor_fingerprint, file_digest, measure_file
from vbdesk.signs.reference_data import load_reference_data
from vbdesk.voice.decode import decode
from vbdesk.voice.recording import ANALYSIS_RATE

FLAGGED = "any_flagged"
TELEPHONE_RATE, TELEPHONE_BAND = 8_000, (300, 3400)


def main() -> None:
    """Print the rates of each sign and model in the three groups."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=Path)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    journal = chosen.measured.with_name(f"{chosen.measured.name}.measured.jsonl")
    native = read_group(AUDIO / "norms", AUDIO / "norms" / "speakers.csv", journal)
    second = measured_group("second_language", chosen.measured.with_name("second_language.jsonl"), telephone=False)
    telephone = measured_group("norms", chosen.measured.with_name("telephone.jsonl"), telephone=True)
    reference = load_reference_data()
    groups = {
        "native": cross_validated(native),
        "second language": [readings(reference.norms, reference.calibration, reader) for reader in second],
        "telephone": cross_validated(native, {reader.name: reader for reader in telephone}),
    }
    sizes = ", ".join(f"{name} n = {len(group)}" for name, group in groups.items())
    sys.stdout.write(f"Share flagged in percent: {sizes}\n\n| sign | {' | '.join(groups)} |\n|---|---|---|---|\n")
    signs = {name: [flag_rate(group, name) for group in groups.values()] for name in SignName}
    for name, rates in signs.items():
        sys.stdout.write(f"| {name.value} | {' | '.join(f'{100 * rate:.1f} %' for rate in rates)} |\n")
    sys.stdout.write(f"\n| model | {' | '.join(groups)} |\n|---|---|---|---|\n")
    models = {name: [model_rates(group, name) for group in groups.values()] for name in ModelName}
    for model, rows in models.items():
        sys.stdout.write(f"| {model.value} | {' | '.join(f'{100 * row[FLAGGED]:.1f} %' for row in rows)} |\n")
    if chosen.write:
        write(signs, models)


def measured_group(folder: str, path: Path, *, telephone: bool) -> list[Reader]:
    """The readers of a folder, measured now if the journal at `path` does not know them."""
    left_out = load_reference_data().calibration.scoring.not_measured_in_narrow_band
    with (AUDIO / folder / "speakers.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    readers = []
    with MeasurementJournal(path, extractor_fingerprint()) as journal:
        for row in rows:
            sound = AUDIO / folder / row["path"]
            digest = file_digest(sound)
            found = journal.find(digest)
            if found is None:
                found = measure_in_band(sound) if telephone else measure_file(sound)
                journal.record(digest, found)
            if telephone:
                kept = {name: value for name, value in found.features.items() if name not in left_out}
                found = replace(found, features=kept)
            readers.append(Reader(row["speaker"], row["sex"], None, found))
    return readers


def measure_in_band(path: Path):
    """Measure the recording as a telephone would have passed it on."""
    band = butter(4, TELEPHONE_BAND, "bandpass", fs=TELEPHONE_RATE, output="sos")
    narrow = sosfilt(band, soxr.resample(decode(path).samples, ANALYSIS_RATE, TELEPHONE_RATE))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "telephone.wav"
        sf.write(copy, narrow.astype(np.float32), TELEPHONE_RATE)
        return measure_file(copy)


def write(signs: dict[SignName, list[float]], models: dict[ModelName, list[dict[str, float]]]) -> None:
    """Write the rates into signs.toml."""
    path = RESOURCES / "signs" / "signs.toml"
    text = path.read_text(encoding="utf-8")
    for name, rates in signs.items():
        keys = ("measured_flag_rate_reference", "measured_flag_rate_second_language")
        numbers = {key: round(rate, 4) for key, rate in zip(keys, rates, strict=False)}
        text = replaced(text, f"[sign.{name.value}]", numbers)
    tables = ("healthy_native_sex_unknown", "healthy_second_language", "healthy_telephone")
    for model, rows in models.items():
        begin = text.index(f"[model.{model.value}]")
        head = text[begin : text.index("\n", text.index("signs = ", begin)) + 1]
        following = re.compile(rf"^\[(?!model\.{model.value}[.\]])", re.MULTILINE).search(text, begin + 1)
        parts = [
            f"[model.{model.value}.{table}]\n" + "".join(f"{key} = {value:.4g}\n" for key, value in row.items())
            for table, row in zip(tables, rows, strict=True)
        ]
        text = text[:begin] + head + "".join(parts) + "\n" + text[following.start() :]
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
