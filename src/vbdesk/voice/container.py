"""Identify a file's container by its first bytes; its name is ignored."""

from typing import BinaryIO

from vbdesk.contract.audio_formats import Container
from vbdesk.language import message
from vbdesk.voice.errors import UnsupportedAudio

MAX_MISSING_S = 1.0  # of the duration that a WAV or M4A file declares
ID3_HEADER_BYTES = 10
MP3_SEARCH_BYTES = 64 * 1024  # padding of encoders and broken tags can precede the first MP3 frame

# Unsupported formats that people send, so that the error can name them: (offset, bytes, name).
_REFUSED = (
    (0, b"OggS", message("This is an Ogg (Vorbis or Opus) file.")),
    (0, b"\x1aE\xdf\xa3", message("This is a WebM or Matroska file.")),
    (8, b"AIFF", message("This is an AIFF file.")),
    (8, b"AIFC", message("This is an AIFF file.")),
    (0, b"caff", message("This is a CAF file.")),
    (0, b"#!AMR", message("This is an AMR file.")),
    (0, b"\x30\x26\xb2\x75", message("This is a Windows Media file.")),
    (8, b"AVI ", message("This is an AVI video.")),
    (4, b"ftypqt", message("This is a QuickTime file.")),
)

_MPEG1_KBPS = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_MPEG2_KBPS = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_MPEG1_HZ = (44_100, 48_000, 32_000)


def identify(file: BinaryIO) -> Container:
    """Identify the container of `file`; the file position changes.

    Raises:
        UnsupportedAudio: the file is not WAV, FLAC, MP3 or M4A.
    """
    tag_bytes = _skip_id3(file)
    head = file.read(MP3_SEARCH_BYTES)
    if not head and tag_bytes == 0:
        raise UnsupportedAudio(message("The file is empty."))
    for offset, magic, sentence in _REFUSED:
        if head[offset:].startswith(magic):
            raise UnsupportedAudio(sentence)
    if head[:4] in (b"RIFF", b"RF64", b"BW64") and head[8:12] == b"WAVE":
        return "wav"
    if head.startswith(b"fLaC"):
        return "flac"
    if head[4:8] == b"ftyp":
        return "m4a"
    if _holds_mp3_frames(head, searched=MP3_SEARCH_BYTES if tag_bytes else 4096):
        return "mp3"
    raise UnsupportedAudio(message("This is not a sound file that can be read."))


def _skip_id3(file: BinaryIO) -> int:
    """Move past the ID3v2 tags at the start of `file`; return their length in bytes."""
    position = 0
    while True:
        file.seek(position)
        header = file.read(ID3_HEADER_BYTES)
        if len(header) < ID3_HEADER_BYTES or header[:3] != b"ID3":
            file.seek(position)
            return position
        size = 0
        for byte in header[6:10]:  # four times seven bits
            size = size << 7 | byte & 0x7F
        has_footer = bool(header[5] & 0x10)
        position += ID3_HEADER_BYTES * (2 if has_footer else 1) + size


def _holds_mp3_frames(head: bytes, searched: int) -> bool:
    """Whether two successive MPEG layer III frames start in the first `searched` bytes of `head`.

    A single frame counts if the file ends after it.
    """
    start = head.find(b"\xff")
    while 0 <= start < searched:
        length = _mp3_frame_bytes(head[start : start + 4])
        if length and (_mp3_frame_bytes(head[start + length : start + length + 4]) or start + length == len(head)):
            return True
        start = head.find(b"\xff", start + 1)
    return False


def _mp3_frame_bytes(header: bytes) -> int:
    """Length of the layer III frame with this `header` (4 bytes), 0 if it is none (ISO 11172-3, 13818-3)."""
    if len(header) < 4 or header[0] != 0xFF or header[1] & 0xE6 != 0xE2:  # sync word and layer III
        return 0
    version = header[1] >> 3 & 3  # 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
    bitrate_index, rate_index, padding = header[2] >> 4, header[2] >> 2 & 3, header[2] >> 1 & 1
    if version == 1 or bitrate_index in (0, 15) or rate_index == 3:
        return 0
    if version == 3:
        return 144_000 * _MPEG1_KBPS[bitrate_index] // _MPEG1_HZ[rate_index] + padding
    sample_rate = _MPEG1_HZ[rate_index] // (2 if version == 2 else 4)
    return 72_000 * _MPEG2_KBPS[bitrate_index] // sample_rate + padding
