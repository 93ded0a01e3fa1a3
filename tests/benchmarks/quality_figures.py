"""Accuracy of the recording quality: clarity, speech activity, issue codes and damaged files, with known truth.

Clarity: readers are mixed with noises at known ratios. The truth is the energy of the reader over that of the noise,
both above 80 Hz, over the whole mixture. Its three numbers were fitted on every second reader with street, pink and
fridge noise; the benchmark uses the other readers with cafe, white and babble noise. With both halves exchanged: r
.976, MAE 1.66 dB, correct side of 50 in 96.6 %.

Speech activity: word alignments, with pauses under 0.1 s filled. Issue codes: the thresholds of `reverberation` were
set in another kind of simulated room, that of `multiple_speakers` on other pairs of these readers.
"""

import sys
import tempfile
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from figures import AUDIO, Row, judged, reported, show, skipped
from numpy.typing import NDArray
from scipy.signal import butter, fftconvolve, resample_poly, sosfilt
from simulated_rooms import room_response

from vbdesk.voice.activity import SpeechActivity, detect_speech
from vbdesk.voice.clarity import combine_estimates, estimate_ratios, measure_clarity
from vbdesk.voice.decode import decode, from_samples
from vbdesk.voice.errors import AudioError
from vbdesk.voice.level import active_rms
from vbdesk.voice.quality import assess_quality
from vbdesk.voice.quality_rules import quality_rules
from vbdesk.voice.recording import ANALYSIS_RATE
from vbdesk.voice.reverberation import is_reverberant
from vbdesk.voice.speakers import voice_similarity
from vbdesk.voice.sustained import find_sustained_vowels

sys.path.append(str(Path(__file__).parents[1] / "voice"))
from test_voice_damaged_files import FILES_PER_FORMAT, broken_files, sound_in

CLARITY, ACTIVITY, ISSUES, FILES = "Clarity", "Speech activity", "Issue codes", "Broken files"
SNRS_DB = (-5, 0, 5, 10, 15, 20, 30)
MIX_S = 20
ROOMS = ((0.3, 1.0), (0.6, 1.0), (0.6, 2.0), (1.0, 1.0), (1.0, 2.0))  # reverberation time in s, distance in m
Signal = NDArray[np.float64]


def rows() -> Iterator[Row]:
    """Every figure of quality."""
    if not AUDIO.is_dir():
        yield skipped(CLARITY, "all figures of quality", "", "the shared recordings are not here")
    else:
        yield from clarity_rows()
        yield from activity_rows()
        yield from issue_rows()
    yield from file_rows()


def load(path: Path) -> Signal:
    return decode(path, check_duration=False).samples.astype(np.float64)


def readers() -> list[Path]:
    """One recording of each reader."""
    folders = sorted((AUDIO / "longitudinal").iterdir())
    paths = [
        *(sorted(folder.glob("*.flac"))[0] for folder in folders),
        *sorted((AUDIO / "timing").glob("librispeech_*.flac")),
        AUDIO / "long" / "dctts_M_LJ001_56s.flac",
        AUDIO / "noise" / "ladder" / "LS1320M_clean.flac",
    ]
    return sorted(paths, key=lambda path: path.stem)


def held_out_noises() -> dict[str, Signal]:
    white = np.random.default_rng(3).standard_normal(MIX_S * ANALYSIS_RATE)
    babble = np.zeros(len(white))
    for path in sorted((AUDIO / "longitudinal").glob("librispeech*/*_s2_*.flac")):
        voice = load(path)
        babble += np.resize(voice / active_rms(voice.astype(np.float32)), len(babble))
    return {"cafe": load(AUDIO / "noise" / "clips" / "cafe_10s_stereo.flac"), "white": white, "babble": babble}


