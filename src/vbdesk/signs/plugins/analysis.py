"""Analysis for a plug-in sign, with the same rules, resampling and result as for a shipped sign."""

import math
from pathlib import Path

from vbdesk.contract.levels import Level
from vbdesk.contract.results import Signal, SignResult
from vbdesk.contract.spoken_language import UNKNOWN_LANGUAGE, SpokenLanguage
from vbdesk.language import message
from vbdesk.signs.analysis import (
    DECIMALS,
    RecordingMeasurements,
    analyze,
    combine_speakers,
    measure_recording,
    recording_conditions,
    to_audio_quality,
)
from vbdesk.signs.calibration import SCORE_AT_MEAN, ScoringRules
from vbdesk.signs.passage import Passage
from vbdesk.signs.plugins.discovery import PluginSign, load_plugins
from vbdesk.signs.plugins.source import PluginSource
from vbdesk.signs.score_to_level import index_to_level, index_to_score
from vbdesk.signs.scoring import RecordingConditions, is_sufficient
from vbdesk.signs.stage_timing import SCORING, StageTimer, no_timing
from vbdesk.signs.target import ScoringTarget, UnknownTarget, standalone_sign_names
from vbdesk.signs.uncertainty import NORMAL_90, standard_error
from vbdesk.voice.recording import Recording


def find_sign(name: str, source: PluginSource) -> ScoringTarget | PluginSign:
    """Find the shipped or plug-in sign `name`.

    Raises:
        UnknownTarget: the sign does not exist or cannot be used; the message says why.
    """
    if name in standalone_sign_names():
        return ScoringTarget.sign(name)
    signs = load_plugins(source)
    if name in signs.available:
        return signs.available[name]
    broken = [item for item in signs.unavailable if item.name == name]
    if broken:
        raise UnknownTarget(message("The sign '{name}' cannot be used: {reason}", name=name, reason=broken[0].reason))
    known = ", ".join([*standalone_sign_names(), *signs.available])
    raise UnknownTarget(message("There is no sign '{name}'. Choose one of: {known}.", name=name, known=known))


def analyze_sign(
    recording: Recording,
    name: str,
    source: PluginSource,
    *,
    diarize: bool = False,
    norms_file: Path | None = None,
    spoken: SpokenLanguage = UNKNOWN_LANGUAGE,
    stages: StageTimer = no_timing,
) -> SignResult:
    """Analyse `recording` for the shipped or plug-in sign `name`; other arguments as in `engine.analyze`.

    Raises:
        UnknownTarget: the sign does not exist or cannot be used.
        PluginError: its model fails.
        DataFileError: the norms cannot be used.
    """
    sign = find_sign(name, source)
    if isinstance(sign, PluginSign):
        return analyze_plugin(recording, sign, diarize=diarize, norms_file=norms_file, spoken=spoken, stages=stages)
    result = analyze(recording, sign, diarize=diarize, norms_file=norms_file, spoken=spoken, stages=stages)
    if isinstance(result, SignResult):
        return result
    raise TypeError(f"the result of a sign is not a {type(result).__name__}")


def analyze_plugin(
    recording: Recording,
    sign: PluginSign,
    *,
    diarize: bool = False,
    norms_file: Path | None = None,
    spoken: SpokenLanguage = UNKNOWN_LANGUAGE,
    stages: StageTimer = no_timing,
) -> SignResult:
    """Analyse `recording` for a plug-in sign. Raises PluginError if its model fails, and DataFileError."""
    measurements = measure_recording(recording, diarize=diarize, norms_file=norms_file, spoken=spoken, stages=stages)
    with stages(SCORING):
        return score_plugin(measurements, sign)


def score_plugin(measurements: RecordingMeasurements, sign: PluginSign) -> SignResult:
    """Score `measurements` for a plug-in sign. Raises PluginError if its model fails."""
    reference = measurements.reference()
    rules, quality = reference.calibration.scoring, to_audio_quality(measurements.quality)
    version = reference.version_of(sign.file.version)

    def score_passage(passage: Passage) -> SignResult:
        signal = plugin_signal(passage, recording_conditions(passage, measurements.quality), sign, rules)
        return SignResult(signal=signal.model_copy(update={"sign_version": version}), audio_quality=quality)

    return combine_speakers(measurements, score_passage)


def plugin_signal(passage: Passage, conditions: RecordingConditions, sign: PluginSign, rules: ScoringRules) -> Signal:
    """Compute the signal of one passage. If nothing was measured, the score is that of the reference mean."""
    file = sign.file
    available = sum(abs(weight) for name, weight in file.weights.items() if name in passage.z)
    if not available:
        return _signal(sign, SCORE_AT_MEAN, Level.INCONCLUSIVE, None)
    index = sign.index(passage.z)
    half_width = NORMAL_90 * _index_error(passage, sign, rules)
    interval = (index_to_score(file, index - half_width), index_to_score(file, index + half_width))
    noise_sensitive = rules.noise_sensitive(file.weights)
    enough = is_sufficient(rules, conditions, noise_sensitive=noise_sensitive, available=available)
    return _signal(
        sign, index_to_score(file, index), index_to_level(file, index) if enough else Level.INCONCLUSIVE, interval
    )


def _index_error(passage: Passage, sign: PluginSign, rules: ScoringRules) -> float:
    """Standard error of the index, in reference SD; that of a retest with fewer than two replicates."""
    if len(passage.replicates) < 2:
        return math.sqrt(1 - sign.file.reference.icc)
    return rules.error_factor(sign.file.weights) * standard_error(sign.index, passage.replicates)


def _signal(sign: PluginSign, score: float, level: Level, interval: tuple[float, float] | None) -> Signal:
    return Signal(
        name=sign.file.name,
        label=sign.file.label,
        score=round(score, DECIMALS),
        level=level,
        flagged=level.flagged,
        evidence_grade=sign.file.evidence_grade,
        score_interval=None if interval is None else (round(interval[0], DECIMALS), round(interval[1], DECIMALS)),
        sign_version=sign.file.version,
    )
