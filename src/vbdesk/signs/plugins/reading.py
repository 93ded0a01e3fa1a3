"""Reading a sign of a lab's own: the same rules, the same resampling and the same result as for those that ship."""

import math
from pathlib import Path

from vbdesk.contract.levels import Level
from vbdesk.contract.results import Signal, SignResult
from vbdesk.signs.calibration import SCORE_AT_MEAN, ScoringRules
from vbdesk.signs.engine import DECIMALS, Heard, analyze, conditions_of, listen, read_voices, wire_quality
from vbdesk.signs.passage import Passage
from vbdesk.signs.plugins.discovery import PluginSign, load_plugins
from vbdesk.signs.plugins.source import PluginSource
from vbdesk.signs.reference import load_reference
from vbdesk.signs.scoring import Conditions, carries_enough, level_of, score_of
from vbdesk.signs.stages import SCORING, Stages, untimed
from vbdesk.signs.target import Target, UnknownTarget, standalone_names
from vbdesk.signs.uncertainty import NORMAL_90, standard_error
from vbdesk.voice.recording import Recording


def find_sign(name: str, source: PluginSource) -> Target | PluginSign:
    """The sign of this name: one that ships, or one of a lab's own.

    Raises:
        UnknownTarget: there is none, or it cannot be used; the message says why.
    """
    if name in standalone_names():
        return Target.sign(name)
    signs = load_plugins(source)
    if name in signs.available:
        return signs.available[name]
    broken = [item for item in signs.unavailable if item.name == name]
    if broken:
        raise UnknownTarget(f"The sign {name!r} cannot be used: {broken[0].reason}")
    known = ", ".join([*standalone_names(), *signs.available])
    raise UnknownTarget(f"There is no sign {name!r}. Choose one of: {known}.")


def analyze_sign(
    recording: Recording,
    name: str,
    source: PluginSource,
    *,
    diarize: bool = False,
    norms_file: Path | None = None,
    stages: Stages = untimed,
) -> SignResult:
    """Analyse `recording` for the sign of this name, as `find_sign` finds it; further arguments as `engine.analyze`.

    Raises:
        UnknownTarget, PluginError, DataFileError: there is no such sign, its model fails, or the norms cannot be used.
    """
    sign = find_sign(name, source)
    if isinstance(sign, PluginSign):
        return analyze_plugin(recording, sign, diarize=diarize, norms_file=norms_file, stages=stages)
    result = analyze(recording, sign, diarize=diarize, norms_file=norms_file, stages=stages)
    if isinstance(result, SignResult):
        return result
    raise TypeError(f"the result of a sign is not a {type(result).__name__}")


def analyze_plugin(
    recording: Recording,
    sign: PluginSign,
    *,
    diarize: bool = False,
    norms_file: Path | None = None,
    stages: Stages = untimed,
) -> SignResult:
    """Analyse `recording` for a sign of a lab's own. Raises PluginError when its model fails, and DataFileError."""
    heard = listen(recording, diarize=diarize, norms_file=norms_file, stages=stages)
    with stages(SCORING):
        return read_plugin(heard, sign)


def read_plugin(heard: Heard, sign: PluginSign) -> SignResult:
    """Read what was heard for a sign of a lab's own. Raises PluginError when its model fails."""
    reference = load_reference(norms_file=heard.norms_file)
    rules, quality = reference.calibration.scoring, wire_quality(heard.quality)
    version = reference.version_of(sign.file.version)

    def read_voice(passage: Passage) -> SignResult:
        signal = read_signal(passage, conditions_of(passage, heard.quality), sign, rules)
        return SignResult(signal=signal.model_copy(update={"sign_version": version}), audio_quality=quality)

    return read_voices(heard, read_voice)


def read_signal(passage: Passage, conditions: Conditions, sign: PluginSign, rules: ScoringRules) -> Signal:
    """One voice's signal. Where nothing was measured the score says nothing: the reference mean."""
    file = sign.file
    available = sum(abs(weight) for name, weight in file.weights.items() if name in passage.z)
    if not available:
        return _signal(sign, SCORE_AT_MEAN, Level.INCONCLUSIVE, None)
    index = sign.index(passage.z)
    half_width = NORMAL_90 * _index_error(passage, sign, rules)
    interval = (score_of(file, index - half_width), score_of(file, index + half_width))
    noise_sensitive = rules.noise_sensitive(file.weights)
    enough = carries_enough(rules, conditions, noise_sensitive=noise_sensitive, available=available)
    return _signal(sign, score_of(file, index), level_of(file, index) if enough else Level.INCONCLUSIVE, interval)


def _index_error(passage: Passage, sign: PluginSign, rules: ScoringRules) -> float:
    """Standard error of the index, in reference SD; where there is nothing to resample, that of a retest."""
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
