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

from vbdesk.capture.devices import Device, PortAudioLister
from vbdesk.capture.microphone import MicrophoneError, PortAudioMicrophone
from vbdesk.capture.monitor import Monitor
from vbdesk.capture.recorder import Recorder, Take
from vbdesk.capture.sealed import read_take
from vbdesk.outbox.profiles import Profile, library_key
from vbdesk.outbox.vault import KeyringVault, VaultError

KEY = bytes(range(32))
RATE = 48_000


class Rig:
    """A recorder on the real microphone, with real speech in it."""

    def __init__(self, speech: Path, folder: Path) -> None:
        self.speech = speech
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


def keyring(rig: Rig) -> dict[str, object]:
    profile = Profile("p-1", "Rig", "service", "http://127.0.0.1:1", "a")
    try:
        key = library_key(KeyringVault(), profile, Path("nowhere"))
        return {"kept": library_key(KeyringVault(), profile, Path("nowhere")) == key}
    except VaultError as error:
        return {"error": type(error).__name__, "sentence": str(error)}


def locked_keyring(rig: Rig) -> dict[str, object]:
    vault = KeyringVault()
    vault.set("profile/p-1/api-key", "secret")
    subprocess.run(["keyring-ctl", "lock"], check=True)
    answers = [subprocess.Popen(["keyring-ctl", "dismiss"])]
    try:
        vault.get("profile/p-1/api-key")
    except VaultError as error:
        found: dict[str, object] = {"error": type(error).__name__}
    answers.append(subprocess.Popen(["keyring-ctl", "answer"]))
    found |= {"after": vault.get("profile/p-1/api-key")}
    for answer in answers:
        answer.wait()
    return found


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (records, unplug_last, taken_over, plugged_later, hangs, gone, keyring, locked_keyring)
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
