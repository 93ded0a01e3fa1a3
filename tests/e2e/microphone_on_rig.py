"""What `test_microphone_rig` runs inside the rig: one scenario, its findings as JSON on the last line of its output.

Usage: python microphone_on_rig.py SCENARIO SPEECH.flac FOLDER
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import soundfile as sf
import soxr
from desktop import until
from scipy.fft import irfft, next_fast_len, rfft

from patience import HANGS_S
from vbdesk.capture.crash_recovery import unfinished_takes
from vbdesk.capture.device_choice import DeviceChoice
from vbdesk.capture.devices import Device, DeviceWatch, PortAudioLister
from vbdesk.capture.encrypted_take import read_take
from vbdesk.capture.microphone import MicrophoneError, PortAudioMicrophone
from vbdesk.capture.monitor import Monitor
from vbdesk.capture.recorder import Recorder, Take

KEY = bytes(range(32))
RATE = 48_000
RECORDED_S, SPOKEN_S = 5.0, 2.0
FAINT = 1000


class NotingLister:
    """Lists the microphones for the recorder, and notes how much sound there surely was when all was still well."""

    def __init__(self, lister: PortAudioLister, elapsed_s: Callable[[], float]) -> None:
        self.certain_s = 0.0
        self._lister, self._elapsed_s, self._answered_s = lister, elapsed_s, 0.0

    def devices(self) -> list[Device]:
        found = self._lister.devices()
        self.certain_s, self._answered_s = self._answered_s, self._elapsed_s()  # this question came after that answer
        return found


class Rig:
    """A recorder on the real microphone, with real speech in it."""

    def __init__(self, speech: Path, folder: Path) -> None:
        self.speech, self.folder = speech, folder
        self.lister = PortAudioLister()
        self.microphone = PortAudioMicrophone()
        self.ended = threading.Event()
        self.takes: list[Take] = []
        self.noting = NotingLister(self.lister, lambda: self.recorder.elapsed_s)
        self.recorder = Recorder(self.microphone, folder, lambda: KEY, lister=self.noting, on_finished=self._finished)

    def device(self, name: str) -> Device:
        return next(device for device in self.lister.devices() if device.name == name)

    def record(self, name: str, during: Callable[[], None]) -> dict[str, object]:
        self.recorder.start(self.device(name), {"group_id": "rig"})
        feed = subprocess.Popen(["mic-feed", str(self.speech)])
        started = time.monotonic()
        during()
        take = self.recorder.stop()
        took_s = time.monotonic() - started
        feed.terminate()
        feed.wait()
        self.recorder.close()
        audio = read_take(take.path, KEY)
        return {
            "end": take.end,
            "sentence": take.sentence,
            "duration_s": audio.duration_s,
            "took_s": took_s,
            "complete": audio.complete,
            "overflows": take.overflows,
            "missing_s": take.missing_s,
            "all_zero": take.all_zero,
            "same_sound": audio.sha256() == audio.closing.get("sha256"),
            "about": dict(audio.about),
            "speech_s": self.recorder.speech().speech_s,
            "correlation": likeness(audio.samples, self.speech),
        }

    def close(self) -> None:
        self.recorder.close()
        self.lister.close()

    def _finished(self, take: Take) -> None:
        self.takes.append(take)
        self.ended.set()


def likeness(heard: np.ndarray, speech: Path) -> float:
    """Correlation of what was heard with what was played: the median of half seconds, each at its best alignment.

    On a machine that is too busy the player stumbles, so the whole cannot be aligned at once.
    """
    played, rate = sf.read(speech)
    played = soxr.resample(played, rate, RATE)
    length = RATE // 2
    sums = np.concatenate([[0.0], np.cumsum(played**2)])
    energy = sums[length:] - sums[:-length]
    size = next_fast_len(len(played) + length, real=True)
    spectrum = rfft(played, size)
    found = []
    for start in range(0, len(heard) - length + 1, length):
        part = heard[start : start + length].astype(float)
        if np.abs(part).max() > FAINT:
            match = irfft(spectrum * np.conj(rfft(part, size)), size)[: len(energy)]
            best = int(np.argmax(match))
            found.append(float(match[best] / np.sqrt(energy[best] * (part @ part))))
    return float(np.median(found)) if found else 0.0


def recorded(rig: Rig, seconds: float) -> float:
    """Record until there is this much sound; how much there is then."""
    until(lambda: rig.recorder.elapsed_s >= seconds, f"{seconds} s of sound")
    return rig.recorder.elapsed_s


@contextmanager
def frozen() -> Iterator[None]:
    """The sound server hangs in the block, and goes on after it."""
    server = int((Path(os.environ["DESK_DIR"]) / "pulse.pid").read_text())
    os.kill(server, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server, signal.SIGCONT)


def records(rig: Rig) -> dict[str, object]:
    def speaks() -> None:
        recorded(rig, RECORDED_S)
        until(lambda: rig.recorder.speech().speech_s > SPOKEN_S, "speech, which begins later on a busy computer")

    return rig.record("Studio Mic", speaks)


def ended_by(rig: Rig, device: str, *fault: str) -> dict[str, object]:
    """A take that a fault of `mic-ctl` ends; how much sound there was before the fault, and once it had happened."""
    sound: dict[str, object] = {}

    def happens() -> None:
        until(lambda: rig.noting.certain_s >= 2.0, "2 s of sound that surely came from this microphone")
        sound["certain_s"], sound["before_s"] = rig.noting.certain_s, rig.recorder.elapsed_s
        subprocess.run(["mic-ctl", *fault], check=True)
        sound["after_s"] = rig.recorder.elapsed_s
        rig.ended.wait(HANGS_S)

    return rig.record(device, happens) | sound


def unplug_last(rig: Rig) -> dict[str, object]:
    return ended_by(rig, "Studio Mic", "unplug", "1")


def taken_over(rig: Rig) -> dict[str, object]:
    return ended_by(rig, "Studio Mic", "unplug", "1")


def dies(rig: Rig) -> dict[str, object]:
    return ended_by(rig, "Studio Mic", "die")


def follows_the_system(rig: Rig) -> dict[str, object]:
    subprocess.run(["mic-ctl", "default", "1"], check=True)
    return ended_by(rig, "default", "default", "2")


def plugged_later(rig: Rig) -> dict[str, object]:
    rig.recorder.start(rig.device("Studio Mic"))
    rig.recorder.stop()
    rig.recorder.close()
    before = [device.name for device in rig.lister.devices()]
    subprocess.run(["mic-ctl", "plug", "2"], check=True, stdout=subprocess.DEVNULL)
    after = [device.name for device in rig.lister.devices()]
    monitor = Monitor(rig.microphone)
    monitor.start(rig.device("Laptop Mic"))
    feed = subprocess.Popen(["mic-feed", "--mic", "2", str(rig.speech)])
    until(lambda: monitor.levels().held_peak_dbfs > -40, "the new microphone to be heard")
    monitor.stop()
    feed.terminate()
    feed.wait()
    return {"new": sorted(set(after) - set(before))}


def hangs(rig: Rig) -> dict[str, object]:
    sound: dict[str, object] = {}

    def freeze() -> None:
        sound["before_s"] = recorded(rig, 2.0)
        with frozen():
            rig.ended.wait(HANGS_S)

    return rig.record("Studio Mic", freeze) | sound


def gone(rig: Rig) -> dict[str, object]:
    device = rig.device("Studio Mic")
    subprocess.run(["mic-ctl", "unplug", "1"], check=True)
    try:
        rig.recorder.start(device)
    except MicrophoneError as error:
        return {"sentence": str(error)}
    return {"sentence": None}


def muted(rig: Rig) -> dict[str, object]:
    def mute() -> None:
        subprocess.run(["mic-ctl", "mute", "1", "1"], check=True)
        until(lambda: rig.recorder.health().silent_s > 2.0, "the silence to be known")
        subprocess.run(["mic-ctl", "mute", "1", "0"], check=True)
        until(lambda: rig.recorder.health().silent_s < 1.0, "the sound to be known again")

    return rig.record("Studio Mic", mute)


def opens_while_it_hangs(rig: Rig) -> dict[str, object]:
    """Press Record while the sound server hangs after PortAudio has started."""
    device = rig.device("Studio Mic")
    rig.recorder.start(device)
    rig.recorder.stop()
    rig.recorder.close()
    sentence = None
    with frozen():
        try:
            rig.recorder.start(device)
        except MicrophoneError as error:
            sentence = str(error)
    until(lambda: "Studio Mic" in [known.name for known in rig.lister.devices()], "the sound server to go on")
    return {"sentence": sentence, "after": rig.record("Studio Mic", lambda: recorded(rig, 3.0))}


def closes_while_it_hangs(rig: Rig) -> dict[str, object]:
    """The end of the program while the sound server hangs and a take runs: neither waits for it to go on."""
    rig.recorder.start(rig.device("Studio Mic"))
    recorded(rig, 2.0)
    with frozen():
        take = rig.recorder.stop()
        rig.recorder.close()
    return {"duration_s": take.duration_s}


def noticed(rig: Rig) -> dict[str, object]:
    """Changes that a list of unused microphones reports."""
    state: list[DeviceChoice] = [DeviceChoice().listed(rig.lister.devices())]

    def listed(devices: list[Device]) -> None:
        state.append(state[-1].listed(devices))

    state[0] = state[0].chosen(rig.device("Studio Mic"))
    watch = DeviceWatch(rig.lister, listed)
    watch.start()
    until(lambda: len(state) == 2, "the first list")
    found: dict[str, object] = {}
    for action in ("unplug", "plug"):
        known = len(state)
        subprocess.run(["mic-ctl", action, "1"], check=True, stdout=subprocess.DEVNULL)
        until(lambda known=known: len(state) > known, "another list")
        found[f"{action}_notice"] = state[-1].notice
    watch.stop()
    return found


def killed(rig: Rig) -> dict[str, object]:
    """A recording process that is killed; what the next start finds."""
    command = [sys.executable, __file__, "endless", str(rig.speech), str(rig.folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        feed: subprocess.Popen[bytes] | None = None
        elapsed_s = 0.0
        for line in child.stdout or ():
            feed = feed or subprocess.Popen(["mic-feed", str(rig.speech)])
            elapsed_s = float(line)
            if elapsed_s >= 4.3:
                child.kill()
                break
    if feed is not None:
        feed.terminate()
        feed.wait()
    (rescued,) = unfinished_takes(rig.folder, KEY)
    heard = read_take(rescued.path, KEY).samples
    return {
        "elapsed_s": elapsed_s,
        "rescued_s": rescued.duration_s,
        "complete": rescued.complete,
        "about": dict(rescued.about),
        "correlation": likeness(heard, rig.speech),
    }


def endless(rig: Rig) -> dict[str, object]:
    rig.recorder.start(rig.device("Studio Mic"), {"group_id": "ward4-0172"})
    while True:
        time.sleep(0.02)
        sys.stdout.write(f"{rig.recorder.elapsed_s}\n")
        sys.stdout.flush()


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        records,
        unplug_last,
        taken_over,
        plugged_later,
        hangs,
        gone,
        muted,
        dies,
        follows_the_system,
        opens_while_it_hangs,
        closes_while_it_hangs,
        noticed,
        killed,
        endless,
    )
}


def main() -> None:
    scenario, speech, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    rig = Rig(speech, folder)
    try:
        found = SCENARIOS[scenario](rig)
    finally:
        rig.close()
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
