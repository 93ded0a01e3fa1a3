"""Malicious or malformed request bodies; the same seed gives the same bodies."""

import io
import itertools
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import soundfile

DATA = Path(__file__).parents[2] / "data"
BOUNDARY = b"----hostile"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY.decode()}"
KIBIBYTE = 1024
HEADER_BYTES = 512


@dataclass(frozen=True)
class HostileBody:
    name: str
    body: bytes
    content_type: str = MULTIPART


def hostile_bodies(count: int, seed: int) -> list[HostileBody]:
    """Return up to a third special cases; the rest comes from the endless families."""
    chance = random.Random(seed)
    recordings = sound_files()
    audio = [in_form(name, content) for name, content in [*bombs(), *wrong_lengths(recordings)]]
    special = [*audio, *broken_forms()]
    special = chance.sample(special, min(len(special), count // 3))
    left = count - len(special)
    fuzzed = [in_form(*found) for found in itertools.islice(fuzzed_headers(recordings, chance), left // 2)]
    cut = chance.sample(list(truncations(recordings)), left - len(fuzzed))
    bodies = [*special, *fuzzed, *(in_form(*found) for found in cut)]
    chance.shuffle(bodies)
    return bodies


def sound_files() -> dict[str, bytes]:
    """Encode 20 s of speech in each of the four formats."""
    files = {kind: (DATA / f"speech_kathleen_20s.{kind}").read_bytes() for kind in ("flac", "mp3", "m4a")}
    samples, rate = soundfile.read(DATA / "speech_kathleen_20s.flac", dtype="int16")
    wav = io.BytesIO()
    soundfile.write(wav, samples, rate, format="WAV")
    return {"wav": wav.getvalue(), **files}


def in_form(name: str, audio: bytes) -> HostileBody:
    head = b'--%s\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n' % BOUNDARY
    return HostileBody(name, head + audio + b"\r\n--%s--\r\n" % BOUNDARY)


def fuzzed_headers(recordings: dict[str, bytes], chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield endlessly: replace one to sixteen header bytes, by random bytes or extreme integers."""
    extremes = (b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\x7f")
    for number in itertools.count():
        kind = list(recordings)[number % len(recordings)]
        audio = bytearray(recordings[kind])
        for _ in range(chance.randint(1, 16)):
            place = chance.randrange(_header_length(kind, audio))
            if chance.random() < 0.3:
                audio[place : place + 4] = chance.choice(extremes)
            else:
                audio[place] = chance.randrange(256)
        yield f"fuzzed {kind} {number}", bytes(audio)


def _header_length(kind: str, audio: bytearray) -> int:
    """Return the length to fuzz: M4A files have tables at either end; for others the first bytes suffice."""
    return len(audio) if kind == "m4a" else HEADER_BYTES


def truncations(recordings: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Cut the recordings off after every KiB."""
    for kind, audio in recordings.items():
        for length in range(KIBIBYTE, len(audio), KIBIBYTE):
            yield f"{kind} cut at {length}", audio[:length]


def bombs() -> Iterator[tuple[str, bytes]]:
    """Yield small files that declare or contain very long audio."""
    yield "10 h of silence", silent_flac(10 * 3600, 8_000)
    yield "6 billion samples of silence in 8 channels", silent_flac(1_200, 655_350, channels=8)
    yield "silence of unknown length", silent_flac(1100, 8_000, declared=0)
    yield "a minute that says it is 100 hours", silent_flac(60, 8_000, declared=360_000 * 8_000)
    yield "19 minutes of silence at 192 kHz", silent_flac(19 * 60, 192_000)


def silent_flac(seconds: int, rate: int, channels: int = 1, declared: int | None = None) -> bytes:
    """Create FLAC of digital silence, 65,535 samples in some 16 bytes (RFC 9639)."""
    block = 65_535
    total = seconds * rate if declared is None else declared
    packed = rate << 44 | (channels - 1) << 41 | 15 << 36 | min(total, 2**36 - 1)
    stream_info = struct.pack(">HH", block, block) + bytes(6) + packed.to_bytes(8, "big") + bytes(16)
    frames = [b"fLaC\x80\x00\x00\x22", stream_info]
    for number in range(-(-seconds * rate // block)):
        # fixed block size; a 16-bit block size follows; sample rate as in the stream's header
        header = bytes((0xFF, 0xF8, 0x70, (channels - 1) << 4)) + _coded_number(number) + struct.pack(">H", block - 1)
        frame = header + bytes((_crc(header, 0x07, 8),)) + b"\x00\x00\x00" * channels  # constant subframes of 0
        frames.append(frame + struct.pack(">H", _crc(frame, 0x8005, 16)))
    return b"".join(frames)


def _coded_number(number: int) -> bytes:
    """Encode a frame number for FLAC: like UTF-8, but up to 31 bits."""
    if number < 0x80:
        return bytes((number,))
    tail = next(count for count in range(1, 6) if number < 1 << 5 * count + 6)
    lead = 0xFF << 7 - tail & 0xFF | number >> 6 * tail
    return bytes((lead, *(0x80 | number >> 6 * place & 0x3F for place in reversed(range(tail)))))


def _crc(data: bytes, polynomial: int, bits: int) -> int:
    table = _crc_table(polynomial, bits)
    value, mask, shift = 0, (1 << bits) - 1, bits - 8
    for byte in data:
        value = (value << 8 & mask) ^ table[value >> shift ^ byte]
    return value


_tables: dict[tuple[int, int], list[int]] = {}


def _crc_table(polynomial: int, bits: int) -> list[int]:
    key = polynomial, bits
    if key not in _tables:
        top, mask = 1 << bits - 1, (1 << bits) - 1
        table = []
        for byte in range(256):
            value = byte << bits - 8
            for _ in range(8):
                value = (value << 1 ^ polynomial if value & top else value << 1) & mask
            table.append(value)
        _tables[key] = table
    return _tables[key]


def wrong_lengths(recordings: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield files with contradictory lengths and counts."""
    wav, flac, m4a, mp3 = (recordings[kind] for kind in ("wav", "flac", "m4a", "mp3"))
    for size in (0, 1, 0x7FFF_FFFF, 0xFFFF_FFFF):
        packed = struct.pack("<I", size)
        yield f"WAV of size {size}", wav[:4] + packed + wav[8:]
        yield f"WAV with format of size {size}", wav[:16] + packed + wav[20:]
        yield f"WAV with data of size {size}", wav[:40] + packed + wav[44:]
        yield f"WAV at {size} Hz", wav[:24] + packed + wav[28:]
        yield f"FLAC with metadata of size {size}", flac[:5] + struct.pack(">I", size)[1:] + flac[8:]
        for box in (b"moov", b"mdat", b"stsz", b"stco", b"stts", b"stsc"):
            place = m4a.find(box)
            if place >= 0:
                yield (
                    f"M4A with {box.decode()} of size {size}",
                    m4a[: place - 4] + struct.pack(">I", size) + m4a[place:],
                )
                counted = m4a[: place + 8] + struct.pack(">I", size) * 2 + m4a[place + 16 :]
                yield f"M4A with {box.decode()} counting {size}", counted
    for channels in (0, 255, 65_535):
        yield f"WAV of {channels} channels", wav[:22] + struct.pack("<H", channels) + wav[24:]
    for bits in (0, 1, 7, 65_535):
        yield f"WAV of {bits} bits", wav[:34] + struct.pack("<H", bits) + wav[36:]
    yield "MP3 behind a tag longer than the file", b"ID3\x04\x00\x00\x7f\x7f\x7f\x7f" + mp3
    yield "MP3 behind a thousand tags", b"ID3\x04\x00\x00\x00\x00\x00\x00" * 1000 + mp3
    yield "boxes in boxes", struct.pack(">I", 24) + b"ftypM4A \0\0\0\0M4A isom" + _nested_boxes(5_000)
    yield "a bare ftyp", struct.pack(">I", 24) + b"ftypM4A \0\0\0\0M4A isom"
    yield "WAV without data", wav[:36]
    yield "nothing", b""
    yield "one byte", b"R"


def _nested_boxes(depth: int) -> bytes:
    return b"".join(struct.pack(">I", 8 * (depth - level)) + b"moov" for level in range(depth))


def broken_forms() -> Iterator[HostileBody]:
    """Yield forms that no form library writes."""
    part = b'--%s\r\nContent-Disposition: form-data; name="audio"; filename="a"\r\n\r\n' % BOUNDARY
    end = b"\r\n--%s--\r\n" % BOUNDARY
    yield HostileBody("an empty body", b"")
    yield HostileBody("no boundary", part + b"x" + end, "multipart/form-data")
    yield HostileBody("an empty boundary", part + b"x" + end, 'multipart/form-data; boundary=""')
    yield HostileBody("another boundary", part + b"x" + end, "multipart/form-data; boundary=other")
    yield HostileBody("a boundary of 15 kB", part + b"x" + end, "multipart/form-data; boundary=" + "b" * 15_000)
    yield HostileBody("JSON", b'{"audio": "x"}', "application/json")
    yield HostileBody("a URL-encoded form", b"audio=x", "application/x-www-form-urlencoded")
    yield HostileBody("no end", part + b"x" * 5000)
    yield HostileBody("only an end", end)
    yield HostileBody("two files", part + b"x\r\n" + part + b"y" + end)
    yield HostileBody("a header without colon", b"--%s\r\nContent-Disposition\r\n\r\nx" % BOUNDARY + end)
    yield HostileBody("a part without headers", b"--%s\r\n\r\nx" % BOUNDARY + end)
    yield HostileBody("a part without name", b"--%s\r\nContent-Disposition: form-data\r\n\r\nx" % BOUNDARY + end)
    yield HostileBody("a header of 1 MB", b"--%s\r\nX: %s\r\n\r\nx" % (BOUNDARY, b"y" * 1024**2) + end)
    yield HostileBody("a header without end", b"--%s\r\nX: %s" % (BOUNDARY, b"y" * 1024**2))
    yield HostileBody(
        "zeros in a header", b'--%s\r\nContent-Disposition: form-data; name="\0"\r\n\r\nx' % BOUNDARY + end
    )
    yield HostileBody("bare line feeds", (part + b"x" + end).replace(b"\r\n", b"\n"))
    yield HostileBody("10,000 parts", field(b"diarize", b"true") * 10_000 + end)
    yield HostileBody("10,000 unknown parts", field(b"unknown", b"x") * 10_000 + end)
    for name in (b"diarize", b"recorded_at", b"audio_upload_ref", b"webhook_url", b"webhook_secret_key"):
        for value in (b"\xff\xfe\x00", b"x" * 9_000, b"\0", b"' OR 1=1 --", "\u202e😀".encode(), b"../../etc/passwd"):
            yield HostileBody(f"{name.decode()} = {value[:12]!r}", field(name, value) + end)
    yield HostileBody("a file without end inside a nested form", part + (part + b"x") * 50)


def field(name: bytes, value: bytes) -> bytes:
    return b'--%s\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (BOUNDARY, name, value)
