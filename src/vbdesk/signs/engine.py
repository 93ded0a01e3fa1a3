"""The whole analysis: a recording and a target in, a result out. Nothing is kept and nothing is random."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from vbdesk.contract.catalog import ModelName
from vbdesk.contract.results import AudioQuality, IssueCode, ModelResult, SignResult, SpeakerResult
from vbdesk.signs.metrics import extended_metrics
from vbdesk.signs.passage import Listening, Passage, hear, own_turns
from vbdesk.signs.reference import Reference, load_reference
from vbdesk.signs.scoring import Conditions, Reading, read_sign
from vbdesk.signs.stages import ACTIVITY, FEATURES, NARRATIVE, QUALITY, SCORING, SPEAKERS, Stages, untimed
from vbdesk.signs.summary import make_signal, summarise_readings
from vbdesk.signs.target import Target
from vbdesk.signs.uncertainty import with_interval
from vbdesk.signs.wording import DEFAULT_LANGUAGE
from vbdesk.voice.activity import detect_speech
from vbdesk.voice.features import FrameAnalysis, analyse_frames
from vbdesk.voice.quality import Quality, assess
from vbdesk.voice.recording import Recording, Samples
from vbdesk.voice.speakers import SpeakerTurns, alone
from vbdesk.voice.speakers import diarize as find_speakers

__all__ = ["Heard", "Target", "analyze", "listen", "read"]

DECIMALS = 4
AT_ONCE_S = 300.0

AnyResult = TypeVar("AnyResult", ModelResult, SignResult, ModelResult | SignResult)


@dataclass(frozen=True, slots=True)
class Heard:
    """A recording as measured, before anything is asked of it.

    Attributes:
        passages: one for each voice that is read by itself, the one who speaks most first.
        speakers: who speaks each passage; None unless speakers were told apart.
        norms_file: norms of a site's own that the passages were compared with; None for those that ship.
    """

    quality: Quality
    passages: Sequence[Passage]
    speakers: Sequence[SpeakerTurns] | None
    norms_file: Path | None = None


def analyze(
    recording: Recording,
    target: Target,
    *,
    diarize: bool = False,
    language: str = DEFAULT_LANGUAGE,
    norms_file: Path | None = None,
    stages: Stages = untimed,
) -> ModelResult | SignResult:
    """Analyse `recording` for a model or a sign.

    Args:
        recording: as decoded.
        target: what is asked for.
        diarize: tell speakers apart and read each by itself; the usual fields then speak for the one who speaks most.
        language: of the summary, as a BCP 47 tag.
        norms_file: norms of a site's own, in place of those that ship.
        stages: is told what is being done.

    Raises:
        DataFileError: the norms cannot be used.
        UnknownLanguage: there are no words for `language`.
    """
    heard = listen(recording, diarize=diarize, norms_file=norms_file, stages=stages)
    return read(heard, target, language=language, stages=stages)


def listen(
    recording: Recording, *, diarize: bool = False, norms_file: Path | None = None, stages: Stages = untimed
) -> Heard:
    """Measure everything that any target may need of `recording`; arguments as `analyze`.

    A short recording is judged and measured at once, on two threads that share nothing; of a long one that would take
    too much memory.
    """
    with ThreadPoolExecutor(1) as pool:
        at_once = not diarize and recording.duration_s <= AT_ONCE_S
        measuring = pool.submit(_measure, recording.samples, stages) if at_once else None
        with stages(ACTIVITY):
            activity = detect_speech(recording)
        with stages(QUALITY):
            quality = assess(recording, activity, told_apart=diarize)
    listening = listening_for(quality, load_reference(norms_file=norms_file))
    speakers = None
    if diarize:
        with stages(SPEAKERS):
            speakers = find_speakers(recording, activity)
    if speakers is None or len(speakers) < 2:
        frames = measuring.result() if measuring else _measure(recording.samples, stages)
        passages = [hear(frames, activity.segments, activity.speech_s, None, listening)]
        return Heard(quality, passages, speakers, norms_file)
    passages = []
    for speaker in speakers:
        others = [segment for other in speakers if other is not speaker for segment in other.segments]
        turns = own_turns(speaker.segments, others)
        frames = _measure(alone(recording.samples, turns), stages)
        passages.append(hear(frames, speaker.segments, speaker.speech_seconds, turns, listening))
    return Heard(quality, passages, speakers, norms_file)


def _measure(samples: Samples, stages: Stages) -> FrameAnalysis | None:
    with stages(FEATURES):
        return analyse_frames(samples)


def read(
    heard: Heard, target: Target, *, language: str = DEFAULT_LANGUAGE, stages: Stages = untimed
) -> ModelResult | SignResult:
    """Read what was heard for `target`; the summary is in `language`, a BCP 47 tag."""
    reference = load_reference(language, heard.norms_file)
    return read_voices(heard, lambda passage: _result(passage, heard.quality, target, reference, stages))


def read_voices(heard: Heard, read_voice: Callable[[Passage], AnyResult]) -> AnyResult:
    """The result of the one who speaks most, with those of all speakers beside it where they were told apart."""
    if heard.speakers is None:
        return read_voice(heard.passages[0])
    results = [read_voice(passage) for passage in heard.passages]
    speakers = [_speaker(turns, own) for turns, own in zip(heard.speakers, results, strict=True)]
    return results[0].model_copy(update={"speakers": speakers})


def listening_for(quality: Quality, reference: Reference) -> Listening:
    """What this recording allows to measure."""
    narrow = IssueCode.NARROW_BANDWIDTH in quality.issues
    left_out = reference.calibration.scoring.not_measured_in_narrow_band if narrow else frozenset()
    return Listening(
        norms=reference.norms,
        reliable_voice_quality=IssueCode.NOISE_LIMITS_VOICE_QUALITY not in quality.issues,
        left_out=dict.fromkeys(left_out, "narrow_bandwidth"),
    )


def _result(
    passage: Passage, quality: Quality, target: Target, reference: Reference, stages: Stages
) -> ModelResult | SignResult:
    with stages(SCORING):
        readings = _readings(passage, quality, target, reference)
        signals = [make_signal(reading, reference) for reading in readings]
    audio_quality = wire_quality(quality)
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


def wire_quality(quality: Quality) -> AudioQuality:
    """The quality as it goes over the wire."""
    return AudioQuality(
        issues=quality.issues,
        voice_percentage=round(quality.voice_percentage, DECIMALS),
        audio_clarity=None if quality.audio_clarity is None else round(quality.audio_clarity, DECIMALS),
    )


def conditions_of(passage: Passage, quality: Quality) -> Conditions:
    """What limits every reading of this voice."""
    return Conditions(
        speech_seconds=passage.speech_s,
        voice_percentage=quality.voice_percentage,
        audio_clarity=quality.audio_clarity,
        female_share=passage.female_share,
    )


def _readings(passage: Passage, quality: Quality, target: Target, reference: Reference) -> list[Reading]:
    calibration = reference.calibration
    conditions = conditions_of(passage, quality)
    readings = []
    for name in target.signs:
        sign = calibration.signs[name]
        reading = read_sign(name, sign, calibration.scoring, passage.z, conditions)
        readings.append(with_interval(reading, sign, calibration.scoring, passage.replicates, passage.female_share))
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