def dishes(seed: int = 5) -> Signal:
    """Made noise of dishes: decaying partials of 1.2 to 6.5 kHz, three strokes a second, over a soft hiss."""
    random = np.random.default_rng(seed)
    sound = 1e-2 * random.standard_normal(MIX_S * ANALYSIS_RATE)
    time = np.arange(int(0.4 * ANALYSIS_RATE)) / ANALYSIS_RATE
    begin = int(random.exponential(0.35) * ANALYSIS_RATE)
    while begin < sound.size:
        stroke = sum(
            random.uniform(0.3, 1)
            * np.exp(-time / random.uniform(0.01, 0.08))
            * np.sin(2 * np.pi * random.uniform(1200, 6500) * time + random.uniform(0, 6))
            for _ in range(6)
        )
        end = min(begin + time.size, sound.size)
        sound[begin:end] += (stroke * 10 ** random.uniform(-1, 0))[: end - begin]
        begin += int(random.exponential(0.35) * ANALYSIS_RATE) + 1
    return sound


def pink(seed: int = 4) -> Signal:
    """Noise whose power falls by 3 dB per octave from 20 Hz on."""
    count = MIX_S * ANALYSIS_RATE
    spectrum = np.fft.rfft(np.random.default_rng(seed).standard_normal(count))
    spectrum /= np.sqrt(np.maximum(np.fft.rfftfreq(count, 1 / ANALYSIS_RATE), 20))
    return np.fft.irfft(spectrum, count)


def mixtures(reader: Signal, noise: Signal) -> Iterator[tuple[float, Signal]]:
    """True ratio in dB, and the mixture, for every step of the ladder."""
    high_pass = butter(2, 80, "highpass", fs=ANALYSIS_RATE, output="sos")
    noise = sosfilt(high_pass, np.resize(noise, len(reader)))
    level = active_rms(reader.astype(np.float32)) / np.sqrt(np.mean(noise**2))
    voice_energy = np.mean(sosfilt(high_pass, reader) ** 2)
    for snr_db in SNRS_DB:
        scaled = noise * level / 10 ** (snr_db / 20)
        yield float(10 * np.log10(voice_energy / np.mean(scaled**2))), reader + scaled


def clarity_rows() -> Iterator[Row]:
    rules = quality_rules().clarity
    clean = []
    for path in readers():
        recording = from_samples(load(path)[: MIX_S * ANALYSIS_RATE], ANALYSIS_RATE)
        clean.append(measure_clarity(recording.samples, detect_speech(recording), rules) or 0.0)
    yield judged(
        CLARITY, f"lowest of {len(clean)} clean recordings", "at least 50", f"{min(clean):.0f}", min(clean) >= 50
    )
    pairs: list[tuple[float, float]] = []
    ladders = falling = 0
    for path in readers()[1::2]:
        reader = load(path)[: MIX_S * ANALYSIS_RATE]
        for noise in held_out_noises().values():
            estimates = []
            for truth, mixture in mixtures(reader, noise):
                recording = from_samples(mixture, ANALYSIS_RATE)
                estimate = combine_estimates(estimate_ratios(recording.samples, detect_speech(recording), rules), rules)
                if estimate is not None:
                    pairs.append((truth, estimate))
                    estimates.append(estimate)
            ladders += 1
            falling += any(later <= earlier for earlier, later in pairwise(estimates))
    truth, estimate = np.array(pairs).T
    r = np.corrcoef(truth, estimate)[0, 1]
    error = np.abs(estimate - truth).mean()
    side = 100 * np.mean((truth > 10) == (estimate > 10))
    n = f"{len(pairs)} mixtures, readers and noises not fitted on"
    yield judged(CLARITY, f"correlation with the true ratio ({n})", "at least .97", f"{r:.3f}", r >= 0.97)
    yield judged(CLARITY, "mean absolute error", "at most 1.7 dB", f"{error:.2f} dB", error <= 1.7)
    yield judged(CLARITY, "right side of 50", "at least 97 %", f"{side:.1f} %", side >= 97)
    yield judged(CLARITY, "ladders that do not rise at every step", "0", f"{falling} of {ladders}", falling == 0)
    yield from noise_rows()


