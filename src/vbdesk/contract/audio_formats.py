"""The one table of audio formats that are accepted. `voice/container.py` recognises them by content."""

from typing import Literal, NamedTuple

from vbdesk.language import message

Container = Literal["wav", "flac", "mp3", "m4a"]
AudioContentType = Literal["audio/wav", "audio/flac", "audio/mpeg", "audio/mp4"]


class AudioFormat(NamedTuple):
    """One format; the extension of its files is that of its container.

    Attributes:
        content_type: the MIME type.
        demuxer: FFmpeg's name of the container.
        codecs: how the names of the codecs begin that it may hold.
        padded: whether the codec pads its first and last frames; FFmpeg reads such files.
    """

    content_type: AudioContentType
    demuxer: str
    codecs: tuple[str, ...]
    padded: bool = False


AUDIO_FORMATS: dict[Container, AudioFormat] = {
    "wav": AudioFormat("audio/wav", "wav", ("pcm_",)),
    "flac": AudioFormat("audio/flac", "flac", ("flac",)),
    "mp3": AudioFormat("audio/mpeg", "mp3", ("mp3", "mp3float"), padded=True),
    "m4a": AudioFormat("audio/mp4", "mov", ("aac", "alac"), padded=True),
}
AUDIO_SUFFIXES = {f".{name}": audio_format.content_type for name, audio_format in AUDIO_FORMATS.items()}
"""Content types by the extension of a file, in small letters."""

ANY_FORMAT = message("WAV, FLAC, MP3 or M4A")
"""The names in a sentence, after "is not" and the like."""
