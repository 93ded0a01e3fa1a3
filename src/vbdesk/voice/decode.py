"""From a sound file to mono samples at the analysis rate.

The content decides what a file is, never its name. A decoder is told which format to expect, so that a playlist or a
picture in disguise is never opened as one. Sound is read, counted, mixed down and resampled block by block: what stays
in memory is one copy of the result.
"""

from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import BinaryIO

import av
import numpy as np
import soundfile as sf
from av.audio.frame import AudioFrame
from av.stream import Disposition
from numpy.typing import NDArray

from vbdesk.contract.limits import MAX_AUDIO_BYTES, MAX_DURATION_S, MIN_DURATION_S
from vbdesk.voice.container import identify
from vbdesk.voice.errors import AudioTooLarge, AudioTooLong, AudioTooShort, NothingToAnalyse, UnsupportedFormat
from vbdesk.voice.recording import ANALYSIS_RATE, Container, Recording, Samples
from vbdesk.voice.resample import StreamResampler, resample

CODEC_PADDING_S = 0.1  # MP3 and AAC fill up their first and last frames
MIN_SAMPLE_RATE = 4_000  # Hz; below there is no voice to measure
BLOCK_FRAMES = 1 << 16
UNKNOWN_FRAMES = 1 << 62
MAX_DAMAGED_PACKETS = 0.02  # share; a tag or a cut frame at an end is usual, holes are not
MAX_MISSING_S = 1.0  # of what an M4A file says it holds
SILENT_CHANNEL = 1e-6  # energy against the loudest channel: -60 dB
SILENCE_DBFS = -60.0
FRAME_S = 0.02

Block = NDArray[np.float32]  # shape (frames, channels)

_SOUNDFILE_SUBTYPES = {"PCM_S8", "PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW"}
_DEMUXERS: dict[Container, str] = {"wav": "wav", "flac": "flac", "mp3": "mp3", "m4a": "mov"}
_CODECS: dict[Container, tuple[str, ...]] = {
    "wav": ("pcm_",),
    "flac": ("flac",),
    "mp3": ("mp3", "mp3float"),
    "m4a": ("aac", "alac"),
}


def decode(path: Path, *, check_duration: bool = True) -> Recording:
    """Read the recording at `path`.

    Channels are averaged; a channel that holds nothing is left out, so that a one-sided stereo file keeps its level.

    Args:
        path: a WAV, FLAC, MP3 or M4A file under any name.
        check_duration: hold the recording to the limits of the interface; without it, only there must be sound.

    Raises:
        AudioTooLarge: before anything is read.
        UnsupportedFormat: not one of the four, a codec that is not theirs, or damaged.
        AudioTooLong: as soon as the limit is passed; the rest is not read.
        AudioTooShort: less than the limit, or no sound at all.
        NothingToAnalyse: silence, nothing above -60 dBFS, or a constant.
        OSError: the file cannot be opened.
    """
    size_bytes = path.stat().st_size
    if size_bytes > MAX_AUDIO_BYTES:
        raise AudioTooLarge("The file is too large.")
    with path.open("rb") as file:
        container = identify(file)
        file.seek(0)
        longest_s = MAX_DURATION_S + (CODEC_PADDING_S if container in ("mp3", "m4a") else 0.0)
        mixdown = _Mixdown(longest_s if check_duration else inf)
        for sample_rate, block in _read(file, container):
            mixdown.add(sample_rate, block)
    recording = mixdown.finish(container, size_bytes)
    if check_duration and recording.duration_s < MIN_DURATION_S:
        raise AudioTooShort(f"The recording is {recording.duration_s:.1f} seconds long.")
    if _is_silent(recording.samples):
        raise NothingToAnalyse("There is no sound in this recording.")
    return recording


def from_samples(samples: NDArray[np.floating], sample_rate: int) -> Recording:
    """Make a recording of samples that are already in memory, such as a take of the desk.

    Args:
        samples: shape (n,) or (n, channels), full scale = 1; not held to any limit.
        sample_rate: Hz.
    """
    block = samples.astype(np.float32, copy=False)
    mono = block if block.ndim == 1 else block.mean(axis=1)
    return Recording(
        samples=resample(mono, sample_rate),
        duration_s=len(mono) / sample_rate,
        sample_rate=sample_rate,
        channels=1 if block.ndim == 1 else block.shape[1],
        container="wav",
        size_bytes=0,
    )


