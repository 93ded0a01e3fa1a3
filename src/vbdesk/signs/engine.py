"""The whole analysis: a recording and a target in, a result out. Nothing is kept and nothing is random."""

from collections.abc import Sequence

from vbdesk.contract.catalog import ModelName
from vbdesk.contract.results import AudioQuality, IssueCode, ModelResult, SignResult, SpeakerResult
from vbdesk.signs.metrics import extended_metrics
from vbdesk.signs.passage import Listening, Passage, hear, own_turns
from vbdesk.signs.reference import Reference, load_reference
from vbdesk.signs.scoring import Conditions, Reading, read_sign
from vbdesk.signs.summary import make_signal, summarise_readings
from vbdesk.signs.target import Target
from vbdesk.signs.uncertainty import with_interval
from vbdesk.voice.activity import SpeechActivity, detect_speech
from vbdesk.voice.features import FrameAnalysis, analyse_frames
from vbdesk.voice.quality import Quality, assess
from vbdesk.voice.recording import Recording
from vbdesk.voice.speakers import SpeakerTurns
from vbdesk.voice.speakers import diarize as find_speakers

__all__ = ["Target", "analyze"]

DECIMALS = 4


def analyze(recording: Recording, target: Target, *, diarize: bool = False) -> ModelResult | SignResult:
    """Analyse `recording` for a model or a sign.

    Args:
        recording: as decoded.
        target: what is asked for.
        diarize: tell speakers apart and read each by itself; the usual fields then speak for the one who speaks most.
    """
    activity = detect_speech(recording)
    quality = assess(recording, activity)
    frames = analyse_frames(recording.samples)
    reference = load_reference()
    voices = _Voices(target, quality, frames, _listening(quality, reference), reference)
    if not diarize:
        return voices.result(voices.whole(activity), speakers=None)
    turns = find_speakers(recording, activity)
    passages = [voices.whole(activity)] if len(turns) < 2 else [voices.one_of(speaker, turns) for speaker in turns]
    speakers = [voices.speaker(speaker, passage) for speaker, passage in zip(turns, passages, strict=True)]
    return voices.result(passages[0], speakers)


class _Voices:
    """Reads the voices of one recording for one target."""

    def __init__(
        self,
        target: Target,
        quality: Quality,
        frames: FrameAnalysis | None,
        listening: Listening,
        reference: Reference,
    ) -> None:
        self._target = target
        self._quality = quality
        self._frames = frames
        self._listening = listening
        self._reference = reference

    def whole(self, activity: SpeechActivity) -> Passage:
        return hear(self._frames, activity.segments, activity.speech_s, None, self._listening)

    def one_of(self, speaker: SpeakerTurns, everybody: Sequence[SpeakerTurns]) -> Passage:
        others = [segment for other in everybody if other is not speaker for segment in other.segments]
        turns = own_turns(speaker.segments, others)
        return hear(self._frames, speaker.segments, speaker.speech_seconds, turns, self._listening)

    def result(self, passage: Passage, speakers: list[SpeakerResult] | None) -> ModelResult | SignResult:
        readings = self._readings(passage)
        signals = [make_signal(reading, self._reference) for reading in readings]
        audio_quality = AudioQuality(
            issues=self._quality.issues,
            voice_percentage=round(self._quality.voice_percentage, DECIMALS),
            audio_clarity=_rounded(self._quality.audio_clarity),
        )
        if self._target.kind == "sign":
            return SignResult(signal=signals[0], audio_quality=audio_quality, speakers=speakers)
        return ModelResult(
            summary=summarise_readings(readings, passage, self._quality.issues, self._reference),
            signals=signals,
            audio_quality=audio_quality,
            extended_metrics=extended_metrics(self._reference.metrics, ModelName(self._target.name), passage),
            speakers=speakers,
        )

    def speaker(self, speaker: SpeakerTurns, passage: Passage) -> SpeakerResult:
        own = self.result(passage, None)
        return SpeakerResult(
            speaker=speaker.speaker,
            speech_seconds=round(speaker.speech_seconds, DECIMALS),
            segments=[(round(start, DECIMALS), round(end, DECIMALS)) for start, end in speaker.segments],
            summary=own.summary if isinstance(own, ModelResult) else None,
            signals=own.signals if isinstance(own, ModelResult) else None,
            signal=own.signal if isinstance(own, SignResult) else None,
        )

    def _readings(self, passage: Passage) -> list[Reading]:
        calibration = self._reference.calibration
        conditions = Conditions(
            speech_seconds=passage.speech_s,
            voice_percentage=self._quality.voice_percentage,
            audio_clarity=self._quality.audio_clarity,
            female_share=passage.female_share,
        )
        readings = []
        for name in self._target.signs:
            sign = calibration.signs[name]
            reading = read_sign(name, sign, calibration.scoring, passage.z, conditions)
            readings.append(with_interval(reading, sign, passage.replicates, passage.female_share))
        return readings


def _listening(quality: Quality, reference: Reference) -> Listening:
    """What this recording allows to measure."""
    narrow = IssueCode.NARROW_BANDWIDTH in quality.issues
    left_out = reference.calibration.scoring.not_measured_in_narrow_band if narrow else frozenset()
    return Listening(
        norms=reference.norms,
        reliable_voice_quality=IssueCode.NOISE_LIMITS_VOICE_QUALITY not in quality.issues,
        left_out=dict.fromkeys(left_out, "narrow_bandwidth"),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)
