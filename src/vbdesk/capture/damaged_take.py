"""Read the rest of a damaged take: the sound that still decrypts, and where sound is missing.

Sound on both sides of a gap is never joined: each stretch without a gap is a separate part. The length of a gap is
estimated from the unauthenticated bytes between its neighbours.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from vbdesk.capture.encrypted_blocks import BLOCK_OVERHEAD_BYTES, HEAD, BlockKind, FoundBlock, block_cipher, find_blocks
from vbdesk.capture.encrypted_take import TORN_BYTES, Frames, TakeAudio, TaskStart
from vbdesk.capture.take_keys import MAGIC, MAGIC_OF_OLD, FileDamaged, first_block_at, possible_keys, why_nothing_opens
from vbdesk.language import message

CHUNK_BYTES = 1024 * 1024
PAGE_BYTES = 4096
MARK_BYTES = 1024  # larger blocks with a damaged header are sound, not marks


@dataclass(frozen=True, slots=True)
class ReadablePart:
    """A stretch of a take without a gap.

    Attributes:
        begin_s: its start in the original take; an estimate after a gap.
        audio: its sound; times of marks and tasks are relative to its start.
    """

    begin_s: float
    audio: TakeAudio

    @property
    def end_s(self) -> float:
        """Its end in the original take."""
        return self.begin_s + self.audio.duration_s


@dataclass(frozen=True, slots=True)
class Salvage:
    """What can be read of a take.

    Attributes:
        parts: stretches of sound, in order; empty if no sound is left.
        about: what was known when the recording began.
        complete: whether the closing block can be read.
        intact: whether every block up to `tail_bytes` decrypts in its place, so that the take opens normally.
        tail_bytes: bytes after the last block that decrypts; 0 after the closing block.
        lost_s: how much sound is missing between the parts and at the end, an estimate.
        proved: whether a digest proves that no sound is missing, even if other parts are damaged.
    """

    parts: tuple[ReadablePart, ...]
    about: Mapping[str, Any]
    complete: bool
    intact: bool
    tail_bytes: int
    lost_s: float
    proved: bool

    @property
    def readable_s(self) -> float:
        """How much sound can be read."""
        return sum(part.audio.duration_s for part in self.parts)


def salvage(path: Path, key: bytes, take_key: bytes | None = None, sha256: str | None = None) -> Salvage:
    """Read everything of a take that decrypts.

    Args:
        path: the file; it is not changed.
        key: the library's key.
        take_key: the take's own key, if the library has it.
        sha256: digest of its samples, if the library knows it.

    Raises:
        EncryptedFileError: nothing can be read; the message says why.
        OSError: the file cannot be opened, or the disk returns none of it.
    """
    content = read_readable(path)
    blocks = _blocks(content, key, take_key)
    return _assembled(content, blocks, sha256)


def read_readable(path: Path) -> bytes:
    """The bytes of a file, with zeros for unreadable ones. Raises OSError if none is readable."""
    with path.open("rb", buffering=0) as file:
        content = bytearray(file.seek(0, 2))
        refusal: OSError | None = None
        given = False
        for begin, end in _ranges(0, len(content), CHUNK_BYTES):
            try:
                given |= _read_into(file, content, begin, end)
            except OSError:
                for page, page_end in _ranges(begin, end, PAGE_BYTES):
                    try:
                        given |= _read_into(file, content, page, page_end)
                    except OSError as error:
                        refusal = error
    if refusal is not None and not given:
        raise refusal
    return bytes(content)


def _ranges(begin: int, end: int, step: int) -> Iterator[tuple[int, int]]:
    for each in range(begin, end, step):
        yield each, min(each + step, end)


def _read_into(file: BinaryIO, content: bytearray, begin: int, end: int) -> bool:
    file.seek(begin)
    while begin < end and (piece := file.read(end - begin)):
        content[begin : begin + len(piece)] = piece
        begin += len(piece)
    return True


def _blocks(content: bytes, key: bytes, take_key: bytes | None) -> list[FoundBlock]:
    """All blocks that decrypt, the description first. Raises EncryptedFileError."""
    nameless = False
    for block_key, salt, begin in possible_keys(content, key, take_key):
        found = find_blocks(content, block_cipher(block_key, salt), begin)
        if found and found[0].index == 0 and found[0].kind is BlockKind.ABOUT:
            return found
        nameless = nameless or bool(found)
    if nameless:
        raise FileDamaged(
            message(
                "Its description is damaged, so nobody can tell whose recording it is. Some of its sound is intact."
            )
        )
    raise why_nothing_opens(content, key, take_key)


def _assembled(content: bytes, blocks: list[FoundBlock], sha256: str | None) -> Salvage:
    description = json.loads(blocks[0].plain)
    if "sample_rate" not in description:
        raise FileDamaged(message("This is not a recording of the desk."))
    rate, about = description["sample_rate"], description["about"]
    closing: dict[str, Any] = next((json.loads(block.plain) for block in blocks if block.kind is BlockKind.END), {})
    stretches = _stretches(content, blocks)
    samples = _joined([stretch.frames for stretch in stretches])[: closing.get("frames")]
    digest = hashlib.sha256(samples.astype("<i2", copy=False).data).hexdigest()
    proved = digest in (sha256, closing.get("sha256"))
    tail = len(content) if closing else max(block.end for block in blocks)
    tail_bytes = len(content) - tail
    lost = sum(stretch.lost for stretch in stretches) + _samples_between(content, tail, len(content))
    if proved:
        stretches, lost = [_Stretch(0, 0, samples)], 0
    elif closing:
        stretches = _counted(stretches, closing)
        lost = max(closing["frames"] - sum(len(stretch.frames) for stretch in stretches), 0)
    marks = [json.loads(block.plain) for block in blocks if block.kind is BlockKind.MARK]
    by_hand = tuple(mark["moment_s"] for mark in marks if "task_id" not in mark)
    tasks = tuple(TaskStart(mark["task_id"], mark["moment_s"]) for mark in marks if "task_id" in mark)
    empty = TakeAudio(_joined([]), rate, proved, about, by_hand, tasks, closing if proved else {})
    parts = tuple(_part(stretch, empty) for stretch in stretches if len(stretch.frames))
    return Salvage(
        parts, about, bool(closing), _is_intact(content, blocks, tail_bytes), tail_bytes, lost / rate, proved
    )


@dataclass(frozen=True, slots=True)
class _Stretch:
    begin: int  # in samples of the original take
    lost: int  # samples before it, an estimate
    frames: Frames


def _stretches(content: bytes, blocks: list[FoundBlock]) -> list[_Stretch]:
    """The sound between the gaps; the last stretch may be empty."""
    found: list[_Stretch] = []
    pieces: list[Frames] = []
    begin = lost = 0
    end = blocks[0]
    for block in blocks:
        missing = block.index - end.index - 1
        if missing > 0:
            frames = _joined(pieces)
            found.append(_Stretch(begin, lost, frames))
            lost = _samples_between(content, end.end, block.begin, missing)
            begin, pieces = begin + len(frames) + lost, []
        if block.kind is BlockKind.FRAMES:
            pieces.append(np.frombuffer(block.plain, "<i2").astype(np.int16, copy=False))
        end = block
    return [*found, _Stretch(begin, lost, _joined(pieces))]


def _samples_between(content: bytes, begin: int, end: int, blocks: int = 1) -> int:
    """Samples in a number of damaged blocks: from their headers, else from their size."""
    counted, offset = 0, begin
    while offset + HEAD.size <= end:
        kind, length = HEAD.unpack_from(content, offset)
        if offset + BLOCK_OVERHEAD_BYTES + length > end or kind > max(BlockKind):
            break
        if kind == BlockKind.FRAMES or length > MARK_BYTES:
            counted += length // 2
        offset += BLOCK_OVERHEAD_BYTES + length
        blocks -= 1
    return counted + max(end - offset - max(blocks, 1) * BLOCK_OVERHEAD_BYTES, 0) // 2


def _counted(stretches: list[_Stretch], closing: Mapping[str, Any]) -> list[_Stretch]:
    """The sound up to the end that the closing block names."""
    surplus = closing.get("written", closing["frames"]) - closing["frames"]
    last = stretches[-1]
    return [*stretches[:-1], replace(last, frames=last.frames[: max(len(last.frames) - surplus, 0)])]


def _is_intact(content: bytes, blocks: list[FoundBlock], tail_bytes: int) -> bool:
    heads = all(HEAD.unpack_from(content, block.begin) == (block.kind, len(block.plain)) for block in blocks)
    in_order = all(block.index == offset for offset, block in enumerate(blocks))
    adjacent = all(after.begin == before.end for before, after in pairwise(blocks))
    at_its_place = content.startswith((MAGIC, MAGIC_OF_OLD)) and blocks[0].begin == first_block_at(content)
    return at_its_place and heads and in_order and adjacent and tail_bytes <= TORN_BYTES


def _joined(pieces: list[Frames]) -> Frames:
    return np.concatenate(pieces) if pieces else np.empty(0, np.int16)


def _part(stretch: _Stretch, empty: TakeAudio) -> ReadablePart:
    """A stretch with its own marks and tasks."""
    begin_s = stretch.begin / empty.sample_rate
    shifted = empty.part(begin_s, begin_s + len(stretch.frames) / empty.sample_rate)
    return ReadablePart(begin_s, replace(shifted, samples=stretch.frames))
