"""How true the quality of a recording is: clarity, speech activity and speakers against known truth.

    python tests/benchmarks/quality_benchmark.py [../shared/audio]

Clarity: readers mixed with noises at known ratios; the truth is the energy of the reader over that of the noise, both
above 80 Hz, over the whole mixture. Speech activity: word alignments, pauses under 0.1 s bridged. Speakers: RTTM,
0.25 s around every edge left out.
"""

import csv
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.signal import butter, sosfilt

from vbdesk.voice.activity import SpeechActivity, detect_speech
from vbdesk.voice.clarity import join_views, measure_clarity, view
from vbdesk.voice.decode import decode, from_samples
from vbdesk.voice.level import active_rms
from vbdesk.voice.quality import assess
from vbdesk.voice.recording import ANALYSIS_RATE
from vbdesk.voice.speakers import diarize
from vbdesk.voice.thresholds import quality_rules

SNRS_DB = (-5, 0, 5, 10, 15, 20, 30)
MIX_S = 20
Signal = NDArray[np.float64]


def main() -> None:
    """Print every table."""
    default = Path(__file__).parents[3] / "shared" / "audio"
    audio = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    print_clarity(audio)
    print_activity(audio)
    print_speakers(audio)
    print_speed(audio)


def load(path: Path) -> Signal:
    return decode(path, check_duration=False).samples.astype(np.float64)


def readers(audio: Path) -> list[Path]:
    """One recording of each reader."""
    folders = sorted((audio / "longitudinal").iterdir())
    return [
        *(sorted(folder.glob("*.flac"))[0] for folder in folders),
        *sorted((audio / "timing").glob("librispeech_*.flac")),
        audio / "long" / "dctts_M_LJ001_56s.flac",
        audio / "noise" / "ladder" / "LS1320M_clean.flac",
    ]


def noises(audio: Path) -> dict[str, Signal]:
    generator = np.random.default_rng(3)
    white = generator.standard_normal(MIX_S * ANALYSIS_RATE)
    spectrum = np.fft.rfft(generator.standard_normal(len(white)))
    pink = np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 1)), len(white))
    babble = np.zeros(len(white))
    for path in sorted((audio / "longitudinal").glob("librispeech*/*_s2_*.flac")):
        voice = load(path)
        babble += np.resize(voice / active_rms(voice.astype(np.float32)), len(babble))
    clips = audio / "noise" / "clips"
    return {
        "cafe": load(clips / "cafe_10s_stereo.flac"),
        "fridge": load(clips / "fridge_10s_stereo.flac"),
        "street and rooms": load(audio / "noise" / "voicebank_p287_noisy.flac")
        - load(audio / "noise" / "voicebank_p287_clean.flac"),
        "pink": pink,
        "white": white,
        "babble": babble,
    }


def mixtures(reader: Signal, noise: Signal) -> Iterator[tuple[float, Signal]]:
    """True ratio in dB, and the mixture, for every step of the ladder."""
    high_pass = butter(2, 80, "highpass", fs=ANALYSIS_RATE, output="sos")
    noise = sosfilt(high_pass, np.resize(noise, len(reader)))
    level = active_rms(reader.astype(np.float32)) / np.sqrt(np.mean(noise**2))
    voice_energy = np.mean(sosfilt(high_pass, reader) ** 2)
    for snr_db in SNRS_DB:
        scaled = noise * level / 10 ** (snr_db / 20)
        yield float(10 * np.log10(voice_energy / np.mean(scaled**2))), reader + scaled


def print_clarity(audio: Path) -> None:
    rules = quality_rules().clarity
    rows: dict[str, list[tuple[float, float]]] = {}
    ladders = falling = 0
    clean = []
    for path in readers(audio):
        reader = load(path)[: MIX_S * ANALYSIS_RATE]
        recording = from_samples(reader, ANALYSIS_RATE)
        clean.append(measure_clarity(recording.samples, detect_speech(recording), rules) or 0.0)
        for name, noise in noises(audio).items():
            estimates = []
            for truth, mixture in mixtures(reader, noise):
                recording = from_samples(mixture, ANALYSIS_RATE)
                estimate = signal_to_distortion_db(recording.samples, detect_speech(recording), rules)
                if estimate is not None:
                    rows.setdefault(name, []).append((truth, estimate))
                    estimates.append(estimate)
            ladders += 1
            falling += any(later <= earlier for earlier, later in pairwise(estimates))
    print(f"clarity ({len(clean)} readers): r, MAE in dB, right side of 50")
    for name, pairs in [*rows.items(), ("all", [pair for row in rows.values() for pair in row])]:
        truth, estimate = np.array(pairs).T
        side = np.mean((truth > 10) == (estimate > 10))
        r = np.corrcoef(truth, estimate)[0, 1]
        print(f"  {name:18} {r:.3f}  {np.abs(estimate - truth).mean():.2f}  {100 * side:.1f} %  n={len(truth)}")
    print(f"  lowest clean recording {min(clean):.0f}; ladders not monotone {falling} of {ladders}")


