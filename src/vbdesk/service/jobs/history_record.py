"""Part of a result that a group's history needs, stored separately so that histories load fast."""

import json
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import from_json
from sqlalchemy import Row

from vbdesk.contract.levels import Level
from vbdesk.contract.results import ModelResult, Result, Signal, signals_of
from vbdesk.longitudinal.history import HistoryEntry, SignReading

_RESULT: TypeAdapter[Result] = TypeAdapter(Result)


def parse_result(text: str) -> Result:
    """Parse a stored result."""
    return _RESULT.validate_json(text)


def record_of(result: Result) -> str:
    """Encode the history's part of a result as JSON."""
    quality = result.audio_quality
    return json.dumps(
        {
            "voice_percentage": quality.voice_percentage,
            "audio_clarity": quality.audio_clarity,
            "issues": quality.issues,
            "recommended_action": result.summary.recommended_action if isinstance(result, ModelResult) else None,
            "signs": {
                signal.name: [_measured_score(signal), signal.level, signal.flagged, signal.score_interval]
                for signal in signals_of(result)
            },
            "versions": {signal.name: signal.sign_version for signal in signals_of(result)},
        },
        separators=(",", ":"),
    )


def history_entry(row: Row[Any], reading: str | None, status: str) -> HistoryEntry:
    """Build one entry of a group's history; `row` has `job_id`, `recorded_at` and `audio_duration_seconds`."""
    values = {} if reading is None else from_json(reading)
    versions = values.get("versions", {})
    return HistoryEntry(
        job_id=row.job_id,
        recorded_at=row.recorded_at,
        status=status,
        duration_s=row.audio_duration_seconds,
        voice_percentage=values.get("voice_percentage"),
        audio_clarity=values.get("audio_clarity"),
        issues=tuple(values.get("issues", ())),
        recommended_action=values.get("recommended_action"),
        signs={
            name: SignReading(*value)._replace(version=versions.get(name))
            for name, value in values.get("signs", {}).items()
        },
    )


def reading_versions(reading: str | None) -> dict[str, str | None]:
    """Return the calibration of each sign in a record; empty for a record of an older release."""
    versions: dict[str, str | None] = {} if reading is None else from_json(reading).get("versions", {})
    return versions


def versions_of(result: str) -> dict[str, str | None]:
    """Return the calibration of each sign in a stored result, without checking the rest of it."""
    values = from_json(result)
    return {signal["name"]: signal.get("sign_version") for signal in values.get("signals") or [values["signal"]]}


def _measured_score(signal: Signal) -> float | None:
    """Return the score; None for the placeholder of an unmeasurable sign, which has no interval."""
    unmeasured = signal.level is Level.INCONCLUSIVE and signal.score_interval is None
    return None if unmeasured else signal.score
