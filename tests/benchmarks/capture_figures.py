"""Figures of recording: cost of a block, the live count of speech, overviews, the check, hints and their false alarms.

Recording bit for bit on the virtual microphone: `tests/soak/long_recording.py`. Times are the best of several, since
the machine may be busy; the processor's time stands beside them.
"""

import importlib.util
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import figures
import numpy as np
import soundfile as sf
import soxr
import speaker_background
from figures import AUDIO, DATA, Row, judged, reported, skipped

from vbdesk.capture.encrypted_take import Frames, TakeAudio, read_take
from vbdesk.capture.enhancement import Enhancement, frame_levels, judge_enhancement
from vbdesk.capture.meter import LevelMeter, LiveEnvelope, overview
from vbdesk.capture.microphone import BLOCK_FRAMES, SAMPLE_RATE, Block, FileMicrophone
from vbdesk.capture.recorder import Recorder
from vbdesk.capture.speech_meter import SpeechCounter
from vbdesk.outbox.imports.speaker_comparison import guard_rules, similarity
from vbdesk.outbox.imports.take_check import check_take
from vbdesk.voice.activity import detect_speech
from vbdesk.voice.decode import from_samples

TOPIC = "Recording"
SPEECH = DATA / "speech_kathleen_20s.flac"


def rows() -> Iterator[Row]:
    """Every figure, in the order of a recording."""
    voice = speech_48k()
    yield from block_costs(voice)
    yield from live_speech(voice)
    yield from twenty_minutes(voice)
    yield from checks(voice)
    yield from enhancement_hints()
    yield from speaker_guard()


def speech_48k() -> Frames:
    """Twenty seconds of speech as a microphone gives it."""
    samples, rate = sf.read(SPEECH, dtype="float32")
    return (np.clip(soxr.resample(samples, rate, SAMPLE_RATE), -1, 1) * 32767).astype(np.int16)


def blocks_of(voice: Frames) -> list[Frames]:
    """The same in blocks of 20 ms."""
    return [voice[start : start + BLOCK_FRAMES] for start in range(0, len(voice) - BLOCK_FRAMES, BLOCK_FRAMES)]


def block_costs(voice: Frames) -> Iterator[Row]:
    """What the sound system's thread does, and the recorder's."""
    with tempfile.TemporaryDirectory() as folder:
        microphone = FileMicrophone(voice)
        recorder = Recorder(microphone, Path(folder), lambda: bytes(32), speech_meter=None)
        recorder.start(None)
        sink = microphone._session.sink  # the callback's one call
        data = voice[:BLOCK_FRAMES].reshape(-1, 1)
        costs_ms = []
        for _ in range(2000):
            begun = time.perf_counter()
            sink(Block(data[:, 0].copy(), False))
            costs_ms.append(1e3 * (time.perf_counter() - begun))
        recorder.close()
    middle, late = np.percentile(costs_ms, 50), np.percentile(costs_ms, 99)
    yield judged(
        TOPIC,
        "callback work for a block of 20 ms, median (99 %)",
        "< 0.1 ms",
        f"{middle:.4f} ({late:.4f}) ms",
        late < 0.1,
    )
    meter, envelope = LevelMeter(SAMPLE_RATE), LiveEnvelope(SAMPLE_RATE)
    begun = time.process_time()
    for block in blocks_of(voice):
        meter.feed(block)
        envelope.feed(block)
    share = 100 * (time.process_time() - begun) / (len(voice) / SAMPLE_RATE)
    yield judged(TOPIC, "meter and live waveform, share of a core", "< 10 %", f"{share:.2f} %", share < 10)


