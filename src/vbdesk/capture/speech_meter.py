"""How much was said so far: speech activity of a running recording, heard in a thread of its own.

Speech is what the Silero detector of the check afterwards hears, 32 ms at a time. A held vowel is no speech to it, so
sound above the noise floor is counted beside it, for tasks that ask for a voice and not for words.
"""

import queue
import threading
from collections import deque
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vbdesk.capture.encrypted_take import Frames
from vbdesk.voice.activity import CHUNK, CHUNK_S, CONTEXT, LEVEL, MAX_GAIN, SPEECH_PROBABILITY, detector
from vbdesk.voice.level import to_dbfs
from vbdesk.voice.recording import ANALYSIS_RATE, Samples
from vbdesk.voice.resample import StreamResampler

FULL_SCALE = np.float32(32768.0)
GAIN_MEMORY_S = 10.0
FLOOR_MEMORY_S = 30.0  # longer than a held breath
LOUD_PERCENTILE = 90
FLOOR_PERCENTILE = 5
SOUND_OVER_FLOOR_DB = 12.0
SOUND_DBFS = -50.0  # never less than this is a voice
UNKNOWN_FLOOR_DBFS = -60.0
FLOOR_KNOWN_S = 2.0
HIGHEST_FLOOR_DBFS = -40.0  # a vowel that fills the memory must not become the floor


@dataclass(frozen=True, slots=True)
class SpeechSoFar:
    """What was said until now.

    Attributes:
        speech_s, sound_s: seconds of speech, and of any voice, in the whole take.
        task_speech_s, task_sound_s: the same since the present task began.
        speaking: somebody speaks at this moment.
    """

    speech_s: float = 0.0
    sound_s: float = 0.0
    task_speech_s: float = 0.0
    task_sound_s: float = 0.0
    speaking: bool = False


class SpeechCounter:
    """Counts speech in a stream of blocks; not safe for several threads."""

    def __init__(self, sample_rate: int) -> None:
        self._resampler = StreamResampler(sample_rate)
        self._state = np.zeros((2, 1, 128), np.float32)
        self._rate = np.array(ANALYSIS_RATE, np.int64)
        self._context = np.zeros(CONTEXT, np.float32)
        self._rest: Samples = np.empty(0, np.float32)
        self._levels = _Levels()
        self._speech = self._sound = self._task_speech = self._task_sound = 0
        self._speaking = False

    def feed(self, samples: Frames, *, counts: bool = True) -> None:
        """Take in a block, shape (n,); one that does not count only makes the noise floor known."""
        ready = np.concatenate([self._rest, self._resampler.feed(samples.astype(np.float32) / FULL_SCALE)])
        count = len(ready) // CHUNK
        for chunk in ready[: count * CHUNK].reshape(count, CHUNK):
            self._hear(chunk, counts)
        self._rest = ready[count * CHUNK :]

    def begin_task(self) -> None:
        """Count a new task from here."""
        self._task_speech = self._task_sound = 0

    def so_far(self) -> SpeechSoFar:
        """The counts."""
        return SpeechSoFar(
            speech_s=self._speech * CHUNK_S,
            sound_s=self._sound * CHUNK_S,
            task_speech_s=self._task_speech * CHUNK_S,
            task_sound_s=self._task_sound * CHUNK_S,
            speaking=self._speaking,
        )

    def _hear(self, chunk: NDArray[np.float32], counts: bool) -> None:
        self._levels.feed(float(np.mean(chunk * chunk)))
        heard = np.concatenate([self._context, chunk])
        self._context = chunk[-CONTEXT:]
        feeds = {"input": (heard * self._levels.gain())[None], "state": self._state, "sr": self._rate}
        probability, self._state = detector().run(None, feeds)
        self._speaking = bool(probability[0, 0] >= SPEECH_PROBABILITY)
        if not counts:
            return
        sounding = self._levels.sounding()
        self._speech += self._speaking
        self._task_speech += self._speaking
        self._sound += sounding
        self._task_sound += sounding


class _Levels:
    """Loudness of the last seconds, chunk by chunk: how much to amplify, and what stands above the noise."""

    def __init__(self) -> None:
        self._energies: deque[float] = deque(maxlen=round(FLOOR_MEMORY_S / CHUNK_S))

    def feed(self, energy: float) -> None:
        self._energies.append(energy)

    def gain(self) -> np.float32:
        """Brings the loud moments to the level that the detector is shown."""
        latest = np.array(self._energies)[-round(GAIN_MEMORY_S / CHUNK_S) :]
        loud = float(np.sqrt(np.percentile(latest, LOUD_PERCENTILE)))
        return np.float32(min(LEVEL / max(loud, LEVEL / MAX_GAIN), MAX_GAIN))

    def sounding(self) -> bool:
        floor_dbfs = UNKNOWN_FLOOR_DBFS
        if len(self._energies) * CHUNK_S >= FLOOR_KNOWN_S:
            floor_dbfs = to_dbfs(float(np.sqrt(np.percentile(np.array(self._energies), FLOOR_PERCENTILE))))
        limit_dbfs = max(SOUND_DBFS, min(floor_dbfs, HIGHEST_FLOOR_DBFS) + SOUND_OVER_FLOOR_DB)
        return to_dbfs(float(np.sqrt(self._energies[-1]))) >= limit_dbfs


_NEW_TASK = np.empty(0, np.int16)


class SpeechMeter:
    """A SpeechCounter in a thread of its own: `feed` only puts a block away, `so_far` only reads."""

    def __init__(self, sample_rate: int) -> None:
        """Begin to listen to blocks of `sample_rate` Hz."""
        self._sample_rate = sample_rate
        self._blocks: queue.SimpleQueue[tuple[Frames, bool] | None] = queue.SimpleQueue()
        self._so_far = SpeechSoFar()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="speech-meter", daemon=True)
        self._thread.start()

    def feed(self, samples: Frames, *, counts: bool = True) -> None:
        """Take in a block, shape (n,); see `SpeechCounter.feed`."""
        self._blocks.put((samples, counts))

    def begin_task(self) -> None:
        """Count a new task from here."""
        self._blocks.put((_NEW_TASK, False))
        self._so_far = replace(self._so_far, task_speech_s=0.0, task_sound_s=0.0)

    def so_far(self) -> SpeechSoFar:
        """The latest counts, some 50 ms old."""
        return self._so_far

    def stop(self) -> None:
        """End; what was not heard yet is left out."""
        self._stopping.set()
        self._blocks.put(None)

    def join(self, timeout_s: float | None = None) -> None:
        """Wait until the thread has ended."""
        self._thread.join(timeout_s)

    def _run(self) -> None:
        counter = SpeechCounter(self._sample_rate)
        while (item := self._blocks.get()) is not None and not self._stopping.is_set():
            samples, counts = item
            if samples is _NEW_TASK:
                counter.begin_task()
            else:
                counter.feed(samples, counts=counts)
            self._so_far = counter.so_far()
