"""Repeatability of each sign within a speaker, and coverage of the score intervals.

Recordings: one reader on four days with two recordings a day and a same-text repeat, six other readers in two to four
recordings each (chapters without dates), and further single readers. From them:

- the variance of each index within a day, between days and between people (nested components by moments), and from
  these the intraclass correlation of single recordings, ICC(1); only one reader has two recordings a day, so the
  share within a day is that reader's;
- the share of differences between the two halves of a recording within the 90 % interval of that difference;
- how often two recordings of one speaker get different levels.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
from figures import AUDIO, Row, judged, reported, show, skipped

from vbdesk.contract.catalog import SignName
from vbdesk.signs.analysis import RecordingMeasurements, measure_recording, recording_conditions
from vbdesk.signs.passage import Passage
from vbdesk.signs.reference_data import load_reference_data
from vbdesk.signs.scoring import score_sign, sign_index
from vbdesk.signs.uncertainty import NORMAL_90, index_error, standard_error
from vbdesk.voice.decode import decode
from vbdesk.voice.recording import Recording

TOPIC = "repeats"
SHORTEST_HALF_S = 15.0
REFERENCE = load_reference_data()
SIGNS = REFERENCE.calibration.signs


@dataclass(frozen=True)
class Take:
    """One recording of a reader; `day` identifies the day of the recording."""

    speaker: str
    day: str
    path: Path


def takes() -> list[Take]:
    """Recordings with a known speaker; a chapter counts as a day."""
    found = []
    for path in sorted((AUDIO / "longitudinal").glob("*/*.flac")):
        day = path.stem.split("_")[-1][:10] if path.parent.name.startswith("kathleen") else path.stem
        if "retest" not in path.stem:
            found.append(Take(path.parent.name, day, path))
    singles = [*sorted((AUDIO / "timing").glob("librispeech_*.flac")), AUDIO / "long" / "dctts_M_LJ001_56s.flac"]
    return found + [Take(path.stem, path.stem, path) for path in singles if path.exists()]


def rows() -> Iterator[Row]:
    """The figures, as they are measured."""
    recordings = takes()
    if not recordings:
        yield skipped(TOPIC, "ICC per sign", "reported", "the recordings are not here")
        return
    heard: list[RecordingMeasurements] = []
    halves: list[tuple[Passage, Passage]] = []
    for take in recordings:
        recording = decode(take.path)
        heard.append(measure_recording(recording))
        if recording.duration_s >= 2 * SHORTEST_HALF_S:
            first, second = _halves(recording)
            halves.append((measure_recording(first).passages[0], measure_recording(second).passages[0]))
    table = {name: np.array([_index(name, one.passages[0]) for one in heard]) for name in SignName}
    people, days = [take.speaker for take in recordings], [take.day for take in recordings]
    iccs = []
    for name, values in table.items():
        parts = variance_shares(values, people, days)
        iccs.append(parts["between people"])
        shares = ", ".join(f"{100 * share:.0f} % {what}" for what, share in parts.items())
        yield reported(TOPIC, f"{name}: ICC of one recording; variance", f"{parts['between people']:.2f}; {shares}")
    yield reported(TOPIC, f"median ICC of {len(table)} signs, {len(recordings)} recordings", f"{np.median(iccs):.2f}")
    yield from _coverage(halves)
    yield _levels(people, heard)


def variance_shares(values: Sequence[float], people: Sequence[str], days: Sequence[str]) -> Mapping[str, float]:
    """Shares of the variance within a day, between days of one person and between people, by moments of pairs.

    Half the mean squared difference of pairs of one day, of two days, and of two people (each person or pair of people
    weighing the same) estimates the first, the first two, and all three components.
    """
    same_day, other_day, other_person = {}, {}, {}
    for (i, a), (j, b) in combinations(enumerate(values), 2):
        if people[i] != people[j]:
            kind, key = other_person, (people[i], people[j])
        else:
            kind, key = (same_day if days[i] == days[j] else other_day), people[i]
        kind.setdefault(key, []).append((a - b) ** 2 / 2)
    within = np.mean([np.mean(pairs) for pairs in same_day.values()])
    with_days = np.mean([np.mean(pairs) for pairs in other_day.values()])
    total = np.mean([np.mean(pairs) for pairs in other_person.values()])
    between_days = max(with_days - within, 0.0)
    between_people = max(total - max(with_days, within), 0.0)
    parts = {"within a day": within, "between days": between_days, "between people": between_people}
    whole = sum(parts.values())
    return {what: float(part / whole) for what, part in parts.items()}


def _halves(recording: Recording) -> tuple[Recording, Recording]:
    middle = recording.samples.size // 2
    parts = recording.samples[:middle], recording.samples[middle:]
    first, second = (replace(recording, samples=part, duration_s=recording.duration_s / 2) for part in parts)
    return first, second


def _coverage(halves: Sequence[tuple[Passage, Passage]]) -> Iterator[Row]:
    scoring, metrics = REFERENCE.calibration.scoring, REFERENCE.metrics
    covered: dict[str, float] = {}
    for name, sign in SIGNS.items():
        errors = [
            [index_error(sign, scoring, one.replicates, one.voice.tract_share) for one in pair] for pair in halves
        ]
        differences = [_index(name, first) - _index(name, second) for first, second in halves]
        covered[name] = _share_within(differences, errors)
    low = min(covered, key=covered.__getitem__)
    share = float(np.mean(list(covered.values())))
    yield judged(
        TOPIC,
        f"differences between halves within the 90 % interval, {len(covered)} signs x {len(halves)} recordings",
        "88 to 94 %",
        f"{100 * share:.1f} %; least {low} {100 * covered[low]:.0f} %",
        0.88 <= share <= 0.94,
    )
    covered = {}
    for metric_id, metric in metrics.metrics.items():
        factor = scoring.error_factor(metric.weights)

        def score(z: Mapping[str, float], metric=metric) -> float:
            return metric.score(z, metrics.rules.slope)

        errors = [[factor * standard_error(score, one.replicates) for one in pair] for pair in halves]
        covered[metric_id] = _share_within([score(first.z) - score(second.z) for first, second in halves], errors)
    low = min(covered, key=covered.__getitem__)
    share = float(np.mean(list(covered.values())))
    yield judged(
        TOPIC,
        f"the same of {len(covered)} extended metrics and their score_std",
        "88 to 94 %",
        f"{100 * share:.1f} %; least {low} {100 * covered[low]:.0f} %",
        0.88 <= share <= 0.94,
    )


def _share_within(differences: Sequence[float], errors: Sequence[Sequence[float]]) -> float:
    return float(np.mean(np.abs(differences) <= NORMAL_90 * np.hypot(*np.transpose(errors))))


def _levels(people: Sequence[str], heard: Sequence[RecordingMeasurements]) -> Row:
    scoring = REFERENCE.calibration.scoring
    same = []
    for (i, a), (j, b) in combinations(enumerate(heard), 2):
        if people[i] == people[j]:
            for name, sign in SIGNS.items():
                readings = [
                    score_sign(
                        name, sign, scoring, one.passages[0].z, recording_conditions(one.passages[0], one.quality)
                    )
                    for one in (a, b)
                ]
                same.append(readings[0].level.flagged == readings[1].level.flagged)
    return reported(TOPIC, "two recordings of one speaker agree on flagged or not", f"{100 * np.mean(same):.1f} %")


def _index(name: SignName, passage: Passage) -> float:
    return sign_index(SIGNS[name], passage.z, passage.voice.tract_share)


if __name__ == "__main__":
    show(rows())
