"""Sound files damaged as by transfers, recorders and attackers."""

import numpy as np

HEAD = 600  # bytes that hold the headers, and get most of the damage

Generator = np.random.Generator


def flip_bits_of_the_head(content: bytearray, generator: Generator) -> None:
    for position in generator.integers(0, min(HEAD, len(content)), generator.integers(1, 12)):
        content[position] ^= 1 << int(generator.integers(0, 8))


def overwrite_a_field_of_the_head(content: bytearray, generator: Generator) -> None:
    position = int(generator.integers(4, min(HEAD, len(content)) - 8))
    extremes = [b"\x00\x00\x00\x00", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x01"]
    content[position : position + 4] = extremes[int(generator.integers(len(extremes)))]


def cut_off(content: bytearray, generator: Generator) -> None:
    del content[int(generator.integers(1, len(content))) :]


def fill_with_noise(content: bytearray, generator: Generator) -> None:
    start = int(generator.integers(0, len(content)))
    length = min(int(generator.integers(1, 2000)), len(content) - start)
    content[start : start + length] = generator.bytes(length)


def lose_a_piece(content: bytearray, generator: Generator) -> None:
    start = int(generator.integers(0, len(content)))
    del content[start : start + int(generator.integers(1, 4000))]


def put_something_before(content: bytearray, generator: Generator) -> None:
    heads = [
        b"ID3\x04\x00\x10\x7f\x7f\x7f\x7f",
        b"\x00" * 300,
        b"RIFF\x00\x00\x00\x00WAVE",
        b"fLaC",
        b"\xff\xfb\x90\x64",
    ]
    content[:0] = heads[int(generator.integers(len(heads)))]


def repeat_the_head(content: bytearray, generator: Generator) -> None:
    position = int(generator.integers(0, len(content)))
    content[position:position] = content[: int(generator.integers(4, HEAD))]


DAMAGES = (
    flip_bits_of_the_head,
    overwrite_a_field_of_the_head,
    cut_off,
    fill_with_noise,
    lose_a_piece,
    put_something_before,
    repeat_the_head,
)


def damaged(sound: bytes, count: int, generator: Generator) -> bytes:
    """The file `sound` with `count` damages."""
    content = bytearray(sound)
    for damage in generator.choice(len(DAMAGES), size=count):
        if len(content) > HEAD:
            DAMAGES[damage](content, generator)
    return bytes(content)
