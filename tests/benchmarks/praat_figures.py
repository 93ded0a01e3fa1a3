"""Voice features compared with Praat on running speech, and with the known truth of synthetic voices.

Needs the extra `bench` (Praat through parselmouth). Praat is the reference on real speech, where the truth is unknown,
and a peer on synthetic voices.
"""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import numpy as np
import soundfile as sf

sys.path.append(str(Path(__file__).parents[1] / "voice"))

from compare_with_praat import Agreement, compare, own_values
from figures import AUDIO, Row, judged, show, skipped
from synthetic_voice import make_speech, make_vowel

from vbdesk.voice.f0 import F0Track, track_f0
from vbdesk.voice.features import extract_features
from vbdesk.voice.formants import CEILING, measure_formants
from vbdesk.voice.harmonicity import measure_harmonicity
from vbdesk.voice.perturbation import measure_perturbation
from vbdesk.voice.pulses import find_pulses
from vbdesk.voice.recording import ANALYSIS_RATE, Samples

try:
    import parselmouth
    from compare_with_praat import reference_values
    from parselmouth.praat import call
except ModuleNotFoundError:
    parselmouth = None

SPEECH, MADE = "Against Praat, running speech", "Against the truth, made voices"
NO_PRAAT = "Praat is not here: pip install vbdesk[bench]"
EXCERPT_S = 15
PITCHES, VOWEL_NAMES = (110, 210), ("a", "i")
FLOOR = 75.0  # Hz, of Praat's usual harmonicity


def rows() -> Iterator[Row]:
    """Every figure of agreement and of truth."""
    yield from speech_rows()
    yield from truth_rows()
    yield from contour_rows()


def speech_rows() -> Iterator[Row]:
    """Agreement with Praat on real recordings."""
    recordings = sorted(AUDIO.glob("longitudinal/*/*.flac"))
    recordings += sorted(AUDIO.glob("clinical/emotion/emodb*.flac")) + sorted(AUDIO.glob("timing/librispeech*.flac"))
    if parselmouth is None or not recordings:
        yield skipped(SPEECH, "all features", "", NO_PRAAT if recordings else "the shared recordings are not here")
        return
    with tempfile.TemporaryDirectory() as folder:
        excerpts = [excerpt(path, Path(folder)) for path in recordings]
        ours = {path.name: own_values(path) for path in excerpts}
        reference = {path.name: reference_values(path) for path in excerpts}
        formants = np.median(np.concatenate([formant_differences(path) for path in excerpts]), axis=0)
    table = compare(ours, reference)
    pitch = np.array([abs(ours[name]["pitch_mean"] / reference[name]["pitch_mean"] - 1) for name in ours])
    n = f"{len(ours)} recordings of {EXCERPT_S} s"
    yield judged(
        SPEECH,
        f"F0 of a recording ({n})",
        "median within 1 %",
        f"median {100 * np.median(pitch):.3f} %, furthest {100 * pitch.max():.2f} %",
        bool(np.median(pitch) <= 0.01),
    )
    yield agreement_row(table, "voice_jitter", "jitter (local)", "points", 0.90, 0.17)
    yield agreement_row(table, "voice_shimmer", "shimmer", "dB", 0.95, 0.05)
    yield agreement_row(table, "harmonics_to_noise", "harmonics-to-noise ratio", "dB", 0.88, 1.1)
    yield agreement_row(table, "cepstral_peak_prominence", "cepstral peak prominence (CPPS)", "dB", 0.83, 0.8)
    yield judged(
        SPEECH,
        "formants of a frame, median difference of F1 and F2",
        "10 and 25 Hz",
        f"{formants[0]:.1f} and {formants[1]:.1f} Hz",
        bool(formants[0] <= 10 and formants[1] <= 25),
    )
    within = sum(row.passed for row in table.values())
    worst = max(table.values(), key=lambda row: abs(row.median_sd))
    yield judged(
        SPEECH,
        "features whose difference is small beside that between people: median 0.15 SD, mean 0.35 SD",
        "all 36",
        f"{within} of {len(table)}; largest median {abs(worst.median_sd):.2f} SD ({worst.feature})",
        within == len(table),
    )


def agreement_row(
    table: Mapping[str, Agreement], feature: str, name: str, unit: str, least_r: float, largest: float
) -> Row:
    """A row of correlation and mean absolute difference of one feature."""
    row = table[feature]
    return judged(
        SPEECH,
        name,
        f"r {least_r:.2f}, MAE {largest:g} {unit}",
        f"r {row.correlation:.3f}, MAE {row.mean_absolute:.3f} {unit}, median {row.median:+.3f}",
        row.correlation >= least_r and row.mean_absolute <= largest,
    )


