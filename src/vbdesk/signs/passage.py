"""One voice in one recording: its features, their place in the reference, and how sure that is."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from vbdesk.signs.norms import Norms, Standardised
from vbdesk.voice.features import FrameAnalysis, summarise
from vbdesk.voice.measurement import FeatureSet, Measurement

Spans = Sequence[tuple[float, float]]

RESAMPLES = 40
SEED = 20_250_101  # of every recording: the same samples give the same draws, and with them the same bits
LONGEST_UNIT_S = 4.0  # a longer phrase is cut, or a fluent reader would be one unit

# Of a standard normal, evenly spread, so that few draws have its mean and nearly its SD.
_DEVIATIONS = [NormalDist().inv_cdf((index + 0.5) / RESAMPLES) for index in range(RESAMPLES)]

WINDOW_S = 10.0
HOP_S = 5.0


@dataclass(frozen=True, slots=True)
class Listening:
    """What a recording allows to measure in it.

    Attributes:
        reliable_voice_quality: False when noise hides how clear the voice is.
        left_out: features that this recording cannot give, whatever is measured, and why.
    """

    norms: Norms
    reliable_voice_quality: bool = True
    left_out: Mapping[str, str] | None = None

    def measure(self, frames: FrameAnalysis | None, spans: Spans | None) -> FeatureSet:
        """Features of the parts `spans`."""
        measured = summarise(frames, spans, reliable_voice_quality=self.reliable_voice_quality)
        if not self.left_out:
            return measured
        return {
            name: Measurement(None, self.left_out[name]) if name in self.left_out else measurement
            for name, measurement in measured.items()
        }


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of the passage."""

    speech_s: float
    z: Standardised


@dataclass(frozen=True, slots=True)
class Passage:
    """All speech of one voice in a recording.

    Attributes:
        features: of the whole passage, in their units; `z` standardised.
        female_share: voice class, internal.
        replicates: `z` of the passage put together again and again from its phrases, drawn with replacement, each
            with the voice class that another take might have given.
        windows: stretches of 10 s, 5 s apart.
    """

    speech_s: float
    features: FeatureSet
    z: Standardised
    female_share: float | None
    replicates: Sequence[Standardised]
    windows: Sequence[Window]


def hear(
    frames: FrameAnalysis | None, segments: Spans, speech_s: float, turns: Spans | None, listening: Listening
) -> Passage:
    """Measure one voice.

    Args:
        frames: of the whole recording; None when there was too little voice to analyse.
        segments: speech of this voice as (start, end) in seconds, without which nothing is measured; `speech_s` is how
            much there is.
        turns: parts of the recording that belong to this voice, pauses included; None when all of it does.
        listening: what may be measured.
    """
    if not segments:  # hum and music have a pitch, too, but nobody's
        frames = None
    features = listening.measure(frames, turns)
    female_share = listening.norms.female_share(features)
    z = listening.norms.standardise(features, female_share)

    def in_window(spans: Spans) -> Standardised:
        return listening.norms.standardise(listening.measure(frames, spans), female_share)

    def in_replicate(spans: Spans, deviation: float) -> Standardised:
        drawn = listening.measure(frames, spans)
        return {**z, **listening.norms.standardise(drawn, listening.norms.share_in_another_take(drawn, deviation))}

    units = resampling_units(frames.phrase_spans, turns) if frames is not None else []
    return Passage(
        speech_s=speech_s,
        features=features,
        z=z,
        female_share=female_share,
        replicates=[in_replicate(spans, deviation) for spans, deviation in _draws(units)],
        windows=[
            Window(speech_s, in_window(parts)) for parts, speech_s in _windows(segments, turns) if frames is not None
        ],
    )


def resampling_units(phrases: Spans, turns: Spans | None) -> list[tuple[float, float]]:
    """Phrases within `turns`, long ones cut into equal parts: the units that are drawn."""
    own = phrases if turns is None else clip(phrases, turns)
    units: list[tuple[float, float]] = []
    for start, end in own:
        parts = max(int(np.ceil((end - start) / LONGEST_UNIT_S)), 1)
        units.extend(pairwise(np.linspace(start, end, parts + 1).tolist()))
    return units


def clip(spans: Spans, limits: Spans) -> list[tuple[float, float]]:
    """The parts of `spans` that lie within `limits`."""
    return [
        (max(start, first), min(end, last))
        for start, end in spans
        for first, last in limits
        if min(end, last) > max(start, first)
    ]


def own_turns(segments: Spans, others: Collection[tuple[float, float]]) -> list[tuple[float, float]]:
    """Join the segments of one speaker across pauses in which nobody else begins to speak."""
    starts = np.sort([start for start, _ in others])
    turns: list[tuple[float, float]] = []
    for start, end in sorted(segments):
        if turns and not np.any((starts >= turns[-1][0]) & (starts < start)):
            turns[-1] = (turns[-1][0], max(end, turns[-1][1]))
        else:
            turns.append((start, end))
    return turns


def _draws(units: Spans) -> list[tuple[list[tuple[float, float]], float]]:
    """Units drawn with replacement, in order of time, and with each draw how far its voice class deviates, in SD."""
    if len(units) < 2:
        return []
    random = np.random.default_rng(SEED)
    chosen = random.integers(len(units), size=(RESAMPLES, len(units)))
    deviations = random.permutation(_DEVIATIONS).tolist()
    return [
        ([units[index] for index in np.sort(draw)], deviation)
        for draw, deviation in zip(chosen, deviations, strict=True)
    ]


def _windows(segments: Spans, turns: Spans | None) -> list[tuple[list[tuple[float, float]], float]]:
    """Parts of this voice in each window that lies whole in the recording, and the seconds of speech in it."""
    if not segments:
        return []
    last_end = max(end for _, end in segments)
    starts = np.arange(0.0, max(last_end - WINDOW_S, 0.0) + HOP_S / 2, HOP_S).tolist()
    windows = [[(start, start + WINDOW_S)] for start in starts]
    return [(window if turns is None else clip(window, turns), _total(clip(segments, window))) for window in windows]


def _total(spans: Spans) -> float:
    return sum(end - start for start, end in spans)
