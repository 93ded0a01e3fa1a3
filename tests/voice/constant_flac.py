"""Small FLAC files that decode to many samples: every block holds one constant value."""

import struct

MOST_BLOCK_FRAMES = 65_535


def constant_flac(
    *, seconds: float, sample_rate: int = 44_100, channels: int = 1, said_seconds: float | None = None, value: int = 0
) -> bytes:
    """A FLAC file of one constant `value`, 16 bits.

    Args:
        seconds: how much sound is in it.
        sample_rate: Hz, up to 655,350.
        channels: up to 8.
        said_seconds: how much its header says; 0 says that it is not known.
        value: of every sample.
    """
    frames = round(seconds * sample_rate)
    said = frames if said_seconds is None else round(said_seconds * sample_rate)
    layout = sample_rate << 44 | (channels - 1) << 41 | 15 << 36 | said
    info = struct.pack(">HH", MOST_BLOCK_FRAMES, MOST_BLOCK_FRAMES) + bytes(6) + layout.to_bytes(8, "big") + bytes(16)
    blocks = [_block(number, MOST_BLOCK_FRAMES, channels, value) for number in range(frames // MOST_BLOCK_FRAMES)]
    if frames % MOST_BLOCK_FRAMES:
        blocks.append(_block(len(blocks), frames % MOST_BLOCK_FRAMES, channels, value))
    return b"fLaC" + bytes([0x80, 0, 0, 34]) + info + b"".join(blocks)


def _block(number: int, frames: int, channels: int, value: int) -> bytes:
    head = bytes([0xFF, 0xF8, 0x70, (channels - 1) << 4 | 0x08])  # block size in 16 bits; the rate is the file's
    head += chr(number).encode() + struct.pack(">H", frames - 1)
    head += bytes([_crc(head, 8, 0x07)])
    block = head + (b"\0" + struct.pack(">h", value)) * channels
    return block + struct.pack(">H", _crc(block, 16, 0x8005))


def _crc(data: bytes, bits: int, polynomial: int) -> int:
    top, mask, crc = 1 << (bits - 1), (1 << bits) - 1, 0
    for byte in data:
        crc ^= byte << (bits - 8)
        for _ in range(8):
            crc = ((crc << 1) ^ (polynomial if crc & top else 0)) & mask
    return crc