def excerpt(path: Path, folder: Path) -> Path:
    """The first seconds of a recording, as a file of its own."""
    rate = sf.info(path).samplerate
    samples, _ = sf.read(path, dtype="float32", frames=EXCERPT_S * rate)
    written = folder / f"{path.stem}.wav"
    sf.write(written, samples, rate, subtype="FLOAT")
    return written


def formant_differences(path: Path) -> np.ndarray:
    """Absolute differences of F1 and F2 in Hz from Praat's, in the voiced frames: shape (frames, 2)."""
    samples, rate = sf.read(path, dtype="float32")
    assert rate == ANALYSIS_RATE
    samples = samples - samples.mean()
    f0 = track_f0(samples)
    voiced = f0.frequency > 0
    found = measure_formants(samples, f0.times[voiced])
    sound = parselmouth.Sound(samples.astype(np.float64), ANALYSIS_RATE)
    praat = sound.to_formant_burg(0.01, 5, CEILING, 0.025, 50)
    theirs = np.array([[praat.get_value_at_time(number, time) for number in (1, 2)] for time in found.times])
    difference = np.abs(found.values[:, :2] - theirs)
    return difference[np.isfinite(difference).all(axis=1)]


def truth_rows() -> Iterator[Row]:
    """Errors on vowels of known F0, jitter, shimmer and noise, and Praat's on the same."""
    cases = list(product(PITCHES, VOWEL_NAMES))
    f0 = np.array([f0_errors(pitch, vowel) for pitch, vowel in cases])
    yield truth_row(f"F0 of {len(f0)} vowels", "%", 0.5, f0)
    jitter = [jitter_errors(*case, amount) for case in cases for amount in (0.0, 0.002, 0.005, 0.01, 0.015)]
    yield truth_row(f"jitter of {len(jitter)} vowels, 0 to 1.7 %", "points", 0.08, np.array(jitter))
    shimmer = [shimmer_errors(*case, amount) for case in cases for amount in (0.0, 0.03, 0.06)]
    yield truth_row(f"shimmer of {len(shimmer)} vowels, 0 to 0.6 dB", "dB", 0.12, np.array(shimmer))
    noise = [noise_errors(*case, hnr) for case in cases for hnr in (5, 10, 15, 20, 30)]
    usual, own_range = np.array(noise).transpose(1, 0, 2)
    yield truth_row(
        f"harmonics-to-noise ratio of {len(noise)} vowels, 5 to 30 dB, in windows for 75 Hz (Praat's usual)",
        "dB",
        0.8,
        usual,
    )
    yield truth_row("the same, in the windows of the feature (0.75 of the lower quartile of F0)", "dB", 0.8, own_range)


def truth_row(what: str, unit: str, bar: float, errors: np.ndarray) -> Row:
    """A row of mean absolute errors; `errors` has the columns ours and Praat's (NaN without Praat)."""
    ours, praat = np.abs(errors).mean(axis=0)
    peer = "" if np.isnan(praat) else f"Praat {praat:.3f} {unit}"
    return judged(MADE, what, f"MAE {bar:g} {unit}", f"MAE {ours:.3f} {unit}", bool(ours <= bar), peer)


def f0_errors(pitch: int, vowel: str) -> tuple[float, float]:
    samples = make_vowel(pitch, vowel).samples
    track = track_f0(samples)
    found = float(np.median(track.frequency[track.frequency > 0]))
    theirs = np.nan
    if parselmouth is not None:
        frequency = praat_pitch(samples, track).selected_array["frequency"]
        theirs = float(np.median(frequency[frequency > 0]))
    return 100 * (found / pitch - 1), 100 * (theirs / pitch - 1)


def jitter_errors(pitch: int, vowel: str, amount: float) -> tuple[float, float]:
    made = make_vowel(pitch, vowel, jitter=amount, seed=int(pitch + 1000 * amount))
    track = track_f0(made.samples)
    parts = measure_perturbation(made.samples, find_pulses(made.samples, track))
    found = 100 * parts.period_steps.values.mean() / parts.periods.values.mean()
    theirs = np.nan
    if parselmouth is not None:
        _, pulses = praat_pulses(made.samples, track)
        theirs = 100 * call(pulses, "Get jitter (local)", 0, 0, 0.0001, 0.02, 1.3)
    return found - made.jitter_percent, theirs - made.jitter_percent


