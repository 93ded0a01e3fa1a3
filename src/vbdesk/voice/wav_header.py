"""Declared and actual size of the sound in a WAV file.

A crashed recorder leaves sizes of 0, a recorder that writes to a pipe leaves huge sizes, and an interrupted transfer
leaves less data than declared.
"""

from dataclasses import dataclass
from typing import BinaryIO

UNKNOWN_SIZE = 0x7FFF_0000  # bytes; sizes from here on mean that the length was not known
MOST_CHUNKS = 1000  # before the data chunk


@dataclass(frozen=True, slots=True)
class DataChunk:
    """The data chunk of a WAV file; sizes in bytes.

    Attributes:
        declared: size in the header; None if unknown.
        present: from the start of the data to the end of the file.
        bytes_per_second: of the sound; 0 if unknown.
    """

    declared: int | None
    present: int
    bytes_per_second: int

    @property
    def is_unfinished(self) -> bool:
        """Whether there is sound after a header that was never completed."""
        return self.declared == 0 and self.present > 0

    @property
    def missing_s(self) -> float:
        """Seconds that the header declares and the file does not contain."""
        if self.declared is None or self.bytes_per_second == 0:
            return 0.0
        return max(0, self.declared - self.present) / self.bytes_per_second


def find_data_chunk(file: BinaryIO) -> DataChunk | None:
    """Find the data chunk of the WAV, RF64 or BW64 `file`, None if it has none; the file position changes."""
    end = file.seek(0, 2)
    position, bytes_per_second, long_size = 12, 0, 0
    for _ in range(MOST_CHUNKS):
        file.seek(position)
        header = file.read(8)
        if len(header) < 8:
            return None
        name, size = header[:4], int.from_bytes(header[4:], "little")
        if name == b"data":
            declared = long_size if size == 0xFFFF_FFFF and long_size else size
            return DataChunk(declared if declared < UNKNOWN_SIZE else None, end - position - 8, bytes_per_second)
        content = file.read(16)
        if name == b"fmt ":
            bytes_per_second = int.from_bytes(content[8:12], "little")
        if name == b"ds64":
            long_size = int.from_bytes(content[8:16], "little")
        position += 8 + size + size % 2
    return None
