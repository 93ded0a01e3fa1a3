"""The whole analysis: a recording and a target in, a result out.

The same input gives the same result; nothing is stored.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from vbdesk.contract.catalog import ModelName
from vbdesk.contract.narrative_texts import DEFAULT_LANGUAGE
from vbdesk.contract.results import AudioQuality, IssueCode, ModelResult, SignResult, SpeakerResult
from vbdesk.contract.spoken_language import UNKNOWN_LANGUAGE, SpokenLanguage
from vbdesk.signs.metrics import extended_metrics
from vbdesk.signs.passage import DEVIATIONS, MeasurementOptions, Passage, measure_passage, merge_turns
from vbdesk.signs.reference_data import ReferenceData, load_reference_data
from vbdesk.signs.scoring import Reading, RecordingConditions, score_sign
from vbdesk.signs.stage_timing import ACTIVITY, FEATURES, NARRATIVE, QUALITY, SCORING, SPEAKERS, StageTimer, no_timing
from vbdesk.signs.summary import make_signal, summarise_readings
from vbdesk.signs.target import ScoringTarget
from vbdesk.signs.uncertainty import add_score_interval
from vbdesk.voice.activity import detect_speech
from vbdesk.voice.features import FrameAnalysis, analyse_frames
from vbdesk.voice.quality import Quality, assess_quality
from vbdesk.voice.recording import Recording, Samples
from vbdesk.voice.speakers import SpeakerTurns, isolate_speaker
from vbdesk.voice.speakers import diarize as find_speakers

__all__ = ["RecordingMeasurements", "ScoringTarget", "analyze", "measure_recording", "score_recording"]

DECIMALS = 4
PARALLEL_UP_TO_S = 300.0

AnyResult = TypeVar("AnyResult", ModelResult, SignResult, ModelResult | SignResult)


@dataclass(frozen=True, slots=True)
class RecordingMeasurements:
    """The measurements of a recording, enough to score any target.

    Attributes:
        passages: one per speaker, the speaker with most speech first; a single one without diarization.
        speakers: the speaker of each passage; None without diarization.
        norms_file: the site norms that the passages were compared with; None for the shipped norms.
        spoken: what was known about the language when they were compared.
    """

    quality: Quality
    passages: Sequence[Passage]
    speakers: Sequence[SpeakerTurns] | None
    norms_file: Path | None = None
    spoken: SpokenLanguage = UNKNOWN_LANGUAGE

    def reference(self, language: str = DEFAULT_LANGUAGE) -> ReferenceData:
        """What the passages were compared with, with texts in `language`."""
        return load_reference_data(language, self.norms_file, self.spoken)


def analyze(
    recording: Recording,
    target: ScoringTarget,
    *,
    diarize: bool = False,
    language: str = DEFAULT_LANGUAGE,
    norms_file: Path | None = None,
    spoken: SpokenLanguage = UNKNOWN_LANGUAGE,
    stages: StageTimer = no_timing,
) -> ModelResult | SignResult:
    """Analyse `recording` for a model or a sign.

    Args:
        recording: the decoded recording.
        target: the model or sign.
        diarize: separate the speakers and score each; the top-level fields are those of the speaker with most speech.
        language: BCP 47 tag of the summary's language.
        norms_file: site norms, in place of the shipped norms.
        spoken: what is known about the language that is spoken.
        stages: timer that is called with each stage.

    Raises:
        DataFileError: the norms cannot be used.
        UnknownLanguage: there are no texts for `language`.
    """
    measurements = measure_recording(recording, diarize=diarize, norms_file=norms_file, spoken=spoken, stages=stages)
    return score_recording(measurements, target, language=language, stages=stages)


def measure_recording(
    recording: Recording,
    *,
    diarize: bool = False,
    norms_file: Path | None = None,
    spoken: SpokenLanguage = UNKNOWN_LANGUAGE,
    stages: StageTimer = no_timing,
) -> RecordingMeasurements:
    """Measure everything that any target needs; arguments as in `analyze`.

    Quality and features of a short recording are measured on two threads that share no state. For a long recording
    that would take too much memory.
    """
    with ThreadPoolExecutor(1) as pool:
        parallel = not diarize and recording.duration_s <= PARALLEL_UP_TO_S
        measuring = pool.submit(_measure, recording.samples, stages) if parallel else None
        with stages(ACTIVITY):
            activity = detect_speech(recording)
        with stages(QUALITY):
            quality = assess_quality(recording, activity, diarized=diarize)
    options = measurement_options(quality, load_reference_data(norms_file=norms_file, spoken=spoken))
    speakers = None
    if diarize:
        with stages(SPEAKERS):
            speakers = find_speakers(recording, activity)
    if speakers is None or len(speakers) < 2:
        frames = measuring.result() if measuring else _measure(recording.samples, stages)
        passages = [measure_passage(frames, activity.segments, activity.speech_s, None, options)]
        return RecordingMeasurements(quality, passages, speakers, norms_file, spoken)
    passages = []
    for speaker in speakers:
        others = [segment for other in speakers if other is not speaker for segment in other.segments]
        turns = merge_turns(speaker.segments, others)
        frames = _measure(isolate_speaker(recording.samples, turns), stages)
        passages.append(measure_passage(frames, speaker.segments, speaker.speech_seconds, turns, options))
    return RecordingMeasurements(quality, passages, speakers, norms_file, spoken)


def _measure(samples: Samples, stages: StageTimer) -> FrameAnalysis | None:
    with stages(FEATURES):
        return analyse_frames(samples)


def score_recording(
    measurements: RecordingMeasurements,
    target: ScoringTarget,
    *,
    language: str = DEFAULT_LANGUAGE,
    stages: StageTimer = no_timing,
) -> ModelResult | SignResult:
    """Score `measurements` for `target`; the summary is in `language`, a BCP 47 tag."""
    reference = measurements.reference(language)
    return combine_speakers(
        measurements, lambda passage: _result(passage, measurements.quality, target, reference, stages)
    )


def combine_speakers(measurements: RecordingMeasurements, score_passage: Callable[[Passage], AnyResult]) -> AnyResult:
    """Score every passage; the result of the first also holds those of all speakers after diarization."""
    if measurements.speakers is None:
        return score_passage(measurements.passages[0])
    results = [score_passage(passage) for passage in measurements.passages]
    speakers = [_speaker(turns, own) for turns, own in zip(measurements.speakers, results, strict=True)]
    return results[0].model_copy(update={"speakers": speakers})


def measurement_options(quality: Quality, reference: ReferenceData) -> MeasurementOptions:
    """Options for measuring a recording of this `quality`."""
    narrow = IssueCode.NARROW_BANDWIDTH in quality.issues
    left_out = reference.calibration.scoring.not_measured_in_narrow_band if narrow else frozenset()
    return MeasurementOptions(
        norms=reference.norms,
        reliable_voice_quality=IssueCode.NOISE_LIMITS_VOICE_QUALITY not in quality.issues,
        left_out=dict.fromkeys(left_out, "narrow_bandwidth"),
        shifts=() if reference.widening is None else reference.widening.shifts(reference.norms, DEVIATIONS),
    )


def _result(
    passage: Passage, quality: Quality, target: ScoringTarget, reference: ReferenceData, stages: StageTimer
) -> ModelResult | SignResult:
    with stages(SCORING):
        readings = _readings(passage, quality, target, reference)
        signals = [make_signal(reading, reference) for reading in readings]
    audio_quality = to_audio_quality(quality)
    if target.kind == "sign":
        return SignResult(signal=signals[0], audio_quality=audio_quality)
    with stages(NARRATIVE):
        summary = summarise_readings(readings, passage, quality.issues, reference)
    return ModelResult(
        summary=summary,
        signals=signals,
        audio_quality=audio_quality,
        extended_metrics=extended_metrics(
            reference.metrics, reference.calibration.scoring, ModelName(target.name), passage
        ),
    )


def to_audio_quality(quality: Quality) -> AudioQuality:
    """Convert the quality to its wire model."""
    return AudioQuality(
        issues=quality.issues,
        voice_percentage=round(quality.voice_percentage, DECIMALS),
        audio_clarity=None if quality.audio_clarity is None else round(quality.audio_clarity, DECIMALS),
    )


def recording_conditions(passage: Passage, quality: Quality) -> RecordingConditions:
    """Collect what limits the readings of this passage."""
    return RecordingConditions(
        speech_seconds=passage.speech_s,
        voice_percentage=quality.voice_percentage,
        audio_clarity=quality.audio_clarity,
        voice=passage.voice,
    )


def _readings(passage: Passage, quality: Quality, target: ScoringTarget, reference: ReferenceData) -> list[Reading]:
    calibration = reference.calibration
    conditions = recording_conditions(passage, quality)
    readings = []
    for name in target.signs:
        sign = calibration.signs[name]
        reading = score_sign(name, sign, calibration.scoring, passage.z, conditions)
        readings.append(
            add_score_interval(reading, sign, calibration.scoring, passage.replicates, passage.voice.tract_share)
        )
    return readings


def _speaker(turns: SpeakerTurns, own: ModelResult | SignResult) -> SpeakerResult:
    return SpeakerResult(
        speaker=turns.speaker,
        speech_seconds=round(turns.speech_seconds, DECIMALS),
        segments=[(round(start, DECIMALS), round(end, DECIMALS)) for start, end in turns.segments],
        summary=own.summary if isinstance(own, ModelResult) else None,
        signals=own.signals if isinstance(own, ModelResult) else None,
        signal=own.signal if isinstance(own, SignResult) else None,
    )
