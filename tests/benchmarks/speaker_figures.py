"""Diarization error with known turns: simulated dialogues, monologues, a telephone dialogue, meetings.

As usual in the field, 0.25 s around every edge are left out. The turns of simulated dialogues include short pauses
within an utterance, so only their confusion (speech of the wrong speaker) is meaningful. The threshold of the
single-speaker check was set on part of these readers, so its figure is not held out.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import soundfile as sf
from figures import AUDIO, Row, judged, reported, show, skipped
from scipy.optimize import linear_sum_assignment

from vbdesk.voice.activity import detect_speech
from vbdesk.voice.decode import decode, from_samples
from vbdesk.voice.recording import ANALYSIS_RATE, Recording
from vbdesk.voice.speakers import diarize

TOPIC = "Speakers"
Turns = dict[str, list[tuple[float, float]]]
COLLAR_S = 0.25
DIALOGUE_S = 60.0
GAP_S = 0.4
PAIRS = (  # voices alike and unlike, of women and men
    ("librispeech_121F", "librispeech_237F"),
    ("librispeech_121F", "librispeech_260M"),
    ("librispeech_237F", "librispeech_4992F"),
    ("librispeech_237F", "librispeech_908M"),
    ("librispeech_4992F", "librispeech_7021M"),
    ("librispeech_260M", "librispeech_908M"),
    ("librispeech_7021M", "librispeech_260M"),
    ("kathleen_F", "librispeech_908M"),
)


@dataclass(frozen=True, slots=True)
class Score:
    """One recording: found and true number of speakers; error and confusion in percent of the speech."""

    found: int
    true: int
    error: float
    confusion: float


def rows() -> Iterator[Row]:
    """Every figure of speakers."""
    if not AUDIO.is_dir():
        yield skipped(TOPIC, "all figures", "", "the shared recordings are not here")
        return
    monologues = [score(decode(path), {"reader": []}) for path in one_reader_each()]
    folder = AUDIO / "diarization"
    dialogues = [score(*make_dialogue(*pair)) for pair in PAIRS]
    given = [score(decode(path), read_rttm(path)) for path in sorted(folder.glob("sim_*.flac"))]
    telephone_path = folder / "pyannote_sample_2spk_30s.flac"
    telephone = score(decode(telephone_path), read_rttm(telephone_path))
    all_of_one_or_two = [*monologues, *dialogues, telephone]
    right = sum(item.found == item.true for item in all_of_one_or_two)
    count = len(all_of_one_or_two)
    yield judged(
        TOPIC,
        f"number of speakers: {len(monologues)} monologues, {len(dialogues)} made dialogues, a telephone call",
        "17 of 19",
        f"{right} of {count}",
        right / count >= 17 / 19,
    )
    confusion = np.array([item.confusion for item in dialogues + given])
    yield judged(
        TOPIC,
        f"confusion in {len(confusion)} made dialogues of 60 to 80 s",
        "2 %",
        f"{confusion.mean():.1f} % (largest {confusion.max():.1f} %)",
        bool(confusion.mean() <= 2),
    )
    yield judged(
        TOPIC,
        "error rate (DER, overlap included) of a telephone dialogue",
        "6 %",
        f"{telephone.error:.1f} % (confusion {telephone.confusion:.1f} %)",
        telephone.error <= 6,
    )
    three = score(decode(folder / "falcon_3spk_18s.flac"), read_rttm(folder / "falcon_3spk_18s.flac"))
    yield judged(
        TOPIC,
        "error rate (DER) of a real talk of three without overlap",
        "40 %",
        f"{three.error:.0f} % ({three.found} found)",
        three.error <= 40,
    )
    yield from meeting_rows()
    for path in [*sorted(folder.glob("ami_*.flac")), *sorted(folder.glob("falcon_*.flac"))]:
        meeting = score(decode(path), read_rttm(path))
        yield reported(
            TOPIC,
            f"{path.stem}: {meeting.true} speakers, partly at once",
            f"{meeting.found} found, DER {meeting.error:.0f} %, confusion {meeting.confusion:.0f} %",
        )


def meeting_rows() -> Iterator[Row]:
    """Made meetings of two and three in turns of 1.5 to 6 s, of unequal shares and levels, with soft noise."""
    spoken = {folder.name: utterances(folder) for folder in sorted((AUDIO / "longitudinal").iterdir())}
    for count, step in ((2, 2), (3, 4)):
        found = [
            score(*make_meeting({name: spoken[name] for name in names}, seconds, number))
            for seconds in (25, 50)
            for number, names in enumerate(list(combinations(spoken, count))[::step])
        ]
        numbers = [item.found for item in found]
        yield reported(
            TOPIC,
            f"{len(found)} made meetings of {count}: too many speakers",
            f"{sum(number > count for number in numbers)} (most {max(numbers)}), "
            f"right {sum(number == count for number in numbers)}, "
            f"confusion {np.mean([item.confusion for item in found]):.1f} %",
        )


def make_meeting(spoken: dict[str, list[np.ndarray]], seconds: float, seed: int) -> tuple[Recording, Turns]:
    """A meeting in which everybody talks at least once and some more than others."""
    random = np.random.default_rng(seed)
    names = list(spoken)
    share = random.dirichlet([2] * len(names)) + 0.15
    order = list(names)
    parts, turns, clock_s = [np.zeros(int(GAP_S * ANALYSIS_RATE), np.float32)], {name: [] for name in names}, GAP_S
    while clock_s < seconds:
        name = order.pop(0) if order else str(random.choice(names, p=share / share.sum()))
        samples = spoken[name][int(random.integers(len(spoken[name])))]
        samples = samples[: int(random.uniform(1.5, 6) * ANALYSIS_RATE)] * 10 ** random.uniform(-0.25, 0.25)
        turns[name].append((clock_s, clock_s + len(samples) / ANALYSIS_RATE))
        parts += [samples, np.zeros(int(random.uniform(0.1, 0.6) * ANALYSIS_RATE), np.float32)]
        clock_s = sum(map(len, parts)) / ANALYSIS_RATE
    sound = np.concatenate(parts)
    sound = sound + 1e-3 * random.standard_normal(sound.size)
    return from_samples(sound.astype(np.float32), ANALYSIS_RATE), turns


def one_reader_each() -> list[Path]:
    """One recording of each of ten readers."""
    sessions = [sorted(folder.glob("*.flac"))[0] for folder in sorted((AUDIO / "longitudinal").iterdir())]
    return [*sessions, *sorted((AUDIO / "timing").glob("librispeech_*.flac"))[:3]]


def make_dialogue(first: str, second: str) -> tuple[Recording, Turns]:
    """About a minute in which two readers take turns, an utterance each."""
    readers = [utterances(AUDIO / "longitudinal" / name) for name in (first, second)]
    parts, turns = [np.zeros(int(GAP_S * ANALYSIS_RATE), np.float32)], {first: [], second: []}
    clock_s = GAP_S
    while clock_s < DIALOGUE_S and all(readers):
        for name, spoken in zip((first, second), readers, strict=True):
            samples = spoken.pop(0)
            turns[name].append((clock_s, clock_s + len(samples) / ANALYSIS_RATE))
            parts += [samples, np.zeros(int(GAP_S * ANALYSIS_RATE), np.float32)]
            clock_s = sum(map(len, parts)) / ANALYSIS_RATE
    sound = np.concatenate(parts)
    sound += 1e-4 * np.random.default_rng(0).standard_normal(sound.size).astype(np.float32)
    return from_samples(sound, ANALYSIS_RATE), turns


def utterances(folder: Path) -> list[np.ndarray]:
    """Utterances of 2 to 10 s of a reader, at one level."""
    found = []
    for table in sorted(folder.glob("*.utts.csv")):
        samples, rate = sf.read(table.with_name(table.name.replace(".utts.csv", ".flac")), dtype="float32")
        assert rate == ANALYSIS_RATE
        with table.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                start, end = float(row["start"]), float(row["end"])
                if 2 <= end - start <= 10:
                    part = samples[int(start * rate) : int(end * rate)]
                    found.append(part * np.float32(0.05 / np.sqrt(np.mean(part**2))))
    return found


def read_rttm(path: Path) -> Turns:
    """Turns in seconds by speaker, from the RTTM file beside a recording."""
    turns: Turns = {}
    for line in path.with_suffix(".rttm").read_text(encoding="utf-8").splitlines():
        _, _, _, begin, length, _, _, speaker, *_ = line.split()
        turns.setdefault(speaker, []).append((float(begin), float(begin) + float(length)))
    return turns


def score(recording: Recording, truth: Turns) -> Score:
    """Diarize and compare with `truth`; without turns in it, only the number of speakers is compared."""
    speakers = diarize(recording, detect_speech(recording))
    if not any(truth.values()):
        return Score(len(speakers), len(truth), 0.0, 0.0)
    times_s = np.arange(0.005, recording.duration_s, 0.01)
    edges = np.array([edge for turns in truth.values() for turn in turns for edge in turn])
    times_s = times_s[np.abs(times_s[:, None] - edges).min(axis=1) > COLLAR_S]
    said = np.stack([covered(turns, times_s) for turns in truth.values()]).astype(int)
    found = np.stack([covered(speaker.segments, times_s) for speaker in speakers]).astype(int)
    overlap = said @ found.T
    right = overlap[linear_sum_assignment(-overlap)].sum()
    error = np.maximum(said.sum(axis=0), found.sum(axis=0)).sum() - right
    confusion = np.minimum(said.sum(axis=0), found.sum(axis=0)).sum() - right
    return Score(len(speakers), len(truth), 100 * error / said.sum(), 100 * confusion / said.sum())


def covered(spans: list[tuple[float, float]], times_s: np.ndarray) -> np.ndarray:
    """Whether each time is in one of the spans."""
    inside = np.zeros(len(times_s), bool)
    for begin, end in spans:
        inside |= (times_s >= begin) & (times_s < end)
    return inside


if __name__ == "__main__":
    show(rows())
