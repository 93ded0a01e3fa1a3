"""Results as an analysis returns them, with a chosen score."""

from vbdesk.contract.catalog import MODEL_SIGNS, ModelName, SignName
from vbdesk.contract.levels import Level, RecommendedAction
from vbdesk.contract.results import AudioQuality, Description, ModelResult, Signal, SignResult, Summary


def result_json(kind: str, name: str, score: float) -> str:
    quality = AudioQuality(issues=[], voice_percentage=70.0, audio_clarity=90.0)
    if kind == "sign":
        return SignResult(signal=_signal(SignName(name), score), audio_quality=quality).model_dump_json()
    signals = [_signal(sign, score) for sign in MODEL_SIGNS[ModelName(name)]]
    summary = Summary(
        overall_level=signals[0].level,
        recommended_action=RecommendedAction.REVIEW if score > 0.5 else RecommendedAction.NONE,
        flagged_count=sum(signal.flagged for signal in signals),
        primary_signals=[signal.name for signal in signals[:3]],
        description=Description(summary="A reading.", vocal_features=[]),
    )
    return ModelResult(summary=summary, signals=signals, audio_quality=quality, extended_metrics=[]).model_dump_json()


def _signal(sign: SignName, score: float) -> Signal:
    level = Level.MODERATE if score > 0.5 else Level.NONE
    interval = (max(0.0, score - 0.1), min(1.0, score + 0.1))
    return Signal(name=sign, label=sign.label, score=score, level=level, flagged=level.flagged, score_interval=interval)
