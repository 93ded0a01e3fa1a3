"""What `test_microphone_rig` runs inside the rig: one scenario, its findings as JSON on the last line of its output.

Usage: python microphone_on_rig.py SCENARIO SPEECH.flac FOLDER
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile as sf
from scipy.signal import correlate, resample_poly

from vbdesk.capture.device_choice import Choice
from vbdesk.capture.devices import Device, DeviceWatch, PortAudioLister
from vbdesk.capture.microphone import MicrophoneError, PortAudioMicrophone
from vbdesk.capture.monitor import Monitor
from vbdesk.capture.recorder import Recorder, Take
from vbdesk.capture.rescue import unfinished_takes
from vbdesk.capture.sealed import read_take

KEY = bytes(range(32))
RATE = 48_000


class Rig:
    """A recorder on the real microphone, with real speech in it."""

    def __init__(self, speech: Path, folder: Path) -> None:
        self.speech, self.folder = speech, folder
        self.lister = PortAudioLister()
        self.microphone = PortAudioMicrophone()
        self.ended = threading.Event()
        self.takes: list[Take] = []
        self.recorder = Recorder(self.microphone, folder, lambda: KEY, lister=self.lister, on_finished=self._finished)

    def device(self, name: str) -> Device:
        return next(device for device in self.lister.devices() if device.name == name)

    def record(self, name: str, during: Callable[[], None]) -> dict[str, object]:
        self.recorder.start(self.device(name), {"group_id": "rig"})
        feed = subprocess.Popen(["mic-feed", str(self.speech)])
        started = time.monotonic()
        during()
        took_s = time.monotonic() - started
        stopping = time.monotonic()
        take = self.recorder.stop()
        stop_s = time.monotonic() - stopping
        feed.terminate()
        feed.wait()
        self.recorder.close()
        audio = read_take(take.path, KEY)
        return {
            "end": take.end,
            "sentence": take.sentence,
            "duration_s": audio.duration_s,
            "took_s": took_s,
            "stop_s": stop_s,
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
    """Correlation of what was heard with what was played, at the best alignment."""
    played, rate = sf.read(speech)
    played = resample_poly(played, RATE, rate)[: len(heard)]
    if len(played) < RATE:
        return 0.0
    shift = int(np.argmax(correlate(heard[: 4 * RATE].astype(float), played[: 2 * RATE], "valid", "fft")))
    count = min(len(heard) - shift, len(played))
    a, b = heard[shift : shift + count].astype(float), played[:count]
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def records(rig: Rig) -> dict[str, object]:
    return rig.record("Studio Mic", lambda: time.sleep(5))


def unplug_last(rig: Rig) -> dict[str, object]:
    def pull() -> None:
        time.sleep(3)
        subprocess.run(["mic-ctl", "unplug", "1"], check=True)
        rig.ended.wait(5)

    return rig.record("Studio Mic", pull)


def taken_over(rig: Rig) -> dict[str, object]:
    pulled: list[float] = []

    def pull() -> None:
        time.sleep(3)
        pulled.append(rig.recorder.elapsed_s)
        subprocess.run(["mic-ctl", "unplug", "1"], check=True)
        rig.ended.wait(5)

    return rig.record("Studio Mic", pull) | {"pulled_at_s": pulled[0]}


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
    time.sleep(2)
    peak = monitor.levels().held_peak_dbfs
    monitor.stop()
    feed.terminate()
    feed.wait()
    return {"new": sorted(set(after) - set(before)), "peak_dbfs": peak}


def hangs(rig: Rig) -> dict[str, object]:
    def freeze() -> None:
        time.sleep(2)
        subprocess.Popen(["mic-ctl", "freeze", "5"])
        rig.ended.wait(8)

    return rig.record("Studio Mic", freeze)


def gone(rig: Rig) -> dict[str, object]:
    device = rig.device("Studio Mic")
    subprocess.run(["mic-ctl", "unplug", "1"], check=True)
    try:
        rig.recorder.start(device)
    except MicrophoneError as error:
        return {"sentence": str(error)}
    return {"sentence": None}


def muted(rig: Rig) -> dict[str, object]:
    silent: list[float] = []

    def mute() -> None:
        subprocess.run(["mic-ctl", "mute", "1", "1"], check=True)
        time.sleep(3.5)
        silent.append(rig.recorder.health().silent_s)
        subprocess.run(["mic-ctl", "mute", "1", "0"], check=True)
        time.sleep(1.5)
        silent.append(rig.recorder.health().silent_s)

    return rig.record("Studio Mic", mute) | {"silent_s": silent}


def dies(rig: Rig) -> dict[str, object]:
    def die() -> None:
        time.sleep(2)
        subprocess.run(["mic-ctl", "die"], check=True)
        rig.ended.wait(8)

    return rig.record("Studio Mic", die)


def follows_the_system(rig: Rig) -> dict[str, object]:
    subprocess.run(["mic-ctl", "default", "1"], check=True)

    def move() -> None:
        time.sleep(3)
        subprocess.run(["mic-ctl", "default", "2"], check=True)
        rig.ended.wait(5)

    return rig.record("default", move)


def opens_while_it_hangs(rig: Rig) -> dict[str, object]:
    """Once PortAudio is up: what a person meets who presses Record while the sound server hangs."""
    device = rig.device("Studio Mic")
    rig.recorder.start(device)
    rig.recorder.stop()
    rig.recorder.close()
    subprocess.Popen(["mic-ctl", "freeze", "10"])
    time.sleep(0.3)
    begun = time.monotonic()
    try:
        rig.recorder.start(device)
        sentence = None
    except MicrophoneError as error:
        sentence = str(error)
    waited_s = time.monotonic() - begun
    time.sleep(max(0.0, 12 - waited_s))
    return {"sentence": sentence, "waited_s": waited_s} | {"after": rig.record("Studio Mic", lambda: time.sleep(3))}


def closes_while_it_hangs(rig: Rig) -> dict[str, object]:
    """The end of the program while the sound server hangs and a take runs."""
    rig.recorder.start(rig.device("Studio Mic"))
    time.sleep(2)
    subprocess.Popen(["mic-ctl", "freeze", "20"])
    time.sleep(0.3)
    begun = time.monotonic()
    take = rig.recorder.stop()
    stopped_s = time.monotonic() - begun
    rig.recorder.close()
    return {"duration_s": take.duration_s, "stop_s": stopped_s, "close_s": time.monotonic() - begun}


def noticed(rig: Rig) -> dict[str, object]:
    """How soon a list of microphones that nobody records from tells of a change."""
    state: list[Choice] = [Choice().listed(rig.lister.devices())]
    changed = threading.Event()

    def listed(devices: list[Device]) -> None:
        state.append(state[-1].listed(devices))
        changed.set()

    state[0] = state[0].chosen(rig.device("Studio Mic"))
    watch = DeviceWatch(rig.lister, listed)
    watch.start()
    changed.wait(5)
    found: dict[str, object] = {}
    for name, action in (("unplug", "unplug"), ("plug", "plug")):
        changed.clear()
        subprocess.run(["mic-ctl", action, "1"], check=True, stdout=subprocess.DEVNULL)
        begun = time.monotonic()
        changed.wait(10)
        found[f"{name}_s"] = time.monotonic() - begun
        found[f"{name}_notice"] = state[-1].notice
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
