"""Audio clarity: a signal-to-distortion ratio of the voice, without a clean reference.

Two estimates are combined:
- The recording is compared with its denoised copy; the removed part counts as distortion. The denoiser takes sustained
  vowels for noise, so this estimate uses running speech only.
- The energy of speech is compared with that of the pauses. This estimate corrects the first one within limits. It does
  not share the denoiser's errors, but a noise gate or a pause without noise misleads it. Without running speech it is
  used alone.

The numbers are in resources/quality.toml.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vbdesk.voice.activity import SpeechActivity
from vbdesk.voice.band import high_pass
from vbdesk.voice.denoise import denoise
from vbdesk.voice.level import FRAME, active_rms, frame_energy
from vbdesk.voice.quality_rules import ClarityRules
from vbdesk.voice.recording import ANALYSIS_RATE, Samples

DENOISER_LEVEL = 10 ** (-26 / 20)  # RMS of active frames that the denoiser was trained on
PAUSE_MARGIN_FRAMES = 4  # 80 ms on either side of speech: its onset and its reverberation
MIN_PAUSE_FRAMES = 15  # 0.3 s in total; less is not enough to measure the noise
PAUSE_RATIO_RANGE_DB = (-20.0, 60.0)
FLOOR = 1e-12


@dataclass(frozen=True, slots=True)
class ClarityEstimates:
    """The two estimates in dB; None if not measurable."""

    denoised_db: float | None
    pauses_db: float | None


def measure_clarity(samples: Samples, activity: SpeechActivity, rules: ClarityRules) -> float | None:
    """Measure the clarity of `samples`, shape (n,), 0 to 100; 50 is 10 dB. None with too little speech.

    Gain has no influence: both estimates are ratios, and the denoiser's input is normalised.
    """
    ratio_db = combine_estimates(estimate_ratios(samples, activity, rules), rules)
    if ratio_db is None:
        return None
    return float(np.clip(rules.points_per_db * (ratio_db - rules.zero_db), 0, 100))


def combine_estimates(estimates: ClarityEstimates, rules: ClarityRules) -> float | None:
    """Combine both estimates to one ratio in dB."""
    if estimates.denoised_db is None:
        return estimates.pauses_db
    ratio_db = estimates.denoised_db + rules.denoiser_offset_db
    if estimates.pauses_db is None:
        return ratio_db
    difference_db = np.clip(estimates.pauses_db - ratio_db, -rules.max_difference_db, rules.max_difference_db)
    return ratio_db + rules.pause_weight * float(difference_db)


def estimate_ratios(samples: Samples, activity: SpeechActivity, rules: ClarityRules) -> ClarityEstimates:
    """Compute both estimates for `samples`, shape (n,); None with less speech than `min_speech_s`."""
    if activity.speech_s < rules.min_speech_s:
        return ClarityEstimates(None, None)
    filtered = high_pass(samples, rules.high_pass_hz)
    starts = _window_starts(len(samples), activity, rules)
    denoised_db = None
    if starts:
        length = int(rules.window_s * ANALYSIS_RATE)
        windows = np.stack([_leveled(filtered[start : start + length], length) for start in starts])
        moments = (np.array(starts)[:, None] + np.arange(length)) / ANALYSIS_RATE
        counts = ~activity.is_sustained_at(moments)
        denoised_db = float(np.median(_si_sdr_db(reference=denoise(windows) * counts, estimate=windows * counts)))
    return ClarityEstimates(denoised_db, speech_to_pause_db(filtered, activity, rules.pause_peak_db))


def speech_to_pause_db(samples: Samples, activity: SpeechActivity, peak_db: float) -> float | None:
    """Ratio of voice energy to noise energy in dB; noise is measured in the pauses. None without pauses.

    A frame of a pause counts with at most `peak_db` over their median: a word that the detector missed is no noise.
    """
    energy = frame_energy(samples)
    speech = activity.covers((np.arange(len(energy)) + 0.5) * FRAME / ANALYSIS_RATE)
    near_speech = np.convolve(speech, np.ones(2 * PAUSE_MARGIN_FRAMES + 1), "same") > 0
    pauses = ~near_speech
    if pauses.sum() < MIN_PAUSE_FRAMES or not speech.any():
        return None
    most = np.median(energy[pauses]) * 10 ** (peak_db / 10)
    noise = np.minimum(energy[pauses], most).mean() + FLOOR
    voice = max(energy[speech].mean() - noise, FLOOR) * speech.mean()
    return float(np.clip(10 * np.log10(voice / noise), *PAUSE_RATIO_RANGE_DB))


def _window_starts(sample_count: int, activity: SpeechActivity, rules: ClarityRules) -> list[int]:
    """First samples of the windows to denoise: the one with most running speech in each equal part."""
    length_s = sample_count / ANALYSIS_RATE
    part_count = max(1, min(rules.max_windows, int(length_s // rules.window_s)))
    times_s = np.arange(0.05, length_s, 0.1)
    speech = activity.covers(times_s) & ~activity.is_sustained_at(times_s)
    speech_before = np.concatenate([[0], np.cumsum(speech)]) / 10
    starts = []
    for part in range(part_count):
        last_s = (part + 1) * length_s / part_count - rules.window_s
        candidates = np.arange(part * length_s / part_count, max(last_s, 0) + 0.05, 0.5)
        ends = np.minimum(((candidates + rules.window_s) * 10).astype(int), len(speech))
        speech_s = speech_before[ends] - speech_before[(candidates * 10).astype(int)]
        if speech_s.max() >= rules.min_speech_s:
            starts.append(int(candidates[speech_s.argmax()] * ANALYSIS_RATE))
    return starts


def _leveled(window: Samples, length: int) -> Samples:
    padded = np.zeros(length, np.float32)
    padded[: len(window)] = window * np.float32(DENOISER_LEVEL / max(active_rms(window), FLOOR))
    return padded


def _si_sdr_db(reference: NDArray[np.float32], estimate: NDArray[np.float32]) -> NDArray[np.float64]:
    """Scale-invariant signal-to-distortion ratio of each row (Le Roux et al., ICASSP 2019)."""
    reference = (reference - reference.mean(axis=1, keepdims=True)).astype(np.float64)
    estimate = (estimate - estimate.mean(axis=1, keepdims=True)).astype(np.float64)
    scale = (estimate * reference).sum(axis=1) / np.maximum(np.square(reference).sum(axis=1), FLOOR)
    target = scale[:, None] * reference
    distortion = np.square(estimate - target).sum(axis=1)
    return np.asarray(10 * np.log10((np.square(target).sum(axis=1) + FLOOR) / (distortion + FLOOR)))
