"""Memory use of decoding, measured in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf
import soxr

from vbdesk.voice.recording import ANALYSIS_RATE, Recording

MOST_COPIES = 1.5  # of the result, on top of which come
ALLOWANCE_MB = 30  # buffers and what the heap keeps

MEASURE = """
import sys
from pathlib import Path
from vbdesk.voice.decode import decode

def peak_mb():  # rusage would count the process that started this one
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024

decode(Path(sys.argv[1]))
before = peak_mb()
samples = decode(Path(sys.argv[2])).samples
print(samples.nbytes / 2**20, peak_mb() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is told elsewhere by other means")
@pytest.mark.parametrize("right", [1, -1])
def test_twenty_minutes_of_stereo_need_memory_for_one_copy(tmp_path: Path, kathleen: Recording, right: int) -> None:
    """Also where channels run against each other, so that the file is read twice."""
    spoken = soxr.resample(kathleen.samples, ANALYSIS_RATE, 48_000)
    left = np.zeros(1200 * 48_000, np.float32)  # mostly silence: quick to write
    left[: len(spoken)] = spoken
    short, long = tmp_path / "short.flac", tmp_path / "long.flac"
    sf.write(short, np.column_stack([spoken, right * spoken]), 48_000)
    with sf.SoundFile(long, "w", 48_000, 2, subtype="PCM_16") as file:
        for first in range(0, len(left), 1 << 20):
            part = left[first : first + (1 << 20)]
            file.write(np.column_stack([part, right * part]))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    finished = subprocess.run(
        [sys.executable, "-c", MEASURE, str(short), str(long)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    result_mb, above_mb = map(float, finished.stdout.split())
    assert result_mb == pytest.approx(1200 * ANALYSIS_RATE * 4 / 2**20, rel=0.001)
    assert above_mb <= MOST_COPIES * result_mb + ALLOWANCE_MB