class _Mixdown:
    """Collects blocks of a file into mono samples at the analysis rate, and counts."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._sample_rate = 0
        self._frames = 0
        self._energy = np.zeros(0)  # of each channel
        self._resampler = StreamResampler(ANALYSIS_RATE)
        self._mono = bytearray()  # grows in place; an array would have to be copied

    def add(self, sample_rate: int, block: Block) -> None:
        if self._frames == 0:
            if sample_rate < MIN_SAMPLE_RATE:
                raise UnsupportedFormat(f"The sampling rate of {sample_rate} Hz is too low.")
            self._sample_rate = sample_rate
            self._energy = np.zeros(block.shape[1])
            self._resampler = StreamResampler(sample_rate)
        if sample_rate != self._sample_rate:
            raise UnsupportedFormat("The sampling rate changes within the file.")
        if not np.isfinite(block).all():
            raise UnsupportedFormat("The file holds values that are not sound.")
        self._frames += len(block)
        if self._frames > self._longest_s * sample_rate:
            raise AudioTooLong("The recording is too long.")
        if block.shape[1] == len(self._energy):  # AAC may turn from mono to stereo after its first frame
            self._energy += np.square(block, dtype=np.float64).sum(axis=0)
        else:
            self._energy = np.square(block, dtype=np.float64).sum(axis=0)
        self._mono += self._resampler.feed(block.mean(axis=1)).tobytes()

    def finish(self, container: Container, size_bytes: int) -> Recording:
        if self._frames == 0:
            raise UnsupportedFormat("There is no sound in the file.")
        self._mono += self._resampler.finish().tobytes()
        samples: Samples = np.frombuffer(self._mono, np.float32)
        channels = len(self._energy)
        sounding = int((self._energy > SILENT_CHANNEL * self._energy.max()).sum())
        if 0 < sounding < channels:
            samples *= channels / sounding
        return Recording(
            samples=samples,
            duration_s=self._frames / self._sample_rate,
            sample_rate=self._sample_rate,
            channels=channels,
            container=container,
            size_bytes=size_bytes,
        )


def _read(file: BinaryIO, container: Container) -> Iterator[tuple[int, Block]]:
    """Yield the sampling rate and a block, again and again, with the faster library that reads `container`."""
    if container in ("mp3", "m4a"):
        yield from _read_with_av(file, container)
        return
    try:
        sound = sf.SoundFile(file)
    except sf.LibsndfileError:  # a rarer header, such as BW64
        file.seek(0)
        yield from _read_with_av(file, container)
        return
    with sound:
        if sound.subtype not in _SOUNDFILE_SUBTYPES:
            raise UnsupportedFormat(f"The sound in the file is coded as {sound.subtype}.")
        if sound.frames < UNKNOWN_FRAMES:
            yield from _read_with_soundfile(sound)
            return
    file.seek(0)  # a FLAC stream that was written without knowing its length: libsndfile stops after one block
    yield from _read_with_av(file, container)


def _read_with_soundfile(sound: sf.SoundFile) -> Iterator[tuple[int, Block]]:
    try:
        while len(block := sound.read(BLOCK_FRAMES, dtype="float32", always_2d=True)):
            yield sound.samplerate, block
    except sf.LibsndfileError as error:
        raise UnsupportedFormat("The file is damaged or cut off.") from error


def _read_with_av(file: BinaryIO, container: Container) -> Iterator[tuple[int, Block]]:
    try:
        with av.open(file, mode="r", format=_DEMUXERS[container], metadata_errors="ignore") as opened:
            stream = _sound_stream(opened, container)
            declared_s = _declared_seconds(stream) if container == "m4a" else 0.0
            packets = damaged = 0
            decoded_s = 0.0
            for packet in opened.demux(stream):
                packets += 1
                try:
                    decoded = packet.decode()
                except av.error.InvalidDataError:
                    damaged += 1
                    continue
                for frame in decoded:
                    decoded_s += frame.samples / frame.sample_rate
                    yield frame.sample_rate, _to_float(frame)
    except av.error.FFmpegError as error:
        raise UnsupportedFormat("The file is damaged or cut off.") from error
    if damaged > max(1, MAX_DAMAGED_PACKETS * packets):
        raise UnsupportedFormat("The file is damaged.")
    if declared_s - decoded_s > MAX_MISSING_S:
        raise UnsupportedFormat("The file is cut off.")


def _sound_stream(opened: av.container.InputContainer, container: Container) -> av.AudioStream:
    """The first sound stream, if its codec belongs to `container` and no moving picture stands beside it."""
    if any(not picture.disposition & Disposition.attached_pic for picture in opened.streams.video):
        raise UnsupportedFormat("This is a video.")
    if not opened.streams.audio:
        raise UnsupportedFormat("There is no sound in the file.")
    stream = opened.streams.audio[0]
    codec = stream.codec_context.name if stream.codec_context else "unknown"
    if not codec.startswith(_CODECS[container]):
        raise UnsupportedFormat(f"The sound in the file is coded as {codec}.")
    return stream


def _declared_seconds(stream: av.AudioStream) -> float:
    """How long the header says the sound is; 0 if it says nothing. Never taken for the duration."""
    if stream.duration is None or stream.time_base is None:
        return 0.0
    return float(stream.duration * stream.time_base)


def _to_float(frame: AudioFrame) -> Block:
    """Samples of `frame` as float32, shape (frames, channels), full scale = 1."""
    values: NDArray[np.generic] = frame.to_ndarray()
    values = values.T if frame.format.is_planar else values.reshape(-1, frame.layout.nb_channels)
    if values.dtype == np.uint8:
        return (values.astype(np.float32) - np.float32(128)) / np.float32(128)
    if values.dtype in (np.int16, np.int32):
        return values.astype(np.float32) / np.float32(2 ** (8 * values.itemsize - 1))
    return values.astype(np.float32, copy=False)


def _is_silent(samples: Samples) -> bool:
    """Whether no frame of 20 ms stands above -60 dBFS, a constant offset apart.

    The first and last frame do not count: a constant that starts and ends rings in the resampler.
    """
    length = int(FRAME_S * ANALYSIS_RATE)
    count = len(samples) // length
    frames = samples[: count * length].reshape(count, length)
    if count > 2:
        frames = frames[1:-1]
    return count == 0 or bool(frames.std(axis=1).max() <= 10 ** (SILENCE_DBFS / 20))
