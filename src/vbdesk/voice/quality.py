"""Quality of a recording, and its issues.

The service and the desk use the same function and thresholds, for every result and for every take.
"""

from dataclasses import dataclass

import numpy as np

from vbdesk.contract.results import IssueCode
from vbdesk.voice.activity import SpeechActivity, detect_speech
from vbdesk.voice.clarity import measure_clarity
from vbdesk.voice.defects import bandwidth_hz, count_dropouts
from vbdesk.voice.level import AudioLevel, active_rms, measure_level, to_dbfs
from vbdesk.voice.quality_rules import quality_rules
from vbdesk.voice.recording import ANALYSIS_RATE, Recording, Samples
from vbdesk.voice.reverberation import is_reverberant
from vbdesk.voice.speakers import voice_similarity


@dataclass(frozen=True, slots=True)
class Quality:
    """Quality of a recording.

    Attributes:
        voice_percentage: share of the recording with speech, 0 to 100.
        audio_clarity: 0 to 100; 50 if the voice is 10 dB above everything else; None without enough speech.
        speech_seconds: total length of speech.
        level: RMS of the speech (of the whole recording without speech), peak, clipped samples.
        issues: values of `IssueCode`, most important first, by the thresholds of resources/quality.toml.
    """

    voice_percentage: float
    audio_clarity: float | None
    speech_seconds: float
    level: AudioLevel
    issues: list[str]


def assess_quality(recording: Recording, activity: SpeechActivity | None = None, *, diarized: bool = False) -> Quality:
    """Assess `recording`.

    Args:
        recording: the decoded recording.
        activity: its speech activity, if already detected.
        diarized: skip the check for several speakers, because each will be scored separately.
    """
    rules = quality_rules()
    activity = activity or detect_speech(recording)
    clarity = measure_clarity(recording.samples, activity, rules.clarity)
    level = _speech_level(recording.samples, activity)
    return Quality(
        voice_percentage=activity.voice_percentage,
        audio_clarity=clarity,
        speech_seconds=activity.speech_s,
        level=level,
        issues=_issues(recording, activity, clarity, level, diarized),
    )


def _speech_level(samples: Samples, activity: SpeechActivity) -> AudioLevel:
    whole = measure_level(samples)
    if not activity.segments:
        return whole
    edges = (np.array(activity.segments) * ANALYSIS_RATE).astype(int)
    speech = np.concatenate([samples[start:end] for start, end in edges])
    return AudioLevel(to_dbfs(active_rms(speech)), whole.peak_dbfs, whole.clipped_percent)


def _issues(
    recording: Recording, activity: SpeechActivity, clarity: float | None, level: AudioLevel, diarized: bool
) -> list[str]:
    limits = quality_rules().issues
    samples = recording.samples
    bandwidth = bandwidth_hz(samples, activity, limits.narrow_bandwidth.floor_db)
    echoes = is_reverberant(samples, activity, limits.reverberation)
    found = {
        IssueCode.INSUFFICIENT_SPEECH: activity.voice_percentage < limits.insufficient_speech.voice_percentage_below
        or activity.speech_s < limits.insufficient_speech.speech_seconds_below,
        IssueCode.HIGH_BACKGROUND_NOISE: clarity is not None and clarity < limits.high_background_noise.clarity_below,
        IssueCode.MULTIPLE_SPEAKERS: not (diarized or echoes)
        and voice_similarity(recording, activity) < limits.multiple_speakers.likeness_below,
        IssueCode.CLIPPING: level.clipped_percent > limits.clipping.clipped_percent_above,
        IssueCode.LOW_LEVEL: level.rms_dbfs < limits.low_level.speech_dbfs_below,
        IssueCode.DROPOUTS: count_dropouts(samples) > limits.dropouts.count_above,
        IssueCode.REVERBERATION: echoes,
        IssueCode.NARROW_BANDWIDTH: bandwidth is not None and bandwidth < limits.narrow_bandwidth.bandwidth_hz_below,
        IssueCode.NOISE_LIMITS_VOICE_QUALITY: clarity is not None
        and clarity < limits.noise_limits_voice_quality.clarity_below,
    }
    return [code.value for code, is_found in found.items() if is_found]
