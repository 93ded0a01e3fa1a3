"""Figures of the voice comparison: wrong persons noticed, false warnings, and how its threshold was chosen.

    nice -n 15 python tests/benchmarks/speaker_guard_figures.py

Needs ../shared/audio; about three minutes of one core. Same person on another day: every recording of the readers in
`longitudinal/` and `long/` with other sessions (LibriSpeech chapters have no dates; another chapter counts as another
day). Wrong person: other readers of the same corpus, the readers of `norms/`, and actors in one studio with the same
words. The mean of many voices is computed without the speakers that are compared.

The threshold is where a normal distribution, fitted to the similarities of the same person with equal weight for each
speaker, has 2 % below it. To measure that choice, it is made on half of the speakers and measured on the others, in
every split. Intervals are 95 % by bootstrap over speakers.
"""

import csv
import itertools
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist

import figures
import numpy as np
import speaker_background
from figures import AUDIO, Row, reported, skipped

from vbdesk.capture.imported_sound import decode_file
from vbdesk.outbox.imports.speaker_comparison import comparison_rules, similarity, voice_of
from vbdesk.voice.errors import AudioError

TOPIC = "Voice comparison"
FALSE_WARNINGS = 0.02
DRAWS = 2000
OF_MANY_DAYS = ("longitudinal/", "long/")
BACKGROUND = speaker_background.TAKEN
OTHERS = ("norms/", "emotion_dev/")
CALM = ("neutral", "calm")

Voice = np.ndarray
Spoken = list[tuple[str, Voice]]  # session, voice
Rates = dict[str, float]  # by speaker


def rows() -> Iterator[Row]:
    """Print the figures."""
    if not (AUDIO / "manifest.csv").exists():
        yield skipped(TOPIC, "voice comparison", "", "no ../shared/audio here")
        return
    listed = _listed()
    voices = {path: voice for path in listed if (voice := _voice(path)) is not None}
    known = [(listed[path]["speaker"], path, voice) for path, voice in voices.items() if path.startswith(BACKGROUND)]
    people = _people(listed, voices)
    one = {speaker: _same(known, speaker, spoken, 1) for speaker, spoken in people.items()}
    three = {speaker: _same(known, speaker, spoken, 3) for speaker, spoken in people.items()}
    limit = comparison_rules().unlike_below
    trials = sum(map(len, one.values()))
    yield reported(TOPIC, "same person on another day", f"{trials} comparisons of {len(one)} speakers")
    yield reported(TOPIC, "threshold with 2 % false warnings, from all speakers", f"{_threshold(one):.2f}")
    yield reported(TOPIC, "threshold in use", f"{limit:.2f}")
    yield reported(TOPIC, "false warnings at it, one earlier recording", _told(_below(one, limit)))
    yield reported(TOPIC, "false warnings at it, up to three earlier recordings", _told(_below(three, limit)))
    chosen, false_one, false_three = _halves(one, three)
    yield reported(TOPIC, "threshold chosen on half of the speakers", f"{chosen.min():.2f} to {chosen.max():.2f}")
    yield reported(TOPIC, "false warnings for the other half, one earlier recording", f"{100 * false_one:.1f} %")
    yield reported(TOPIC, "false warnings for the other half, up to three", f"{100 * false_three:.1f} %")
    for name, others in _wrong(listed, voices, known, people).items():
        for which, rates in others.items():
            count = sum(map(len, rates.values()))
            told = f"{_told(_below(rates, limit))}, {count} comparisons of {len(rates)} speakers"
            yield reported(TOPIC, f"wrong person noticed, {name}, {which}", told)
            halves = np.mean([np.mean(list(_below(rates, each).values())) for each in chosen])
            yield reported(
                TOPIC, f"the same with the thresholds of the halves, {name}, {which}", f"{100 * halves:.1f} %"
            )


def _listed() -> dict[str, dict[str, str]]:
    with (AUDIO / "manifest.csv").open(encoding="utf-8") as file:
        wanted = (*OF_MANY_DAYS, *BACKGROUND, *OTHERS)
        return {entry["path"]: entry for entry in csv.DictReader(file) if entry["path"].startswith(wanted)}


def _voice(path: str) -> Voice | None:
    try:
        return voice_of(decode_file((AUDIO / path).read_bytes()))
    except AudioError:
        return None


