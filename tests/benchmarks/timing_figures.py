"""Speech rate and pauses compared with counted syllables and labelled pauses.

The detector finds fewer nuclei than there are syllables. As in the features, the count is divided by the share.
The limits of soft ends were chosen on three of the labelled recordings (resources/rhythm.toml).
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
from figures import AUDIO, Row, judged, reported, show, skipped

from vbdesk.voice.decode import decode
from vbdesk.voice.f0 import track_f0
from vbdesk.voice.features import analyse_frames
from vbdesk.voice.intensity import measure_intensity
from vbdesk.voice.rhythm import RhythmRules, sounding_frames, speech_thresholds, syllables_of
from vbdesk.voice.short_term import HOP_S, runs

TOPIC = "Rate and pauses"
VARIED = ("share_of_range", "soft_below_loud_db", "soft_above_background_db", "ripple_db")
LIMITS = tuple(
    product((0.55, 0.6, 0.65, 0.7, 0.75), (30.0, 35.0, 40.0, 45.0), (3.0, 4.0, 5.0, 6.0, 8.0), (0.5, 1.0, 2.0, 3.0))
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A recording with its true number of syllables, and number and total length of pauses if labelled."""

    path: Path
    syllables: int
    pauses: int | None
    pause_s: float | None = None
    connected: bool = True  # False: single words with pauses between


def rows() -> Iterator[Row]:
    """Every figure of rate and pauses."""
    if not AUDIO.is_dir():
        yield skipped(TOPIC, "all figures", "", "the shared recordings are not here")
        return
    spoken = [*labelled(), *prompts()]
    found = [measure(item.path) for item in spoken]
    errors = np.array(
        [
            100 * (syllables_of(nuclei.size) / item.syllables - 1)
            for item, (nuclei, _) in zip(spoken, found, strict=True)
            if item.connected
        ]
    )
    yield judged(
        TOPIC,
        f"speech rate of {len(errors)} recordings of 20 to 60 s",
        "mean error 6 %",
        f"{np.abs(errors).mean():.1f} % (bias {errors.mean():+.1f} %; {np.sum(np.abs(errors) <= 10)} within 10 %, "
        f"furthest {np.abs(errors).max():.0f} %)",
        bool(np.abs(errors).mean() <= 6),
    )
    counted = np.array([pair for item, (nuclei, _) in zip(spoken, found, strict=True) for pair in each(item, nuclei)])
    correlation = np.corrcoef(counted.T)[0, 1]
    yield judged(
        TOPIC,
        f"syllables of {len(counted)} utterances of one reader",
        "r 0.90",
        f"r {correlation:.3f}",
        bool(correlation >= 0.90),
    )
    differences = {
        item.path.stem: pauses.size - item.pauses
        for item, (_, pauses) in zip(spoken, found, strict=True)
        if item.pauses is not None
    }
    furthest = max(differences, key=lambda name: abs(differences[name]))
    yield judged(
        TOPIC,
        f"pauses of at least 0.25 s in {len(differences)} labelled recordings",
        "within 3",
        f"furthest {differences[furthest]:+d} ({furthest}), mean {np.abs(list(differences.values())).mean():.1f}",
        abs(differences[furthest]) <= 3,
    )
    totals = {
        item.path.stem: 100 * (float(pauses.sum()) / item.pause_s - 1)
        for item, (_, pauses) in zip(spoken, found, strict=True)
        if item.pause_s is not None
    }
    furthest = max(totals, key=lambda name: abs(totals[name]))
    mean = float(np.abs(list(totals.values())).mean())
    yield judged(
        TOPIC,
        f"total time of these pauses in {len(totals)} labelled recordings",
        "mean error 10 %",
        f"{mean:.1f} % (bias {np.mean(list(totals.values())):+.1f} %; furthest {totals[furthest]:+.0f} %, {furthest})",
        mean <= 10,
    )
    what = f"the same, limits of speech ({len(LIMITS)} sets) chosen without the recording that they are measured on"
    yield reported(TOPIC, what, chosen_elsewhere())


def chosen_elsewhere() -> str:
    """Error of the total pause time if the best of `LIMITS` is chosen without the recording that it is measured on."""
    errors = np.array([pause_errors(item) for item in labelled() if item.pause_s is not None])
    others = [np.abs(np.delete(errors, place, axis=0)).mean(axis=0).argmin() for place in range(len(errors))]
    elsewhere = np.abs(errors[np.arange(len(errors)), others])
    return f"{elsewhere.mean():.1f} % (best on all {np.abs(errors).mean(axis=0).min():.1f} %)"


def pause_errors(item: Spoken) -> list[float]:
    """Error of the total pause time in percent, for each of `LIMITS`."""
    assert item.pause_s is not None
    samples = decode(item.path, check_duration=False).samples
    samples = samples - np.float32(samples.mean(dtype=np.float64))
    f0 = track_f0(samples)
    assert f0 is not None
    level, shipped, errors = measure_intensity(samples).at(f0.times), RhythmRules.load(), []
    for limits in LIMITS:
        speech = shipped.speech.model_copy(update=dict(zip(VARIED, limits, strict=True)))
        with patch.object(RhythmRules, "load", return_value=shipped.model_copy(update={"speech": speech})):
            sounding = sounding_frames(level, speech_thresholds(level, f0.frequency > 0))
        first, last = np.flatnonzero(sounding)[[0, -1]]
        silent = sum(end - begin for begin, end in runs(~sounding[first : last + 1])) * HOP_S
        errors.append(100 * (silent / item.pause_s - 1))
    return errors


def labelled() -> Iterator[Spoken]:
    """Recordings with labels made manually, by alignment or by construction."""
    with (AUDIO / "timing" / "timing_truth.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield Spoken(
                AUDIO / row["path"],
                int(row["n_syllables"]),
                int(row["n_inner_pauses_ge_0.25s"]),
                float(row["inner_pause_total_s"]),
                connected="fsdd" not in row["path"],
            )


def prompts() -> Iterator[Spoken]:
    """Sessions of one reader whose words are all in the dictionary."""
    for table in sorted((AUDIO / "longitudinal" / "kathleen_F").glob("*.utts.csv")):
        counts = [utterance[2] for utterance in utterances(table)]
        if min(counts) >= 0:
            yield Spoken(table.with_name(table.name.replace(".utts.csv", ".flac")), sum(counts), None)


def each(item: Spoken, nuclei_s: np.ndarray) -> list[tuple[int, int]]:
    """True and detected count in every marked utterance."""
    table = item.path.with_name(f"{item.path.stem}.utts.csv")
    if not table.exists():
        return []
    return [(count, int(np.sum((nuclei_s >= start) & (nuclei_s < end)))) for start, end, count in utterances(table)]


def utterances(table: Path) -> list[tuple[float, float, int]]:
    """Start and end in seconds and syllables of each utterance; -1 if a word is not in the dictionary."""
    with table.open(newline="", encoding="utf-8") as file:
        return [(float(row["start"]), float(row["end"]), int(row["n_syll_cmudict"])) for row in csv.DictReader(file)]


def measure(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Moments of the nuclei, and lengths of the pauses, in seconds."""
    frames = analyse_frames(decode(path, check_duration=False).samples)
    assert frames is not None
    return frames.nuclei.times, frames.pauses.values


if __name__ == "__main__":
    show(rows())
