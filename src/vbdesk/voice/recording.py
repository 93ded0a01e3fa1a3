"""A decoded recording, the input of all measurements."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vbdesk.contract.audio_formats import AUDIO_FORMATS, Container

ANALYSIS_RATE = 16_000  # Hz; norms were measured at this rate

Samples = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording ready for analysis.

    Attributes:
        samples: shape (n,), float32, mono (see `channels`), `ANALYSIS_RATE` Hz, full scale = 1.
        duration_s: true duration, by counting samples at the file's rate.
        sample_rate: of the file, in Hz.
        channels: channel count of the file.
        container: by content, not by file name.
        size_bytes: size of the file; 0 for samples from memory.
    """

    samples: Samples
    duration_s: float
    sample_rate: int
    channels: int
    container: Container
    size_bytes: int

    @property
    def content_type(self) -> str:
        """MIME type of the content."""
        return AUDIO_FORMATS[self.container].content_type
