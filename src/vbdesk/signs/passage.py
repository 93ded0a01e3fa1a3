"""A passage: the speech of one speaker in a recording, with its features, z values and resamples."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from vbdesk.signs.norms import Z_LIMIT, Norms, VoicePosition, ZScores
from vbdesk.voice.features import FrameAnalysis, summarise_features
from vbdesk.voice.measurement import FeatureSet, Measurement

Spans = Sequence[tuple[float, float]]

RESAMPLES = 40
SEED = 20_250_101  # fixed, so that the same samples give the same result
LONGEST_UNIT_S = 4.0  # longer phrases are cut; otherwise a fluent reader would be one unit

# Quantiles of the standard normal: a few draws then have its mean and nearly its SD.
DEVIATIONS = [NormalDist().inv_cdf((index + 0.5) / RESAMPLES) for index in range(RESAMPLES)]

WINDOW_S = 10.0
HOP_S = 5.0


@dataclass(frozen=True, slots=True)
class MeasurementOptions:
    """How to measure the features of a recording.

    Attributes:
        reliable_voice_quality: False if noise hides the voice quality.
        left_out: features not to measure in this recording, with the missing code.
        shifts: z to add in each bootstrap draw, where the average of this speaker's language is unknown.
    """

    norms: Norms
    reliable_voice_quality: bool = True
    left_out: Mapping[str, str] | None = None
    shifts: Sequence[Mapping[str, float]] = ()

    def measure(self, frames: FrameAnalysis | None, spans: Spans | None) -> FeatureSet:
        """Measure the features of the parts `spans`."""
        measured = summarise_features(frames, spans, reliable_voice_quality=self.reliable_voice_quality)
        if not self.left_out:
            return measured
        return {
            name: Measurement(None, self.left_out[name]) if name in self.left_out else measurement
            for name, measurement in measured.items()
        }


@dataclass(frozen=True, slots=True)
class Window:
    """A time window of the passage."""

    speech_s: float
    z: ZScores


@dataclass(frozen=True, slots=True)
class Passage:
    """All speech of one speaker in a recording.

    Attributes:
        features: of the whole passage, in their units; `z` standardised.
        voice: where the voice lies among the reference voices, internal.
        replicates: `z` of bootstrap resamples of the phrases, each with the resonances of a simulated take and, for
            another language, with a simulated average of its speakers.
        windows: windows of 10 s, 5 s apart.
    """

    speech_s: float
    features: FeatureSet
    z: ZScores
    voice: VoicePosition
    replicates: Sequence[ZScores]
    windows: Sequence[Window]


def measure_passage(
    frames: FrameAnalysis | None, segments: Spans, speech_s: float, turns: Spans | None, options: MeasurementOptions
) -> Passage:
    """Measure the speech of one speaker.

    Args:
        frames: of the whole recording; None with too little voice to analyse.
        segments: speech of this speaker as (start, end) in seconds; without any, nothing is measured.
        speech_s: total length of `segments`.
        turns: parts of the recording that belong to this speaker, pauses included; None for the whole recording.
        options: how to measure.
    """
    if not segments:  # hum and music also have a pitch
        frames = None
    features = options.measure(frames, turns)
    voice = options.norms.locate(features)
    z = options.norms.standardise(features, voice)

    def in_window(spans: Spans) -> ZScores:
        return options.norms.standardise(options.measure(frames, spans), voice)

    def in_replicate(spans: Spans, deviation: float) -> ZScores:
        drawn = options.measure(frames, spans)
        return {**z, **options.norms.standardise(drawn, options.norms.locate(drawn, deviation))}

    units = resampling_units(frames.phrase_spans, turns) if frames is not None else []
    return Passage(
        speech_s=speech_s,
        features=features,
        z=z,
        voice=voice,
        replicates=_shifted([in_replicate(spans, deviation) for spans, deviation in _draws(units)], options.shifts),
        windows=[
            Window(speech_s, in_window(parts)) for parts, speech_s in _windows(segments, turns) if frames is not None
        ],
    )


def resampling_units(phrases: Spans, turns: Spans | None) -> list[tuple[float, float]]:
    """The units of the bootstrap: phrases within `turns`, long ones cut into equal parts."""
    own = phrases if turns is None else clip(phrases, turns)
    units: list[tuple[float, float]] = []
    for start, end in own:
        parts = max(int(np.ceil((end - start) / LONGEST_UNIT_S)), 1)
        units.extend(pairwise(np.linspace(start, end, parts + 1).tolist()))
    return units


def clip(spans: Spans, limits: Spans) -> list[tuple[float, float]]:
    """The parts of `spans` within `limits`."""
    return [
        (max(start, first), min(end, last))
        for start, end in spans
        for first, last in limits
        if min(end, last) > max(start, first)
    ]


def merge_turns(segments: Spans, others: Collection[tuple[float, float]]) -> list[tuple[float, float]]:
    """Join the segments of one speaker across pauses in which no other speaker starts."""
    starts = np.sort([start for start, _ in others])
    turns: list[tuple[float, float]] = []
    for start, end in sorted(segments):
        if turns and not np.any((starts >= turns[-1][0]) & (starts < start)):
            turns[-1] = (turns[-1][0], max(end, turns[-1][1]))
        else:
            turns.append((start, end))
    return turns


def _draws(units: Spans) -> list[tuple[list[tuple[float, float]], float]]:
    """Bootstrap draws: units in order of time, and the deviation of the resonances in SD."""
    if len(units) < 2:
        return []
    random = np.random.default_rng(SEED)
    chosen = random.integers(len(units), size=(RESAMPLES, len(units)))
    deviations = random.permutation(DEVIATIONS).tolist()
    return [
        ([units[index] for index in np.sort(draw)], deviation)
        for draw, deviation in zip(chosen, deviations, strict=True)
    ]


def _shifted(replicates: Sequence[ZScores], shifts: Sequence[Mapping[str, float]]) -> Sequence[ZScores]:
    """`replicates`, each with its shift; as they are without shifts."""
    if not shifts:
        return replicates
    return [
        {name: min(max(value + shift.get(name, 0.0), -Z_LIMIT), Z_LIMIT) for name, value in z.items()}
        for z, shift in zip(replicates, shifts, strict=False)
    ]


def _windows(segments: Spans, turns: Spans | None) -> list[tuple[list[tuple[float, float]], float]]:
    """The turns within each whole window, and the seconds of speech in it."""
    if not segments:
        return []
    last_end = max(end for _, end in segments)
    starts = np.arange(0.0, max(last_end - WINDOW_S, 0.0) + HOP_S / 2, HOP_S).tolist()
    windows = [[(start, start + WINDOW_S)] for start in starts]
    return [(window if turns is None else clip(window, turns), _total(clip(segments, window))) for window in windows]


def _total(spans: Spans) -> float:
    return sum(end - start for start, end in spans)