def shimmer_errors(pitch: int, vowel: str, amount: float) -> tuple[float, float]:
    made = make_vowel(pitch, vowel, shimmer=amount, seed=int(pitch + 1000 * amount))
    track = track_f0(made.samples)
    parts = measure_perturbation(made.samples, find_pulses(made.samples, track))
    found = parts.amplitude_steps.values[:, 1].mean()
    theirs = np.nan
    if parselmouth is not None:
        theirs = call(praat_pulses(made.samples, track), "Get shimmer (local_dB)", 0, 0, 0.0001, 0.02, 1.3, 1.6)
    return found - made.shimmer_db, theirs - made.shimmer_db


def noise_errors(pitch: int, vowel: str, hnr_db: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Errors of ours and Praat's: with the usual lowest F0, and as the feature is measured."""
    samples = make_vowel(pitch, vowel, hnr_db=hnr_db, seed=hnr_db).samples
    moments = np.arange(0.5, 2.5, 0.01)
    usual = np.nanmean(measure_harmonicity(samples, moments, FLOOR, f0=np.full(moments.size, float(pitch))))
    feature = extract_features(samples)["harmonics_to_noise"].value
    theirs = theirs_in_range = np.nan
    if parselmouth is not None:
        theirs = praat_harmonicity(samples, moments, FLOOR)
        theirs_in_range = praat_harmonicity(samples, moments, track_f0(samples).floor)
    return (usual - hnr_db, theirs - hnr_db), (feature - hnr_db, theirs_in_range - hnr_db)


def contour_rows() -> Iterator[Row]:
    """F0 contours and voicing of synthetic speech, clean and in noise."""
    for name, snr_db in (("clean", None), ("in white noise of 10 dB", 10)):
        ours, praat = [], []
        for (lowest, highest), seed in product(((80, 160), (140, 300)), range(3)):
            made = make_speech(lowest=lowest, highest=highest, seed=seed)
            samples = in_noise(made.samples, snr_db)
            track = track_f0(samples)
            truth = made.f0_at(track.times)
            ours.append(contour_errors(track.frequency, truth))
            if parselmouth is not None:
                pitch = praat_pitch(samples, track)
                found = np.nan_to_num([pitch.get_value_at_time(time) for time in track.times])
                praat.append(contour_errors(found, truth))
        gross, voicing = np.mean(ours, axis=0)
        peer = "Praat {:.2f} %, {:.1f} %".format(*np.mean(praat, axis=0)) if praat else ""
        yield judged(
            MADE,
            f"F0 contour, {name}: frames more than 20 % off (GPE), voicing wrong (VDE); {len(ours)} x 20 s",
            "GPE 1 %, VDE 6.5 %",
            f"GPE {gross:.2f} %, VDE {voicing:.1f} %",
            bool(gross <= 1 and voicing <= 6.5),
            peer,
        )
    yield skipped(
        SPEECH, "F0 against a laryngograph", "GPE 1 %, VDE 6.5 %", "no recordings with a laryngograph are here"
    )


def contour_errors(found: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Gross errors among frames voiced in both, and wrong voicing, in percent."""
    both = (found > 0) & (truth > 0)
    gross = np.mean(np.abs(found[both] / truth[both] - 1) > 0.2)
    return 100 * float(gross), 100 * float(np.mean((found > 0) != (truth > 0)))


def in_noise(samples: Samples, snr_db: float | None) -> Samples:
    if snr_db is None:
        return samples
    active = samples[np.abs(samples) > 0.01]
    noise = np.random.default_rng(5).standard_normal(samples.size)
    return (samples + noise * np.sqrt(np.mean(active**2)) / 10 ** (snr_db / 20)).astype(np.float32)


def praat_pitch(samples: Samples, track: F0Track) -> "parselmouth.Pitch":
    """Praat's pitch in the range that the first pass found."""
    sound = parselmouth.Sound(samples.astype(np.float64), ANALYSIS_RATE)
    return sound.to_pitch_ac(time_step=0.01, pitch_floor=track.floor, pitch_ceiling=track.ceiling)


def praat_pulses(samples: Samples, track: F0Track) -> list["parselmouth.Data"]:
    sound = parselmouth.Sound(samples.astype(np.float64), ANALYSIS_RATE)
    return [sound, call([sound, praat_pitch(samples, track)], "To PointProcess (cc)")]


def praat_harmonicity(samples: Samples, moments: np.ndarray, floor: float) -> float:
    sound = parselmouth.Sound(samples.astype(np.float64), ANALYSIS_RATE)
    harmonicity = sound.to_harmonicity_cc(0.01, floor, 0.03, 1.0)
    values = np.array([harmonicity.get_value(moment) for moment in moments])
    return float(np.mean(values[values > -100]))


if __name__ == "__main__":
    show(rows())
