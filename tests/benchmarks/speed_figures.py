"""Time and memory of a whole `pulse` analysis, and the time of the reference extractor on the same file.

Each analysis runs in a process of its own with at most two threads, as in a worker. The first run warms up; the fastest
of the next counts, because other load only adds time. The limits apply to wall-clock time; processor time is also
shown, because it depends less on other load.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile as sf
from coded_sound import write_m4a
from figures import AUDIO, Row, judged, reported, show, skipped

TOPIC = "Time and memory"
REPEATS = {60: 5, 300: 3, 1195: 3}
ANALYSE = """
import json, sys, time
from pathlib import Path
from vbdesk.signs.analysis import ScoringTarget, analyze
from vbdesk.voice.decode import decode

def run(path):
    wall, processor = time.perf_counter(), time.process_time()
    analyze(decode(path), ScoringTarget("model", "pulse"))
    return time.perf_counter() - wall, time.process_time() - processor

warm_up, path, repeats = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
run(warm_up)
times = [run(path) for _ in range(repeats)]
# rusage would count the process that started this one
peak_mb = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
print(json.dumps({"wall": min(t[0] for t in times), "processor": min(t[1] for t in times), "peak_mb": peak_mb}))
"""
REFERENCE = """
import sys, time
sys.path.append(sys.argv[2])
import reference_extractor
wall, processor = time.perf_counter(), time.process_time()
reference_extractor.extract(reference_extractor.load(sys.argv[1]))
print(time.perf_counter() - wall, time.process_time() - processor)
"""


def rows() -> Iterator[Row]:
    """Every figure of time and memory."""
    if not AUDIO.is_dir():
        yield skipped(TOPIC, "all figures", "", "the shared recordings are not here")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        speech = speech_of(1195)
        for seconds in REPEATS:
            write_m4a(folder / f"{seconds}.m4a", speech[: seconds * 16_000], 128_000)
        found = {seconds: analyse(folder, seconds) for seconds in REPEATS}
        for seconds, bar_s, stretch_s in ((60, 1.5, 1.0), (1195, 15.0, 10.0)):
            best = found[seconds]
            yield judged(
                TOPIC,
                f"`pulse` of {length_of(seconds)} M4A on {os.cpu_count()} cores, warm worker",
                f"{bar_s:g} s (stretch {stretch_s:g} s)",
                f"{best['wall']:.2f} s, {best['processor']:.2f} s of processor time",
                best["wall"] <= bar_s,
            )
        most = max(best["peak_mb"] for best in found.values())
        yield judged(TOPIC, "most memory of a worker, 20 min M4A", "600 MB", f"{most:.0f} MB", most <= 600)
        ratio = (found[1195]["processor"] / 1195) / (found[300]["processor"] / 300)
        yield judged(
            TOPIC,
            "linear in length: processor time a second of sound, 20 min over 5 min",
            "1.2",
            f"{ratio:.2f}",
            ratio <= 1.2,
        )
        yield from against_reference(folder, speech[: 60 * 16_000], found[60]["wall"])
        yield reported(TOPIC, "load of the computer meanwhile (other work; 0 is none)", f"{os.getloadavg()[0]:.1f}")


def length_of(seconds: int) -> str:
    return "20 min" if seconds > 1000 else f"{seconds} s"


def speech_of(seconds: int) -> np.ndarray:
    """Readers in sequence, repeated until the recording is long enough."""
    paths = sorted(AUDIO.glob("longitudinal/librispeech_*/*.flac"))
    return np.resize(np.concatenate([sf.read(path, dtype="float32")[0] for path in paths]), seconds * 16_000)


def analyse(folder: Path, seconds: int) -> dict[str, float]:
    """Times in seconds and peak memory in MB of a warm process."""
    output = subprocess.run(
        [sys.executable, "-c", ANALYSE, str(folder / "60.m4a"), str(folder / f"{seconds}.m4a"), str(REPEATS[seconds])],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
    ).stdout
    figures: dict[str, float] = json.loads(output)
    return figures


def against_reference(folder: Path, samples: np.ndarray, own_s: float) -> Iterator[Row]:
    """The reference extractor (Praat), features only, on the same minute as WAV."""
    what, bar = "times quicker than the reference extractor (Praat, features alone) on the same 60 s", "5"
    path = folder / "60.wav"
    sf.write(path, samples, 16_000)
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", REFERENCE, str(path), str(Path(__file__).parent)],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        yield skipped(TOPIC, what, bar, "Praat is not here: pip install vbdesk[bench]")
        return
    theirs_s, _ = map(float, done.stdout.split())
    assert theirs_s <= time.perf_counter() - started
    yield judged(TOPIC, what, bar, f"{theirs_s / own_s:.1f}", theirs_s / own_s >= 5, f"Praat {theirs_s:.1f} s")


if __name__ == "__main__":
    show(rows())
