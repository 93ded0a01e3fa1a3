"""Twenty minutes on the virtual microphone, bit for bit: `python tests/soak/long_recording.py [SECONDS]`.

Plays a WAV at 48 kHz into the rig's microphone, records it with the product, and compares the encrypted take with it
sample by sample. Needs the programs that `packaging/bootstrap.py test` installs.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import soundfile as sf
import soxr
from support.programs import absent

from vbdesk.capture.devices import PortAudioLister
from vbdesk.capture.encrypted_take import read_take
from vbdesk.capture.microphone import PortAudioMicrophone
from vbdesk.capture.recorder import Recorder

RATE = 48_000
KEY = bytes(range(32))
TESTS = Path(__file__).resolve().parents[1]
RIG = TESTS / "e2e" / "rig"
SPEECH = TESTS / "data" / "speech_kathleen_20s.flac"
NEEDED = ("pulseaudio", "pactl", "paplay", "Xvfb", "openbox", "dbus-daemon", "setpriv")
QUIET_S = 1.5  # before the sound, so that its start can be found
SLACK_S = 4.0


def main() -> int:
    """Make the WAV, run the rig around this script, and print the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=1190.0, help="length of what is played")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside is not None:
        return record(options.inside)
    if why := absent(NEEDED):
        print(f"skipped: the long recording: {why}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        wav = Path(folder) / "played.wav"
        sf.write(wav, played(options.seconds), RATE, subtype="PCM_16")
        session = [str(RIG / "desk-session"), "--mic", "one", "--keyring", "none", "--"]
        return subprocess.run([*session, sys.executable, __file__, "--inside", str(wav)], check=False).returncode


def played(seconds: float) -> np.ndarray:
    """Repeated speech with different faint noise in every second, so that each second is unique."""
    voice, rate = sf.read(SPEECH, dtype="float32")
    voice = soxr.resample(voice, rate, RATE)
    count = round(seconds * RATE)
    sound = np.tile(voice, count // len(voice) + 1)[:count]
    sound += np.random.default_rng(7).normal(0, 0.002, count).astype(np.float32)
    quiet = np.zeros(round(QUIET_S * RATE), np.float32)
    return (np.clip(np.concatenate([quiet, sound]), -1, 1) * 32767).astype(np.int16)


def record(wav: Path) -> int:
    """Record what is played, and compare."""
    expected, _ = sf.read(wav, dtype="int16")
    lister = PortAudioLister()
    recorder = Recorder(PortAudioMicrophone(), wav.parent / "takes", lambda: KEY, lister=lister)
    device = next(device for device in lister.devices() if device.name == "Studio Mic")
    recorder.start(device)
    spent = time.process_time()
    feed = subprocess.Popen(["mic-feed", str(wav)])
    feed.wait()
    time.sleep(SLACK_S)
    spent = time.process_time() - spent
    take = recorder.stop()
    recorder.close()
    lister.close()
    heard = read_take(take.path, KEY)
    differing = compare(heard.samples, expected)
    share = 100 * spent / take.duration_s
    print(
        f"{take.duration_s:.1f} s recorded, ended {take.end}, {take.overflows} overflows, "
        f"{take.missing_s:.1f} s missing, "
        f"digest {'right' if heard.sha256() == heard.closing['sha256'] else 'WRONG'}, {share:.1f} % of a core; "
        f"{'not found' if differing is None else differing} of {len(expected)} samples differ"
    )
    return 0 if differing == 0 and take.missing_s == 0 else 1


def compare(heard: np.ndarray, expected: np.ndarray) -> int | None:
    """Number of different samples after alignment; None if the start was not found."""
    first = int(np.flatnonzero(expected)[0])
    pattern = expected[first : first + 64]
    starts = np.flatnonzero(heard == pattern[0])
    starts = starts[starts <= len(heard) - len(pattern)]
    begin = next((int(start) for start in starts if np.array_equal(heard[start : start + 64], pattern)), None)
    if begin is None:
        return None
    wanted = expected[first:]
    got = heard[begin : begin + len(wanted)]
    return int(np.count_nonzero(got != wanted[: len(got)])) + len(wanted) - len(got)


if __name__ == "__main__":
    sys.exit(main())