def noise_rows() -> Iterator[Row]:
    """Errors by kind of noise, at true ratios of about 0 to 20 dB."""
    rules = quality_rules().clarity
    noises = {**held_out_noises(), "dishes": dishes(), "pink": pink()}
    for name, limit_db in (("dishes", 4), ("pink", 4), ("cafe", 4), ("babble", 6)):
        errors = []
        for path in readers()[1::2]:
            for truth, mixture in mixtures(load(path)[: MIX_S * ANALYSIS_RATE], noises[name]):
                recording = from_samples(mixture, ANALYSIS_RATE)
                estimate = combine_estimates(estimate_ratios(recording.samples, detect_speech(recording), rules), rules)
                if estimate is not None and -3 < truth < 22:
                    errors.append(estimate - truth)
        furthest = max(errors, key=abs)
        yield judged(
            CLARITY,
            f"error in {name}, {len(errors)} mixtures of 0 to 20 dB, other readers than those of the limit",
            f"within {limit_db} dB",
            f"furthest {furthest:+.1f} dB, mean {np.mean(errors):+.1f} dB",
            abs(furthest) <= limit_db,
        )


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


def activity_rows() -> Iterator[Row]:
    cafe = load(AUDIO / "noise" / "clips" / "cafe_10s_stereo.flac")
    paths = sorted((AUDIO / "timing").glob("librispeech_*.flac"))
    for snr_db in (30, 20, 10, 5):
        errors = []
        for path in paths:
            voice = load(path)
            noise = np.resize(cafe, len(voice))
            level = active_rms(voice.astype(np.float32)) / np.sqrt(np.mean(noise**2))
            noisy = voice + noise * level / 10 ** (snr_db / 20)
            errors.append(frame_error(noisy, word_spans(path.with_suffix(".TextGrid"))))
        error = 100 * float(np.mean(errors))
        what = f"frames that differ from the words, cafe noise at {snr_db} dB"
        yield judged(ACTIVITY, what, "at most 11 %", f"{error:.1f} %", error <= 11)
    path = AUDIO / "diarization" / "pyannote_sample_2spk_30s.flac"
    turns = [line.split() for line in path.with_suffix(".rttm").read_text(encoding="utf-8").splitlines()]
    error = 100 * frame_error(load(path), [(float(t[3]), float(t[3]) + float(t[4])) for t in turns])
    yield judged(ACTIVITY, "the same, clean telephone dialogue", "at most 2.5 %", f"{error:.1f} %", error <= 2.5)
    vowels = [path for path in sorted((AUDIO / "clinical" / "vowels").glob("*_[aiA]*")) if path.suffix != ".csv"]
    shares = [detect_speech(decode(path, check_duration=False)).voice_percentage for path in vowels]
    yield reported(
        ACTIVITY,
        f"voice in {len(shares)} held vowels, mean and least",
        f"{np.mean(shares):.0f} and {min(shares):.0f} %",
    )
    clips = sorted((AUDIO / "noise" / "clips").glob("*.flac"))
    heard = sum(bool(find_sustained_vowels(decode(path, check_duration=False).samples)) for path in clips)
    yield reported(ACTIVITY, "noises in which a held vowel is heard", f"{heard} of {len(clips)}")


def frame_error(samples: Signal, spans: list[tuple[float, float]]) -> float:
    times_s = np.arange(0.005, len(samples) / ANALYSIS_RATE, 0.01)
    found = detect_speech(from_samples(samples, ANALYSIS_RATE)).covers(times_s)
    truth = np.any([(times_s >= begin) & (times_s < end) for begin, end in spans], axis=0)
    return float(np.mean(found != truth))


