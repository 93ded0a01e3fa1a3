"""Read the sound of a file with FFmpeg, for what libsndfile cannot read or not exactly."""

from collections.abc import Iterator
from math import inf
from typing import BinaryIO

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.stream import Disposition
from numpy.typing import NDArray

from vbdesk.contract.audio_formats import AUDIO_FORMATS, Container
from vbdesk.language import message
from vbdesk.voice.channels import MAX_CHANNELS, Block, check_channels
from vbdesk.voice.container import MAX_MISSING_S
from vbdesk.voice.errors import UnsupportedAudio

MAX_DAMAGED_PACKETS = 0.02  # share; a tag or an incomplete frame at either end is common, gaps are not
LONGEST_PADDING = 2048  # samples of AAC padding at the end: two frames


def read_with_ffmpeg(file: BinaryIO, container: Container, **options: str) -> Iterator[tuple[int, Block]]:
    """Yield pairs of sampling rate and block; `options` are those of FFmpeg's demuxer.

    Raises:
        UnsupportedAudio: another codec, a video, or a damaged file.
    """
    try:
        with av.open(
            file, mode="r", format=AUDIO_FORMATS[container].demuxer, options=options, metadata_errors="ignore"
        ) as opened:
            stream = _sound_stream(opened, container)
            check_channels(stream.codec_context.layout.nb_channels if stream.codec_context else 0)
            declared_s = _declared_seconds(stream) if container == "m4a" else 0.0
            end, unpacker = _PaddedEnd(declared_s), _Unpacker()
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
                    for block in end.cut(frame.sample_rate, unpacker.to_float(frame)):
                        yield frame.sample_rate, block
    except av.error.FFmpegError as error:
        raise UnsupportedAudio(message("The file is damaged or cut off.")) from error
    if damaged > max(1, MAX_DAMAGED_PACKETS * packets):
        raise UnsupportedAudio(message("The file is damaged."))
    if declared_s - decoded_s > MAX_MISSING_S:
        raise UnsupportedAudio(message("The file is cut off."))


class _PaddedEnd:
    """Removes the encoder's padding of the last frame, so that a copy is as long as its original.

    Samples just beyond the declared length are held back. If more follow, they are sound and the header is wrong.
    """

    def __init__(self, declared_s: float) -> None:
        self._declared_s = declared_s or inf
        self._read = 0
        self._held: list[Block] = []

    def cut(self, sample_rate: int, block: Block) -> list[Block]:
        """Blocks to process after reading `block`."""
        self._read += len(block)
        beyond = self._read - round(min(self._declared_s * sample_rate, self._read))
        if beyond == 0:
            return [block]
        kept = max(len(block) - beyond, 0)
        self._held.append(block[kept:])
        if beyond <= LONGEST_PADDING:
            return [block[:kept]] if kept else []
        self._declared_s = inf
        return [block[:kept], *self._held] if kept else self._held


def _sound_stream(opened: av.container.InputContainer, container: Container) -> av.AudioStream:
    """The first sound stream; its codec must belong to `container`, and the file must have no video."""
    if any(not picture.disposition & Disposition.attached_pic for picture in opened.streams.video):
        raise UnsupportedAudio(message("This is a video."))
    if not opened.streams.audio:
        raise UnsupportedAudio(message("There is no sound in the file."))
    stream = opened.streams.audio[0]
    codec = stream.codec_context.name if stream.codec_context else "unknown"
    if not codec.startswith(AUDIO_FORMATS[container].codecs):
        raise UnsupportedAudio(message("The sound in the file is coded as {codec}.", codec=codec))
    return stream


def _declared_seconds(stream: av.AudioStream) -> float:
    """The duration in the header, 0 if it has none; used only to detect padding and truncation."""
    if stream.duration is None or stream.time_base is None:
        return 0.0
    return float(stream.duration * stream.time_base)


class _Unpacker:
    """Extracts samples from frames.

    WORKAROUND: PyAV 18.1 searches the planes of a frame up to a null pointer (`AudioFrame.planes`). There is none
    after the eighth plane, so it reads past the frame and the process crashes. The channels of every frame are
    therefore counted first, and eight planes are packed to one by libswresample, which copies the values unchanged.
    """

    def __init__(self) -> None:
        self._source: tuple[object, ...] = ()
        self._resampler = av.AudioResampler()

    def to_float(self, frame: AudioFrame) -> Block:
        """Samples of `frame` as float32, shape (frames, channels), full scale = 1."""
        channels = frame.layout.nb_channels
        check_channels(channels)
        values: NDArray[np.generic]
        if not frame.format.is_planar:
            values = frame.to_ndarray().reshape(-1, channels)
        elif channels < MAX_CHANNELS:
            values = frame.to_ndarray().T
        else:
            values = np.concatenate([packed.to_ndarray().reshape(-1, channels) for packed in self._pack(frame)])
        if values.dtype == np.uint8:
            return (values.astype(np.float32) - np.float32(128)) / np.float32(128)
        if values.dtype in (np.int16, np.int32):
            return values.astype(np.float32) / np.float32(2 ** (8 * values.itemsize - 1))
        with np.errstate(over="ignore"):  # infinity is rejected later, as values that are not sound
            return values.astype(np.float32, copy=False)

    def _pack(self, frame: AudioFrame) -> list[AudioFrame]:
        source = (frame.format.name, frame.layout.name, frame.sample_rate)
        if source != self._source:
            self._source = source
            self._resampler = av.AudioResampler(frame.format.packed, frame.layout, frame.sample_rate)
        return self._resampler.resample(frame)
