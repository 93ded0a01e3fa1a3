"""Diarization: the turns of each speaker.

Overlapping windows of speech are embedded and clustered; no embedding is stored. If one speaker explains all windows,
or there are too few, all speech belongs to one speaker.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vbdesk.voice.activity import SpeechActivity
from vbdesk.voice.level import active_rms
from vbdesk.voice.recording import ANALYSIS_RATE, Recording, Samples
from vbdesk.voice.short_term import cut_frames
from vbdesk.voice.speaker_clusters import cluster_voices, similarity_of_halves
from vbdesk.voice.speaker_embedding import FRAMES_PER_SECOND, WINDOW_FRAMES, embed_windows, mel_energies

HOP_S = 0.6
QUICK_WINDOWS = 32
MAX_WINDOWS = 750  # more speech is sampled with a longer hop: 20 minutes then cost as much as 8
MIN_WINDOWS = 4  # about 3 s of speech; too few to distinguish two speakers below it
LEVEL = 10 ** (-30 / 20)  # RMS that the encoder was trained on
BACKGROUND_S = 0.2
BACKGROUND_PERCENTILE = 2  # of the level, as for the speech threshold
SAME_TURN_S = 0.5  # longest pause within a turn


@dataclass(frozen=True, slots=True)
class SpeakerTurns:
    """The turns of one speaker.

    Attributes:
        speaker: `speaker_1` has most speech, `speaker_2` less, and so on.
        speech_seconds: total, without pauses within turns.
        segments: (start, end) in seconds, in order; includes short pauses within a turn.
    """

    speaker: str
    speech_seconds: float
    segments: list[tuple[float, float]]


def diarize(recording: Recording, activity: SpeechActivity) -> list[SpeakerTurns]:
    """Separate the speakers of `recording`; a single speaker gives one entry.

    Overlapping speech is assigned to one of its speakers.
    """
    centres_s = _window_centres(activity)
    labels = np.zeros(len(centres_s), np.int64)
    if len(centres_s) >= MIN_WINDOWS:
        labels = cluster_voices(_embed(recording, centres_s))
    pieces = _label_speech(activity, centres_s, labels)
    seconds = {label: sum(end - start for start, end in spoken) for label, spoken in pieces.items()}
    ranked = sorted(pieces, key=lambda label: -seconds[label])
    return [
        SpeakerTurns(f"speaker_{rank}", seconds[label], _bridge(pieces[label], pieces))
        for rank, label in enumerate(ranked, start=1)
    ]


def isolate_speaker(samples: Samples, turns: Sequence[tuple[float, float]]) -> Samples:
    """Replace everything outside `turns` by the recording's own background.

    Pitch range, resonances and speech threshold are then those of one speaker, and times do not change.

    Args:
        samples: mono, shape (n,), at least 0.2 s.
        turns: (start, end) in seconds of the speaker's turns, pauses included.
    """
    length = int(BACKGROUND_S * ANALYSIS_RATE)
    parts = samples[: samples.size // length * length].reshape(-1, length)
    by_level = np.argsort(np.square(parts).mean(axis=1), kind="stable")
    own: Samples = np.resize(parts[by_level[by_level.size * BACKGROUND_PERCENTILE // 100]], samples.size)
    for start, end in turns:
        spoken = slice(int(start * ANALYSIS_RATE), int(end * ANALYSIS_RATE))
        own[spoken] = samples[spoken]
    return own


def voice_similarity(recording: Recording, activity: SpeechActivity) -> float:
    """Cosine between the two most different voices of `recording`, 1 with too little speech.

    Uses only a few windows of running speech, spread over the recording.
    """
    centres_s = _window_centres(activity)
    centres_s = centres_s[~activity.is_sustained_at(centres_s)]
    if len(centres_s) > QUICK_WINDOWS:
        centres_s = centres_s[np.linspace(0, len(centres_s) - 1, QUICK_WINDOWS).astype(np.int64)]
    length = WINDOW_FRAMES * ANALYSIS_RATE // FRAMES_PER_SECOND
    starts = (centres_s * ANALYSIS_RATE).astype(np.int64) - length // 2
    windows = cut_frames(recording.samples, starts, length).ravel() * _gain(recording.samples)
    mel = mel_energies(windows)
    return similarity_of_halves(embed_windows(mel, np.arange(len(centres_s)) * WINDOW_FRAMES))


def _window_centres(activity: SpeechActivity) -> NDArray[np.float64]:
    """Centres of the windows in seconds, evenly within each segment of speech, at least one in each."""
    hop_s = max(HOP_S, activity.speech_s / MAX_WINDOWS)
    centres = [
        np.linspace(start, end, 2 * max(1, round((end - start) / hop_s)) + 1)[1::2] for start, end in activity.segments
    ]
    return np.concatenate([np.empty(0), *centres])


def _embed(recording: Recording, centres_s: NDArray[np.float64]) -> NDArray[np.float32]:
    samples = recording.samples * _gain(recording.samples)
    mel = mel_energies(samples)
    if len(mel) < WINDOW_FRAMES:
        mel = np.pad(mel, ((0, WINDOW_FRAMES - len(mel)), (0, 0)))
    starts = (centres_s * FRAMES_PER_SECOND).astype(np.int64) - WINDOW_FRAMES // 2
    return embed_windows(mel, np.clip(starts, 0, len(mel) - WINDOW_FRAMES))


def _gain(samples: Samples) -> np.float32:
    return np.float32(LEVEL / max(active_rms(samples), 1e-9))


def _label_speech(
    activity: SpeechActivity, centres_s: NDArray[np.float64], labels: NDArray[np.int64]
) -> dict[int, list[tuple[float, float]]]:
    """Cut the speech between windows of different labels; maps label to pieces."""
    pieces: dict[int, list[tuple[float, float]]] = {}
    if not activity.segments:
        return {0: []}
    for start, end in activity.segments:
        inside = np.flatnonzero((centres_s >= start) & (centres_s <= end))
        changes = [
            float(centres_s[left] + centres_s[left + 1]) / 2 for left in inside[:-1] if labels[left] != labels[left + 1]
        ]
        edges = [start, *changes, end]
        for left, right in pairwise(edges):
            nearest = inside[np.abs(centres_s[inside] - (left + right) / 2).argmin()]
            pieces.setdefault(int(labels[nearest]), []).append((left, right))
    return pieces


def _bridge(own: list[tuple[float, float]], pieces: dict[int, list[tuple[float, float]]]) -> list[tuple[float, float]]:
    """Join the pieces of one speaker across short pauses without another speaker."""
    others = sorted(piece for spoken in pieces.values() if spoken is not own for piece in spoken)
    joined = [own[0]] if own else []
    for start, end in own[1:]:
        last_start, last_end = joined[-1]
        interrupted = any(last_end <= other_start < start for other_start, _ in others)
        if start - last_end < SAME_TURN_S and not interrupted:
            joined[-1] = (last_start, end)
        else:
            joined.append((start, end))
    return joined
