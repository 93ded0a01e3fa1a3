"""Independent calculation of the result fields that derive from signals."""

import math
from typing import Any

LEVELS = ("none", "low", "consider", "moderate", "elevated")
SIGNAL_FIELDS = {"name", "label", "score", "level", "flagged", "evidence_grade", "score_interval", "sign_version"}
INTERPRETATIONS = {"within range", "slightly elevated", "high", "reduced", "low"}


def assert_signal(signal: dict[str, Any], name: str, more_fields: set[str] = frozenset()) -> None:
    """Check one signal of a result; the interval is present only if something was measured."""
    assert SIGNAL_FIELDS - {"score_interval"} | more_fields <= set(signal) <= SIGNAL_FIELDS | more_fields, signal
    assert (signal["name"], signal["label"]) == (name, name.replace("-", " ").title())
    assert type(signal["score"]) in (int, float) and 0.0 <= signal["score"] <= 1.0
    assert signal["level"] in (*LEVELS, "inconclusive")
    assert signal["flagged"] is (signal["level"] in ("consider", "moderate", "elevated"))
    if "score_interval" in signal:
        low, high = signal["score_interval"]
        assert 0.0 <= low <= high <= 1.0


def overall_level(levels: list[str]) -> str:
    conclusive = [level for level in levels if level != "inconclusive"]
    return max(conclusive, key=LEVELS.index) if conclusive else "inconclusive"


def recommended_action(levels: list[str]) -> str:
    if all(level == "inconclusive" for level in levels):
        return "inconclusive"
    if "elevated" in levels:
        return "escalate"
    if "moderate" in levels or levels.count("consider") >= 2:
        return "review"
    if "consider" in levels:
        return "consider"
    return "monitor" if "low" in levels else "none"


def primary_signals(signals: list[dict[str, Any]]) -> list[str]:
    ranked = sorted(signals, key=lambda signal: -signal["score"])  # stable sort: ties keep the bundle's order
    return [signal["name"] for signal in ranked[:3]]


def assert_summary(summary: dict[str, Any], signals: list[dict[str, Any]]) -> None:
    """Check that every field of `summary` follows from `signals`."""
    assert set(summary) == {"overall_level", "recommended_action", "flagged_count", "primary_signals", "description"}
    levels = [signal["level"] for signal in signals]
    assert summary["overall_level"] == overall_level(levels)
    assert summary["recommended_action"] == recommended_action(levels)
    assert summary["flagged_count"] == sum(signal["flagged"] for signal in signals)
    assert summary["primary_signals"] == primary_signals(signals)
    assert set(summary["description"]) == {"summary", "vocal_features"}
    assert isinstance(summary["description"]["summary"], str) and summary["description"]["summary"]
    for feature in summary["description"]["vocal_features"]:
        assert set(feature) == {"feature", "label", "value", "unit", "value_interpretation"}
        assert feature["feature"] and feature["label"] and isinstance(feature["unit"], str)
        assert type(feature["value"]) in (int, float) and math.isfinite(feature["value"])
        assert feature["value_interpretation"] in INTERPRETATIONS


def assert_audio_quality(quality: dict[str, Any]) -> None:
    assert set(quality) == {"issues", "voice_percentage", "audio_clarity"}
    assert all(isinstance(issue, str) for issue in quality["issues"])
    for name in ("voice_percentage", "audio_clarity"):
        assert quality[name] is None or 0 <= quality[name] <= 100


def assert_metric(metric: dict[str, Any]) -> None:
    assert set(metric) == {"metric_id", "label", "score_mean", "score_std", "low_anchor", "high_anchor"}
    assert 0.0 <= metric["score_mean"] <= 1.0 and 0.0 <= metric["score_std"] <= 1.0
    assert all(isinstance(metric[name], str) and metric[name] for name in set(metric) - {"score_mean", "score_std"})
