"""Vocal features of a subject's recordings against the subject's own usual range."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from vbdesk.contract.results import ModelResult, Result, signals_of
from vbdesk.contract.spoken_language import without_widening
from vbdesk.longitudinal.feature_ranges import FeatureReading, OwnRange, own_ranges

__all__ = ["CountedResult", "OwnRange", "OwnRanges", "own_ranges_by_job"]

OwnRanges = Mapping[str, OwnRange]
"""Own range by feature, of one recording."""


class CountedResult(NamedTuple):
    """A result that counts in a subject's course; `seconds` is the length of the recording."""

    job_id: str
    recorded_at: datetime
    result: Result
    seconds: float | None


def own_ranges_by_job(results: Iterable[CountedResult]) -> dict[str, OwnRanges]:
    """Own ranges of every recording of one subject that has enough earlier ones, by job.

    A result lists the features that its strongest signs rest on, and some that it always lists. So a feature that is
    listed only where it stands out has few earlier values.
    """
    by_feature: dict[str, list[FeatureReading]] = defaultdict(list)
    for recording in results:
        if not isinstance(recording.result, ModelResult):
            continue
        quality, version = recording.result.audio_quality, _version(recording.result)
        for feature in recording.result.summary.description.vocal_features:
            by_feature[feature.feature].append(
                FeatureReading(
                    job_id=recording.job_id,
                    recorded_at=recording.recorded_at,
                    value=feature.value,
                    unit=feature.unit,
                    version=version,
                    duration_s=recording.seconds,
                    voice_percentage=quality.voice_percentage,
                    audio_clarity=quality.audio_clarity,
                )
            )
    found: dict[str, dict[str, OwnRange]] = defaultdict(dict)
    for name, readings in by_feature.items():
        for job_id, own in own_ranges(name, readings).items():
            found[job_id][name] = own
    return dict(found)


def _version(result: ModelResult) -> str | None:
    """Version of the analysis: that of its signs; None if a sign does not state it."""
    versions = [signal.sign_version for signal in signals_of(result)]
    known = {without_widening(version) for version in versions if version}
    return ";".join(sorted(known)) if known and all(versions) else None