def live_speech(voice: Frames) -> Iterator[Row]:
    """The count while recording against that of the check."""
    counter = SpeechCounter(SAMPLE_RATE)
    begun = time.process_time()
    for block in blocks_of(voice):
        counter.feed(block)
    share = 100 * (time.process_time() - begun) / (len(voice) / SAMPLE_RATE)
    yield judged(TOPIC, "live speech activity, share of a core", "< 10 %", f"{share:.2f} %", share < 10)
    what = "live count of speech against the check's, worst of the longitudinal recordings"
    paths = sorted((AUDIO / "longitudinal").glob("*/*.flac"))[::3]
    if not paths:
        yield skipped(TOPIC, what, "", "no ../shared/audio here")
        return
    worst = 0.0
    for path in paths:
        samples, rate = sf.read(path, dtype="int16", stop=30 * 16_000)
        counter = SpeechCounter(rate)
        for start in range(0, len(samples), rate // 50):
            counter.feed(samples[start : start + rate // 50])
        checked = detect_speech(from_samples(samples / np.float32(32768), rate)).speech_s
        worst = max(worst, abs(counter.so_far().speech_s - checked))
    yield reported(TOPIC, what, f"{worst:.1f} s of up to 30 s, {len(paths)} recordings")


def twenty_minutes(voice: Frames) -> Iterator[Row]:
    """The longest take: overview, and from disk."""
    long = np.tile(voice, 60)[: 1200 * SAMPLE_RATE]
    wall_ms = 1e3 * best_of(5, lambda: overview(long, 2000))
    yield judged(
        TOPIC, "waveform overview of 20 min at 48 kHz, in memory", "< 100 ms", f"{wall_ms:.0f} ms", wall_ms < 100
    )
    with tempfile.TemporaryDirectory() as folder:
        microphone = FileMicrophone(long)
        recorder = Recorder(microphone, Path(folder), lambda: bytes(32), speech_meter=None)
        recorder.start(None)
        begun = time.process_time()
        microphone.play(1199)
        take = recorder.stop()
        recorder.close()
        spent_s = time.process_time() - begun
        same = np.array_equal(read_take(take.path, bytes(32)).samples, long[: len(long) - SAMPLE_RATE])
        wall_s = best_of(2, lambda: read_take(take.path, bytes(32)))
    yield judged(
        TOPIC, "20 min through the twin to the disk and back", "bit for bit", "bit for bit" if same else "not", same
    )
    yield reported(TOPIC, "recording and sealing, share of a core", f"{100 * spent_s / 1199:.2f} %")
    yield reported(TOPIC, "opening a sealed take of 20 min", f"{wall_s:.2f} s")


def checks(voice: Frames) -> Iterator[Row]:
    """The check on the spot."""
    check_take(TakeAudio(voice, SAMPLE_RATE, True, {}, ()))  # loads the weights
    for seconds, bar_s, times in ((60, 1.0, 5), (1200, 10.0, 2)):
        audio = TakeAudio(np.tile(voice, 60)[: seconds * SAMPLE_RATE], SAMPLE_RATE, True, {}, ())
        begun = time.process_time()
        wall_s = best_of(times, lambda audio=audio: check_take(audio))
        spent_s = (time.process_time() - begun) / times
        measured = f"{wall_s:.2f} s, {spent_s:.2f} s of processor"
        yield judged(TOPIC, f"check of a take of {seconds} s", f"< {bar_s:.0f} s", measured, wall_s < bar_s)


def enhancement_hints() -> Iterator[Row]:
    """Hints at automatic gain and noise suppression: hits on made sound, false alarms on plain recordings."""
    names = ("longitudinal/*/*.flac", "long/*.flac", "timing/*.flac", "diarization/*.flac", "noise/ladder/*.flac")
    paths = sorted(path for name in (*names, "clinical/emotion/*.flac") for path in AUDIO.glob(name))
    if not paths:
        yield skipped(TOPIC, "hints at improved sound", "", "no ../shared/audio here")
        return
    alarmed = [path.stem for path in paths if hint(*mono(path, 60)) is not Enhancement.NONE]
    told = f"{len(alarmed)} of {len(paths)} ({', '.join(alarmed)})"
    yield reported(TOPIC, "hint on recordings as published (some were gated by their makers)", told)
    made = processed()
    voices = [mono(path, 30) for path in paths if "longitudinal" in str(path)][::3]
    ways: dict[str, tuple[Enhancement, Callable[..., np.ndarray]]] = {
        "plain speech in a room": (Enhancement.NONE, lambda room, rate: room),
        "automatic gain, release 1 s": (Enhancement.GAIN, lambda room, rate: made.automatic_gain(room, rate, 1.0)),
        "automatic gain, release 2 s": (Enhancement.GAIN, lambda room, rate: made.automatic_gain(room, rate, 2.0)),
        "gate of 20 dB": (Enhancement.GATE, lambda room, rate: made.noise_gate(room, rate, 20)),
        "gate of 40 dB": (Enhancement.GATE, lambda room, rate: made.noise_gate(room, rate, 40)),
    }
    for name, (expected, way) in ways.items():
        right = []
        for noise_dbfs in (-60, -50, -42):
            rooms = [
                (made.with_room(v / np.percentile(np.abs(v), 99) * 0.3, rate, noise_dbfs), rate) for v, rate in voices
            ]
            right.append(sum(hint(way(room, rate), rate) is expected for room, rate in rooms))
        told = ", ".join(f"{count}/{len(voices)}" for count in right)
        yield reported(TOPIC, f"{name}: judged {expected}, noise at -60, -50, -42 dBFS", told)


def speaker_guard() -> Iterator[Row]:
    """Warnings of another voice, by pairs of recordings; what voices share is learnt without the two at hand."""
    if not (AUDIO / "manifest.csv").exists():
        yield skipped(TOPIC, "speaker guard", "", "no ../shared/audio here")
        return
    known = speaker_background.voices()
    common = {pair: speaker_background.background(known, pair) for pair in pairs_of_speakers(known)}
    limit = guard_rules().unlike_below
    counts = {"same": [0, 0], "acted": [0, 0], "other": [0, 0]}
    for (speaker, path, voice), (second, second_path, other) in itertools.combinations(known, 2):
        acted = "emotion" in path and "emotion" in second_path
        kind = "other" if speaker != second else "acted" if acted else "same"
        counts[kind][0] += similarity(voice, other, common[frozenset({speaker, second})]) < limit
        counts[kind][1] += 1
    told = {kind: f"{warned} of {all_pairs} pairs" for kind, (warned, all_pairs) in counts.items()}
    yield reported(TOPIC, "speaker guard: warned of the same speaker in another session", told["same"])
    yield reported(TOPIC, "speaker guard: warned of the same actor in another emotion", told["acted"])
    yield reported(TOPIC, "speaker guard: warned of another speaker", told["other"])


def pairs_of_speakers(known: "speaker_background.Voices") -> set[frozenset[str]]:
    """Every one and two of the speakers."""
    speakers = {speaker for speaker, _, _ in known}
    return {frozenset({one, other}) for one in speakers for other in speakers}


def hint(sound: np.ndarray, rate: int) -> Enhancement:
    """What is hinted at."""
    return judge_enhancement(frame_levels((np.clip(sound, -1, 1) * 32767).astype(np.int16), rate)).enhancement


def mono(path: Path, most_s: int) -> tuple[np.ndarray, int]:
    """The first seconds of a file."""
    samples, rate = sf.read(path, always_2d=True)
    return samples.mean(axis=1)[: most_s * rate], rate


def best_of(times: int, work: Callable[[], object]) -> float:
    """Shortest of several runs, in seconds."""
    spent = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        spent.append(time.perf_counter() - begun)
    return min(spent)


def processed() -> ModuleType:
    """The module that tests of the hints use, too."""
    path = Path(__file__).parents[1] / "capture" / "processed.py"
    spec = importlib.util.spec_from_file_location("processed", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(0 if figures.show(rows()) else 1)
