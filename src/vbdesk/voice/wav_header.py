"""What the header of a WAV file claims, and what is there.

A recorder that crashed leaves sizes of zero, one that writes into a pipe leaves huge ones, and a transfer that broke
off leaves a promise that the file does not keep.
"""

from dataclasses import dataclass
from typing import BinaryIO

UNKNOWN_SIZE = 0x7FFF_0000  # bytes; what is written where the length was not known yet is as large as that
MOST_CHUNKS = 1000  # before the sound


@dataclass(frozen=True, slots=True)
class DataChunk:
    """The chunk of a WAV file that holds the sound; sizes in bytes.

    Attributes:
        claimed: by the header; None if it did not know.
        present: from there to the end of the file.
        bytes_per_second: of the sound; 0 if the header does not say.
    """

    claimed: int | None
    present: int
    bytes_per_second: int

    @property
    def was_never_closed(self) -> bool:
        """Whether sound follows a header that was never completed."""
        return self.claimed == 0 and self.present > 0

    @property
    def missing_s(self) -> float:
        """Seconds that the header promises and the file does not hold."""
        if self.claimed is None or self.bytes_per_second == 0:
            return 0.0
        return max(0, self.claimed - self.present) / self.bytes_per_second


def find_data_chunk(file: BinaryIO) -> DataChunk | None:
    """Find the sound in the WAV, RF64 or BW64 `file`; None if there is none. The position is left anywhere."""
    end = file.seek(0, 2)
    position, bytes_per_second, long_size = 12, 0, 0
    for _ in range(MOST_CHUNKS):
        file.seek(position)
        header = file.read(8)
        if len(header) < 8:
            return None
        name, size = header[:4], int.from_bytes(header[4:], "little")
        if name == b"data":
            claimed = long_size if size == 0xFFFF_FFFF and long_size else size
            return DataChunk(claimed if claimed < UNKNOWN_SIZE else None, end - position - 8, bytes_per_second)
        content = file.read(16)
        if name == b"fmt ":
            bytes_per_second = int.from_bytes(content[8:12], "little")
        if name == b"ds64":
            long_size = int.from_bytes(content[8:16], "little")
        position += 8 + size + size % 2
    return None
