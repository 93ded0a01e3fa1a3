"""Invariance of a result to gain, container, rate, stereo copy, leading silence and very soft noise.

A difference of a feature is in percent of its value, or of the spread between people if that is larger (a slope or a
pitch step can be zero). The limit applies to the feature that changes most, by its median over the readers. Single
values change more if one frame decides (a pause of 0.25 s, a stretch long enough for tremor). Levels are those of all
signs of all models.
"""

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import soundfile as sf
import soxr
from coded_sound import write_m4a, write_mp3
from figures import AUDIO, DATA, Row, judged, show

from vbdesk.contract.catalog import ModelName
from vbdesk.resource_files import resource
from vbdesk.signs.analysis import ScoringTarget, measure_recording, score_recording
from vbdesk.voice.decode import decode
from vbdesk.voice.recording import ANALYSIS_RATE, Recording, Samples

TOPIC = "What must not matter"
MODELS = [ScoringTarget("model", name.value) for name in ModelName]
Made = tuple[str, str, float, Callable[[Samples, Path], Path]]


def rows() -> Iterator[Row]:
    """Each change, over several readers."""
    originals = [DATA / "speech_kathleen_20s.flac", DATA / "speech_male_20s.flac"]
    originals += sorted(AUDIO.glob("longitudinal/librispeech_*/*_s1_*.flac"))[::2]
    with TemporaryDirectory() as folder:
        before = [(path, *heard(decode(path))) for path in originals]
        for name, left_out, bar_percent, make in CHANGES:
            moved, count = 0, 0
            differences: dict[str, list[float]] = {}
            for path, features, levels in before:
                samples, rate = sf.read(path, dtype="float32")
                assert rate == ANALYSIS_RATE
                new_features, new_levels = heard(decode(make(samples, Path(folder))))
                for feature, percent in difference_percent(features, new_features, left_out):
                    differences.setdefault(feature, []).append(percent)
                moved += sum(levels[sign] != new_levels[sign] for sign in levels)
                count += len(levels)
            medians = {feature: float(np.median(found)) for feature, found in differences.items()}
            most = max(medians, key=lambda feature: medians[feature])
            everything = np.concatenate(list(differences.values()))
            yield judged(
                TOPIC,
                f"{name} ({len(before)} readers)",
                f"features within {bar_percent:g} %, no level moves",
                f"{medians[most]:.2f} % ({most}), 95 % of all values within {np.percentile(everything, 95):.2f} %; "
                f"{moved} of {count} levels move",
                medians[most] <= bar_percent and moved == 0,
            )


def heard(recording: Recording) -> tuple[dict[str, float | None], dict[str, str]]:
    """Features and the level of every sign."""
    passage = measure_recording(recording)
    features = {name: item.value for name, item in passage.passages[0].features.items()}
    levels = {
        f"{model.name} {signal.name}": signal.level
        for model in MODELS
        for signal in score_recording(passage, model).signals
    }
    return features, levels


def difference_percent(
    one: dict[str, float | None], other: dict[str, float | None], left_out: str
) -> Iterator[tuple[str, float]]:
    """Difference of every feature; a feature missing on one side differs by 100 %."""
    with resource("norms", "norms.toml").open("rb") as file:
        norms = tomllib.load(file)["feature"]
    for name, value in one.items():
        changed = other[name]
        if name == left_out or (value is None and changed is None):
            continue
        if value is None or changed is None:
            yield name, 100.0
            continue
        yield name, 100 * abs(changed - value) / max(abs(value), norms[name]["mixed"]["sd"])


def louder(gain_db: float) -> Callable[[Samples, Path], Path]:
    def make(samples: Samples, folder: Path) -> Path:
        return write(folder / "gain.wav", samples * np.float32(10 ** (gain_db / 20)), subtype="FLOAT")

    return make


def as_flac(samples: Samples, folder: Path) -> Path:
    return write(folder / "same.flac", samples, subtype="PCM_24")


def at_48_khz(samples: Samples, folder: Path) -> Path:
    fine = soxr.resample(samples, ANALYSIS_RATE, 48_000, quality="VHQ")
    return write(folder / "fine.wav", fine, 48_000, "FLOAT")


def twice(samples: Samples, folder: Path) -> Path:
    return write(folder / "stereo.wav", np.stack([samples, samples], axis=1), subtype="FLOAT")


def later(samples: Samples, folder: Path) -> Path:
    """Prepend two seconds of the recording's quietest tenth of a second."""
    parts = samples[: samples.size // 1600 * 1600].reshape(-1, 1600)
    quiet = parts[np.square(parts).mean(axis=1).argsort()[len(parts) // 50]]
    return write(folder / "later.wav", np.concatenate([np.resize(quiet, 2 * ANALYSIS_RATE), samples]), subtype="FLOAT")


def as_mp3(samples: Samples, folder: Path) -> Path:
    return write_mp3(folder / "coded.mp3", samples, 64_000)


def as_m4a(samples: Samples, folder: Path) -> Path:
    return write_m4a(folder / "coded.m4a", samples, 64_000)


def write(path: Path, samples: np.ndarray, rate: int = ANALYSIS_RATE, subtype: str = "PCM_16") -> Path:
    sf.write(path, samples, rate, subtype=subtype)
    return path


CHANGES: tuple[Made, ...] = (
    ("12 dB softer", "loudness_mean", 1.0, louder(-12)),
    ("6 dB louder", "loudness_mean", 1.0, louder(6)),
    ("FLAC instead of WAV", "", 1.0, as_flac),
    ("48 kHz instead of 16 kHz", "", 1.0, at_48_khz),
    ("a stereo copy", "", 1.0, twice),
    ("2 s of background before it", "", 1.0, later),
    ("M4A of 64 kbit/s", "", 3.0, as_m4a),
    ("MP3 of 64 kbit/s", "", 3.0, as_mp3),
)


if __name__ == "__main__":
    show(rows())