def word_spans(text_grid: Path) -> list[tuple[float, float]]:
    """Words of a TextGrid with a tier named "words"."""
    spans: list[tuple[float, float]] = []
    inside = False
    begin = end = 0.0
    for line in text_grid.read_text(encoding="utf-8").splitlines():
        key, _, value = line.strip().partition(" = ")
        if key == "name":
            inside = value.strip('" ') == "words"
        elif inside and key == "xmin":
            begin = float(value)
        elif inside and key == "xmax":
            end = float(value)
        elif inside and key == "text" and value.strip('" '):
            if spans and begin - spans[-1][1] < 0.1:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((begin, end))
    return spans


def print_activity(audio: Path) -> None:
    print("speech activity: share of 10 ms frames that differ from the word alignment")
    cafe = load(audio / "noise" / "clips" / "cafe_10s_stereo.flac")
    paths = sorted((audio / "timing").glob("librispeech_*.flac"))
    for snr_db in (None, 30, 20, 10, 5):
        errors = []
        for path in paths:
            voice = load(path)
            if snr_db is not None:
                noise = np.resize(cafe, len(voice))
                level = active_rms(voice.astype(np.float32)) / np.sqrt(np.mean(noise**2))
                voice = voice + noise * level / 10 ** (snr_db / 20)
            errors.append(frame_error(voice, word_spans(path.with_suffix(".TextGrid"))))
        print(f"  LibriSpeech, cafe {'none' if snr_db is None else f'{snr_db} dB':6} {100 * np.mean(errors):.1f} %")
    folder = audio / "diarization"
    turns = [turn for turns in read_rttm(folder / "pyannote_sample_2spk_30s.rttm").values() for turn in turns]
    error = frame_error(load(folder / "pyannote_sample_2spk_30s.flac"), turns)
    print(f"  telephone dialogue            {100 * error:.1f} %")


def frame_error(samples: Signal, spans: list[tuple[float, float]]) -> float:
    times_s = np.arange(0.005, len(samples) / ANALYSIS_RATE, 0.01)
    found = detect_speech(from_samples(samples, ANALYSIS_RATE)).covers(times_s)
    return float(np.mean(found != covered(spans, times_s)))


def covered(spans: list[tuple[float, float]], times_s: Signal) -> NDArray[np.bool_]:
    inside = np.zeros(len(times_s), bool)
    for begin, end in spans:
        inside |= (times_s >= begin) & (times_s < end)
    return inside


def read_rttm(path: Path) -> dict[str, list[tuple[float, float]]]:
    turns: dict[str, list[tuple[float, float]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        _, _, _, begin, length, _, _, speaker, *_ = line.split()
        turns.setdefault(speaker, []).append((float(begin), float(begin) + float(length)))
    return turns


def print_speakers(audio: Path) -> None:
    print("speakers: true and found, error rate, of which confusion")
    for path in sorted((audio / "diarization").glob("*.flac")):
        recording = decode(path)
        speakers = diarize(recording, detect_speech(recording))
        truth = read_rttm(path.with_suffix(".rttm"))
        times_s = np.arange(0.005, recording.duration_s, 0.01)
        edges = np.array([edge for turns in truth.values() for turn in turns for edge in turn])
        times_s = times_s[np.abs(times_s[:, None] - edges).min(axis=1) > 0.25]
        said = np.stack([covered(turns, times_s) for turns in truth.values()]).astype(int)
        found = np.stack([SpeechActivity(s.segments, 0, 0).covers(times_s) for s in speakers]).astype(int)
        overlap = said @ found.T
        right = overlap[linear_sum_assignment(-overlap)].sum()
        error = np.maximum(said.sum(axis=0), found.sum(axis=0)).sum() - right
        confusion = np.minimum(said.sum(axis=0), found.sum(axis=0)).sum() - right
        rates = 100 * np.array([error, confusion]) / said.sum()
        print(f"  {path.stem:28} {len(truth)} {len(speakers)}  {rates[0]:5.1f} %  {rates[1]:5.1f} %")
    with (audio / "manifest.csv").open(encoding="utf-8") as file:
        monologues = [
            row["path"] for row in csv.DictReader(file) if row["path"].startswith(("longitudinal/", "timing/l"))
        ]
    counts = []
    for name in monologues:
        recording = decode(audio / name, check_duration=False)
        counts.append(len(diarize(recording, detect_speech(recording))))
    print(f"  monologues heard as one: {counts.count(1)} of {len(counts)}")


def print_speed(audio: Path) -> None:
    voice = load(audio / "longitudinal" / "kathleen_F" / "kathleen_retest_A.flac")
    for seconds in (20, 60, 1200):
        recording = from_samples(np.resize(voice, seconds * ANALYSIS_RATE), ANALYSIS_RATE)
        begin = time.perf_counter()
        assess(recording)
        print(f"assess {seconds:5} s: {time.perf_counter() - begin:.2f} s")


if __name__ == "__main__":
    main()
