"""Decode a sound file to mono samples at the analysis rate.

The format is identified by content, not by name. The decoder is restricted to that format, so that a disguised playlist
or picture is never opened as such. Sound is read, counted, mixed and resampled block by block, so memory holds a single
copy of the result.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from io import SEEK_END
from math import floor, inf
from pathlib import Path
from typing import BinaryIO

import numpy as np
import soundfile as sf
from numpy.typing import NDArray

from vbdesk.contract.audio_formats import AUDIO_FORMATS, Container
from vbdesk.contract.limits import MAX_AUDIO_BYTES, MAX_DURATION_S, MIN_DURATION_S
from vbdesk.language import message
from vbdesk.voice.channels import Block, ChannelMix, ChannelSurvey, check_channels, mix_down
from vbdesk.voice.container import MAX_MISSING_S, identify
from vbdesk.voice.errors import (
    AudioFileTooLarge,
    NothingToAnalyse,
    RecordingTooLong,
    RecordingTooShort,
    UnsupportedAudio,
)
from vbdesk.voice.quality_rules import quality_rules
from vbdesk.voice.recording import ANALYSIS_RATE, Recording, Samples
from vbdesk.voice.resample import StreamResampler, resample
from vbdesk.voice.wav_header import find_data_chunk

CODEC_PADDING_S = 0.1  # MP3 and AAC pad their first and last frames
MIN_SAMPLE_RATE = 4_000  # Hz; too low to measure a voice below it
MAX_SAMPLE_RATE = 768_000  # Hz; a higher rate means a wrong header
MAX_VALUES = MAX_DURATION_S * 96_000 * 2
"""Samples of all channels: 20 minutes of stereo at 96 kHz. A 32 MB file with more is almost empty sound and can take
minutes to read."""
BLOCK_FRAMES = 1 << 16  # per block
UNKNOWN_FRAMES = 1 << 62
LARGEST_VALUE = 1e6  # 120 dB over full scale; float files with integer values are below it
FRAME_S = 0.02
SILENCE_FRAMES_AT_ONCE = 1000

_SOUNDFILE_SUBTYPES = {"PCM_S8", "PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW"}


def decode(source: Path | BinaryIO, *, check_duration: bool = True) -> Recording:
    """Decode the recording `source`.

    Channels are mixed by the rules of `channels`. If a plain average is not correct, which is known only at the end,
    the file is read a second time.

    Args:
        source: path or open file of a WAV (PCM, float, A-law or mu-law), FLAC, MP3 or M4A (AAC, ALAC) recording.
        check_duration: enforce the duration limits of the interface.

    Raises:
        AudioFileTooLarge: the file exceeds the limit; nothing is read.
        UnsupportedAudio: another container or codec, or a damaged file.
        RecordingTooLong: raised as soon as the limit is passed or declared; the rest is not read.
        RecordingTooShort: shorter than the limit.
        NothingToAnalyse: silence by resources/quality.toml, or a constant.
        OSError: the file cannot be opened.
    """
    with source.open("rb") if isinstance(source, Path) else nullcontext(source) as file:
        size_bytes = file.seek(0, SEEK_END)
        if size_bytes > MAX_AUDIO_BYTES:
            raise AudioFileTooLarge(message("The file is too large."))
        container = identify(file)
        longest_s = inf
        if check_duration:
            longest_s = MAX_DURATION_S + (CODEC_PADDING_S if AUDIO_FORMATS[container].padded else 0.0)
        mixdown = _Mixdown(longest_s)
        mixdown.read(file, container)
        mix = mixdown.mix()
        if mix.gain is None:
            mixdown = _Mixdown(longest_s, mix)
            mixdown.read(file, container)
    recording = mixdown.finish(mix.gain, container, size_bytes)
    if check_duration and recording.duration_s < MIN_DURATION_S:
        tenths = floor(recording.duration_s * 10)  # rounding would show 14.96 s as 15.0, the limit
        raise RecordingTooShort(message("The recording is {seconds:.1f} seconds long.", seconds=tenths / 10))
    if is_silent(recording.samples):
        raise NothingToAnalyse(message("There is no sound in this recording."))
    return recording


def from_samples(samples: NDArray[np.floating], sample_rate: int) -> Recording:
    """Make a recording from samples in memory, such as a take of the desk.

    Args:
        samples: shape (n,) or (n, channels), full scale = 1; no limit applies.
        sample_rate: Hz.
    """
    block = samples.astype(np.float32, copy=False)
    mono = block if block.ndim == 1 else mix_down(block, sample_rate)
    return Recording(
        samples=resample(mono, sample_rate),
        duration_s=len(mono) / sample_rate,
        sample_rate=sample_rate,
        channels=1 if block.ndim == 1 else block.shape[1],
        container="wav",
        size_bytes=0,
    )


class _Mixdown:
    """Collects the blocks of a file as mono samples at the analysis rate, and counts them.

    With a given mix, that mix is applied. Otherwise channels are averaged, and their statistics collected.
    """

    def __init__(self, longest_s: float, mix: ChannelMix | None = None) -> None:
        self._longest_s = longest_s
        self._given = mix
        self._sample_rate = 0
        self._channels = 0
        self._frames = 0
        self._survey: ChannelSurvey | None = None
        self._resampler = StreamResampler(ANALYSIS_RATE)
        self._mono = bytearray()  # grows in place; an array would have to be copied

    def read(self, file: BinaryIO, container: Container) -> None:
        file.seek(0)
        for sample_rate, block in _gathered(_read(file, container, self._longest_s)):
            self._add(sample_rate, block)
        if self._frames == 0:
            raise UnsupportedAudio(message("There is no sound in the file."))
        self._mono += self._resampler.finish().tobytes()

    def _add(self, sample_rate: int, block: Block) -> None:
        if self._frames == 0:
            _check_layout(sample_rate, block.shape[1])
            self._sample_rate = sample_rate
            self._resampler = StreamResampler(sample_rate)
        if sample_rate != self._sample_rate:
            raise UnsupportedAudio(message("The sampling rate changes within the file."))
        if not np.abs(block).max() <= LARGEST_VALUE:  # also true for NaN
            raise UnsupportedAudio(message("The file holds values that are not sound."))
        self._frames += len(block)
        _check_size(self._frames, sample_rate, block.shape[1], self._longest_s)
        self._mono += self._resampler.feed(self._mixed(block)).tobytes()

    def _mixed(self, block: Block) -> Samples:
        channels = block.shape[1]
        if channels != self._channels:  # AAC can change from mono to stereo after its first frame
            self._channels = channels
            self._survey = ChannelSurvey(self._sample_rate, channels) if channels > 1 else None
        if self._given is not None and len(self._given.weights) == channels:
            return block @ self._given.weights.astype(np.float32)
        if self._survey is None:
            return np.ascontiguousarray(block[:, 0])
        self._survey.add(block)
        return block @ np.full(channels, 1 / channels, np.float32)

    def mix(self) -> ChannelMix:
        return self._survey.mix() if self._survey else ChannelMix(np.ones(1), 1.0)

    def finish(self, gain: float | None, container: Container, size_bytes: int) -> Recording:
        samples: Samples = np.frombuffer(self._mono, np.float32)
        if gain is not None and gain != 1:
            samples *= np.float32(gain)
        return Recording(
            samples=samples,
            duration_s=self._frames / self._sample_rate,
            sample_rate=self._sample_rate,
            channels=self._channels,
            container=container,
            size_bytes=size_bytes,
        )


def _check_layout(sample_rate: int, channels: int) -> None:
    if sample_rate < MIN_SAMPLE_RATE:
        raise UnsupportedAudio(message("The sampling rate of {sample_rate} Hz is too low.", sample_rate=sample_rate))
    if sample_rate > MAX_SAMPLE_RATE:
        raise UnsupportedAudio(message("The sampling rate of {sample_rate} Hz is too high.", sample_rate=sample_rate))
    check_channels(channels)


def _check_size(frames: int, sample_rate: int, channels: int, longest_s: float) -> None:
    """Reject a recording that is too long, or that has too many samples to read in time."""
    if frames > longest_s * sample_rate:
        raise RecordingTooLong(message("The recording is too long."))
    if longest_s < inf and frames * channels > MAX_VALUES:
        raise UnsupportedAudio(
            message(
                "The file holds too many samples: {sample_rate} Hz in {channels} channel(s). Convert it to 48 kHz and"
                " one channel.",
                sample_rate=sample_rate,
                channels=channels,
            )
        )


def _gathered(pieces: Iterator[tuple[int, Block]]) -> Iterator[tuple[int, Block]]:
    """Join the thousands of small pieces of a compressed file to blocks of an efficient size."""
    held: list[Block] = []
    frames = held_rate = 0
    for sample_rate, piece in pieces:
        if held and (sample_rate != held_rate or piece.shape[1] != held[0].shape[1] or frames >= BLOCK_FRAMES):
            yield held_rate, np.concatenate(held)
            held, frames = [], 0
        if len(piece):
            held.append(piece)
            held_rate, frames = sample_rate, frames + len(piece)
    if held:
        yield held_rate, np.concatenate(held)


def _read(file: BinaryIO, container: Container, longest_s: float = inf) -> Iterator[tuple[int, Block]]:
    """Yield pairs of sampling rate and block, read with the fastest library for `container`."""
    if AUDIO_FORMATS[container].padded:
        yield from _read_with_ffmpeg(file, container)
        return
    if container == "wav":
        chunk = find_data_chunk(file)
        if chunk is not None and chunk.missing_s > MAX_MISSING_S:
            raise UnsupportedAudio(message("The file is cut off."))
        if chunk is not None and chunk.is_unfinished:
            file.seek(0)
            yield from _read_with_ffmpeg(file, container, ignore_length="1")
            return
    file.seek(0)
    try:
        sound = sf.SoundFile(file)
    except sf.LibsndfileError:  # a rare header, such as BW64
        file.seek(0)
        yield from _read_with_ffmpeg(file, container)
        return
    with sound:
        if sound.subtype not in _SOUNDFILE_SUBTYPES:
            raise UnsupportedAudio(message("The sound in the file is coded as {subtype}.", subtype=sound.subtype))
        if sound.frames < UNKNOWN_FRAMES:
            _check_layout(sound.samplerate, sound.channels)
            _check_size(sound.frames, sound.samplerate, sound.channels, longest_s)
            yield from _read_with_soundfile(sound)
            return
    file.seek(0)  # a FLAC stream of undeclared length: libsndfile stops after one block
    yield from _read_with_ffmpeg(file, container)


def _read_with_soundfile(sound: sf.SoundFile) -> Iterator[tuple[int, Block]]:
    try:
        while len(block := sound.read(BLOCK_FRAMES, dtype="float32", always_2d=True)):
            yield sound.samplerate, block
    except sf.LibsndfileError as error:
        raise UnsupportedAudio(message("The file is damaged or cut off.")) from error


def _read_with_ffmpeg(file: BinaryIO, container: Container, **options: str) -> Iterator[tuple[int, Block]]:
    from vbdesk.voice.ffmpeg_reader import read_with_ffmpeg  # its libraries take 0.05 s to load

    return read_with_ffmpeg(file, container, **options)


def is_silent(samples: Samples) -> bool:
    """Whether no 20 ms frame exceeds the limit of silence, ignoring a constant offset.

    The first and last frame do not count: the start and end of a constant ring in the resampler.
    """
    length = int(FRAME_S * ANALYSIS_RATE)
    count = len(samples) // length
    frames = samples[: count * length].reshape(count, length)
    if count > 2:
        frames = frames[1:-1]
    limit = 10 ** (quality_rules().silence.below_dbfs / 20)
    parts = np.array_split(frames, max(1, count // SILENCE_FRAMES_AT_ONCE))
    return all(part.size == 0 or part.std(axis=1).max() <= limit for part in parts)
