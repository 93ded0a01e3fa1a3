"""Create resources/capture/speaker_background.toml: the mean embedding of many speakers, with equal weights.

`python tests/benchmarks/speaker_background.py` needs ../shared/audio; it prints the file. `voices` and
`background` are also used by `capture_figures.py`, which scores every pair with a mean that excludes both speakers.
"""

import csv
import sys

import numpy as np
import soundfile as sf
from figures import AUDIO

from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.outbox.imports.speaker_comparison import voice_of

Voices = list[tuple[str, str, np.ndarray]]  # speaker, path, voice
TAKEN = ("longitudinal/", "long/", "timing/libri", "clinical/emotion/emodb")
DIGITS = 5


def voices() -> Voices:
    """The embedding of every recording with enough speech."""
    with (AUDIO / "manifest.csv").open(encoding="utf-8") as file:
        listed = [entry for entry in csv.DictReader(file) if entry["path"].startswith(TAKEN)]
    found: Voices = []
    for entry in listed:
        samples, rate = sf.read(AUDIO / entry["path"], dtype="int16", always_2d=True)
        voice = voice_of(TakeAudio(samples[:, 0], rate, True, {}, ()))
        if voice is not None:
            found.append((entry["speaker"], entry["path"], voice))
    return found


def background(known: Voices, without: frozenset[str] = frozenset()) -> np.ndarray:
    """Mean over speakers of the mean over their recordings."""
    speakers = sorted({speaker for speaker, _, _ in known} - without)
    return np.mean([np.mean([v for s, _, v in known if s == speaker], axis=0) for speaker in speakers], axis=0)


if __name__ == "__main__":
    numbers = ",\n".join(
        "  " + ", ".join(f"{value:.{DIGITS}f}" for value in row) for row in background(voices()).reshape(-1, 8)
    )
    sys.stdout.write(
        "# Mean GE2E embedding of 15 speakers of LibriSpeech (CC BY 4.0), Berlin EMO-DB and others (CC0, Apache-2.0), "
        "with equal\n# weights. It is subtracted before voices are compared. "
        "Created by tests/benchmarks/speaker_background.py.\n"
        f"mean = [\n{numbers},\n]\n"
    )