def _people(listed: Mapping[str, Mapping[str, str]], voices: Mapping[str, Voice]) -> dict[str, Spoken]:
    """Speakers with recordings of several days; the pair without a date is left out."""
    found: dict[str, Spoken] = defaultdict(list)
    for path, voice in voices.items():
        entry = listed[path]
        if path.startswith(OF_MANY_DAYS) and not entry["session"].startswith("retest"):
            found[entry["speaker"]].append((_day(entry), voice))
    return {speaker: spoken for speaker, spoken in found.items() if len({day for day, _ in spoken}) > 1}


def _day(entry: Mapping[str, str]) -> str:
    """The day of a dated session, else the session."""
    session = entry["session"]
    return session.partition(" ")[2][:10] if "T" in session and "2020-" in session else session


def _same(known: speaker_background.Voices, speaker: str, spoken: Spoken, most: int) -> np.ndarray:
    """Similarity of each recording to the nearest of up to `most` recordings of other days."""
    common = speaker_background.background(known, frozenset({speaker}))
    found = []
    for day, voice in spoken:
        others = [other for when, other in spoken if when != day]
        found += [
            max(similarity(voice, other, common) for other in earlier)
            for earlier in itertools.combinations(others, min(most, len(others)))
        ]
    return np.array(found)


def _threshold(same: Mapping[str, np.ndarray]) -> float:
    mean = np.mean([values.mean() for values in same.values()])
    variance = np.mean([np.mean((values - mean) ** 2) for values in same.values()])
    return NormalDist(float(mean), float(np.sqrt(variance))).inv_cdf(FALSE_WARNINGS)


def _halves(one: Mapping[str, np.ndarray], three: Mapping[str, np.ndarray]) -> tuple[np.ndarray, float, float]:
    """Thresholds of every half of the speakers, and false warnings of the other half."""
    chosen, false_one, false_three = [], [], []
    for half in itertools.combinations(one, len(one) // 2):
        limit = _threshold({speaker: one[speaker] for speaker in half})
        rest = [speaker for speaker in one if speaker not in half]
        chosen.append(limit)
        false_one.append(np.mean([np.mean(one[speaker] < limit) for speaker in rest]))
        false_three.append(np.mean([np.mean(three[speaker] < limit) for speaker in rest]))
    return np.array(chosen), float(np.mean(false_one)), float(np.mean(false_three))


def _wrong(
    listed: Mapping[str, Mapping[str, str]],
    voices: Mapping[str, Voice],
    known: speaker_background.Voices,
    people: Mapping[str, Spoken],
) -> dict[str, dict[str, dict[str, np.ndarray]]]:
    """Similarities of wrong persons by corpus, of any and of the same sex, by the speaker in whose place they stand."""
    sex = {entry["speaker"]: entry["sex"] for entry in listed.values()}
    readers = {name: spoken for name, spoken in people.items() if name.startswith("LS")}
    norms: dict[str, Spoken] = defaultdict(list)
    actors: dict[str, Spoken] = defaultdict(list)
    for path, voice in voices.items():
        entry = listed[path]
        if path.startswith("norms/"):
            norms[entry["speaker"]].append(("", voice))
        elif path.startswith("emotion_dev/ravdess") and entry["session"] in CALM:
            actors[entry["speaker"]].append((entry["session"], voice))
    corpora = {
        "audiobook readers, up to three earlier recordings": readers,
        "readers of one passage": norms,
        "actors in one studio, calm, the same words": actors,
    }
    found = {}
    for name, speakers in corpora.items():
        both: dict[str, dict[str, list[float]]] = {"any": defaultdict(list), "same sex": defaultdict(list)}
        for person, other in itertools.permutations(speakers, 2):
            common = speaker_background.background(known, frozenset({person, other}) & {who for who, _, _ in known})
            earlier = [voice for _, voice in speakers[person][: comparison_rules().earlier_takes]]
            for _, voice in speakers[other]:
                nearest = max(similarity(voice, each, common) for each in earlier)
                both["any"][person].append(nearest)
                if sex[person] == sex[other]:
                    both["same sex"][person].append(nearest)
        found[name] = {which: {who: np.array(each) for who, each in by.items()} for which, by in both.items()}
    return found


def _below(values: Mapping[str, np.ndarray], limit: float) -> Rates:
    return {speaker: float(np.mean(each < limit)) for speaker, each in values.items()}


def _told(rates: Rates) -> str:
    """The mean over speakers with its interval."""
    values: Sequence[float] = list(rates.values())
    draws = np.random.default_rng(1).choice(values, (DRAWS, len(values))).mean(axis=1)
    low, high = 100 * np.percentile(draws, [2.5, 97.5])
    return f"{100 * np.mean(values):.1f} % ({low:.1f} to {high:.1f})"


if __name__ == "__main__":
    sys.exit(0 if figures.show(rows()) else 1)