def issue_rows() -> Iterator[Row]:
    limits = quality_rules().issues
    voices = [load(path)[: MIX_S * ANALYSIS_RATE] for path in readers()]
    voices = [0.05 * voice / voice.std() for voice in voices]
    activities = [detect_speech(from_samples(voice, ANALYSIS_RATE)) for voice in voices]
    alarms = [issue for voice, activity in zip(voices, activities, strict=True) for issue in issues(voice, activity)]
    yield judged(ISSUES, f"issues found in {len(voices)} clean readings", "0", str(len(alarms)), not alarms)
    for code, spoil in (("clipping", clip), ("narrow_bandwidth", narrow), ("dropouts", drop), ("low_level", soften)):
        found = sum(
            code in issues(spoil(voice), activity)
            for voice, activity in list(zip(voices, activities, strict=True))[::3]
        )
        yield reported(ISSUES, f"{code}, made in every third reading", f"{found} of {len(voices[::3])}")
    for rt60_s, distance_m in ROOMS:
        found = 0
        for number, voice in enumerate(voices[1::2]):
            heard = fftconvolve(voice, room_response(rt60_s, distance_m, number))[: len(voice)]
            recording = from_samples(heard, ANALYSIS_RATE)
            found += is_reverberant(recording.samples, detect_speech(recording), limits.reverberation)
        what = f"reverberation, {rt60_s:.1f} s at {distance_m:.0f} m"
        yield reported(ISSUES, what, f"{found} of {len(voices[1::2])}")
    for share in (0.5, 0.2):
        pairs = list(combinations(range(len(voices)), 2))[::4]
        found = sum(
            likeness(in_turns(voices[a], voices[b], share)) < limits.multiple_speakers.likeness_below for a, b in pairs
        )
        what = f"multiple_speakers, the second of two talks {100 * share:.0f} % of the time"
        yield reported(ISSUES, what, f"{found} of {len(pairs)} pairs of readers")
    real = sorted(path for path in (AUDIO / "diarization").glob("*.flac") if not path.stem.startswith("sim_"))
    found = sum(likeness(load(path)) < limits.multiple_speakers.likeness_below for path in real)
    yield reported(ISSUES, "multiple_speakers, real meetings and telephone calls", f"{found} of {len(real)}")


def issues(samples: Signal, activity: SpeechActivity) -> list[str]:
    return assess_quality(from_samples(samples, ANALYSIS_RATE), activity).issues


def likeness(samples: Signal) -> float:
    recording = from_samples(samples, ANALYSIS_RATE)
    return voice_similarity(recording, detect_speech(recording))


def clip(voice: Signal) -> Signal:
    return np.clip(8 * voice, -1, 1)


def narrow(voice: Signal) -> Signal:
    return resample_poly(resample_poly(voice, 1, 2), 2, 1)


def soften(voice: Signal) -> Signal:
    return 0.03 * voice


def drop(voice: Signal) -> Signal:
    """Blocks of 20 ms lost, one every two seconds."""
    lossy = voice.copy()
    for begin in range(ANALYSIS_RATE, len(voice), 2 * ANALYSIS_RATE):
        loud = begin + int(np.abs(voice[begin : begin + ANALYSIS_RATE]).argmax())
        lossy[loud - 160 : loud + 160] = 0
    return lossy


def in_turns(first: Signal, second: Signal, share: float) -> Signal:
    """Both voices in turns of about 4 s, `share` of them the second's."""
    total = len(first)
    count = max(1, round(total * share / (4 * ANALYSIS_RATE)))
    own = np.array_split(first[: round(total * (1 - share))], count)
    other = np.array_split(second[: round(total * share)], count)
    return np.concatenate([part for turn in zip(own, other, strict=True) for part in turn])


def file_rows() -> Iterator[Row]:
    handled = count = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "take"
        for name in ("wav", "flac", "mp3", "m4a"):
            for content in broken_files(sound_in(name), np.random.default_rng(len(name))):
                path.write_bytes(content)
                count += 1
                try:
                    decode(path, check_duration=False)
                except AudioError as error:
                    handled += str(error).endswith(error.advice)
                except Exception as error:
                    sys.stderr.write(f"{name}: {error!r}\n")
                else:
                    handled += 1
    what = f"{FILES_PER_FORMAT} damaged files of each format, decoded or refused with a sentence"
    yield judged(FILES, what, f"all {count}", str(handled), handled == count)


if __name__ == "__main__":
    show(rows())
