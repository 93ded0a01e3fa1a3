"""Whether a new recording sounds like the same person as the subject's earlier ones.

It only asks: a cold, another microphone or hoarseness change a voice too. Voice embeddings live in memory only and are
never stored. The similarity of a recording is stored encrypted with it, and stays on this computer.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from vbdesk.capture.encrypted_take import EncryptedFileError, TakeAudio
from vbdesk.capture.imported_sound import FULL_SCALE
from vbdesk.data_files import read_toml
from vbdesk.outbox.library.items import ItemFilter, RecordingItem, SpeakerFinding
from vbdesk.outbox.library.library import Library, UnknownTake
from vbdesk.resource_files import resource
from vbdesk.voice.activity import detect_speech
from vbdesk.voice.decode import from_samples
from vbdesk.voice.errors import AudioError
from vbdesk.voice.level import active_rms
from vbdesk.voice.recording import ANALYSIS_RATE, Recording
from vbdesk.voice.speaker_embedding import WINDOW_FRAMES, embed_windows, mel_energies

ENCODER_LEVEL = 10 ** (-30 / 20)  # RMS level of the encoder's training data
HOP_FRAMES = WINDOW_FRAMES // 2
REMEMBERED = 200
EMBEDDING = 256

Voice = NDArray[np.float32]
_Voice = tuple[str, tuple[float, float] | None]
"""A take and the part of it that counts."""


class SpeakerComparisonRules(BaseModel):
    """The content of resources/capture/speaker_guard.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    heard_s: Annotated[float, Field(gt=0)]
    read_s: Annotated[float, Field(gt=0)]
    min_speech_s: Annotated[float, Field(gt=0)]
    earlier_takes: Annotated[int, Field(ge=1)]
    unlike_below: Annotated[float, Field(gt=0, lt=1)]
    warning: str


class _Background(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    mean: Annotated[list[float], Field(min_length=EMBEDDING, max_length=EMBEDDING)]


@cache
def comparison_rules() -> SpeakerComparisonRules:
    """The shipped rules."""
    return SpeakerComparisonRules.model_validate(read_toml(resource("capture", "speaker_guard.toml")))


@cache
def background() -> Voice:
    """The mean of many voices, shape (256,); subtracted before two voices are compared."""
    document = read_toml(resource("capture", "speaker_background.toml"))
    return np.asarray(_Background.model_validate(document).mean, np.float32)


def similarity(one: Voice, other: Voice, common: Voice) -> float:
    """Cosine similarity of two voices after subtracting `common`; -1 to 1."""
    a, b = one - common, other - common
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


@dataclass(frozen=True, slots=True)
class SpeakerSimilarity:
    """Similarity of a recording to earlier ones.

    Attributes:
        similarity: to the nearest of them, up to 1; None if there is nothing to compare.
        compared: number of earlier recordings it was compared with.
        warning: one sentence if it is unlike all of them; None otherwise.
    """

    similarity: float | None
    compared: int
    warning: str | None


def voice_of(audio: TakeAudio) -> Voice | None:
    """The embedding of the voice in a recording, as a unit vector; None with too little speech."""
    rules = comparison_rules()
    samples = audio.samples[: round(rules.read_s * audio.sample_rate)]
    recording = from_samples(samples.astype(np.float32) / FULL_SCALE, audio.sample_rate)
    speech = _speech_only(recording, rules.heard_s)
    if len(speech) < rules.min_speech_s * ANALYSIS_RATE:
        return None
    mel = mel_energies(speech * np.float32(ENCODER_LEVEL / max(active_rms(speech), 1e-9)))
    starts = np.arange(0, len(mel) - WINDOW_FRAMES + 1, HOP_FRAMES)
    mean = embed_windows(mel, starts).mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean), np.float32)


def compare(voice: Voice | None, earlier: Iterable[Voice]) -> SpeakerSimilarity:
    """Compare a voice with earlier ones; warns only if it is unlike all of them."""
    rules = comparison_rules()
    similarities = [] if voice is None else [similarity(voice, other, background()) for other in earlier]
    if not similarities:
        return SpeakerSimilarity(None, 0, None)
    nearest = max(similarities)
    warning = rules.warning if nearest < rules.unlike_below else None
    return SpeakerSimilarity(nearest, len(similarities), warning)


def sounds_unlike(item: RecordingItem) -> bool:
    """Whether the voice of a stored recording is unlike those of its subject's earlier ones; False if unknown."""
    known = item.speaker
    if known is None or known.group_id != item.group_id or item.fault is not None:
        return False
    return known.similarity < comparison_rules().unlike_below


def raises_question(item: RecordingItem) -> bool:
    """Whether to ask if a stored recording is of the right person: its voice is unlike, and nobody confirmed it.

    Such a recording proves nothing about later ones.
    """
    return sounds_unlike(item) and item.confirmed_voice != item.group_id


class SpeakerComparison:
    """Compares takes with their subject's earlier ones, one at a time. Reads sound: call it in a task."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._voices: OrderedDict[_Voice, Voice | None] = OrderedDict()

    def compare(self, audio: TakeAudio, group_id: str, version_of: str | None = None) -> SpeakerSimilarity:
        """Compare a take with the newest earlier ones of `group_id`, except `version_of` and its versions."""
        with self._lock:
            without = self._versions(version_of)
            listed = self._library.list(ItemFilter(group_id=group_id))
            counted = (item for item in listed if not item.excluded and not raises_question(item))
            items = [item for item in counted if item.take_id not in without]
            if not items:
                return SpeakerSimilarity(None, 0, None)
            voices = (self._voice(item) for item in items[: comparison_rules().earlier_takes])
            return compare(voice_of(audio), [voice for voice in voices if voice is not None])

    def _versions(self, take_id: str | None) -> frozenset[str]:
        if take_id is None:
            return frozenset()
        try:
            return frozenset({take_id, *(item.take_id for item in self._library.versions(take_id))})
        except UnknownTake:  # it was deleted
            return frozenset({take_id})

    def finding(self, item: RecordingItem, earlier: Sequence[RecordingItem]) -> SpeakerFinding | None:
        """Compare a stored recording with the newest of `earlier`; None if too little can be heard in either."""
        own = self._voice(item)
        if own is None:
            return None
        heard = ((other.take_id, self._voice(other)) for other in earlier)
        audible = ((take_id, voice) for take_id, voice in heard if voice is not None)
        found = list(islice(audible, comparison_rules().earlier_takes))
        nearest = compare(own, [voice for _, voice in found]).similarity
        if nearest is None:
            return None
        return SpeakerFinding(nearest, item.group_id, tuple(take_id for take_id, _ in found))

    def _voice(self, item: RecordingItem) -> Voice | None:
        heard = (item.take_id, item.trim_s)
        if heard not in self._voices:
            try:
                self._voices[heard] = voice_of(self._library.audio(item.take_id))
            except (OSError, EncryptedFileError, AudioError):
                return None
            if len(self._voices) > REMEMBERED:
                self._voices.popitem(last=False)
        return self._voices[heard]


def _speech_only(recording: Recording, most_s: float) -> NDArray[np.float32]:
    """The speech of a recording without pauses, up to `most_s`; shape (n,)."""
    pieces = [
        recording.samples[round(start * ANALYSIS_RATE) : round(end * ANALYSIS_RATE)]
        for start, end in detect_speech(recording).segments
    ]
    return np.concatenate([np.empty(0, np.float32), *pieces])[: round(most_s * ANALYSIS_RATE)]
