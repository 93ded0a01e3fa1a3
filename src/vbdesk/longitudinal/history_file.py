"""Histories from files, for work at a desk without a service: JSON as the room's own entries, CSV tidy.

The JSON is a list of jobs, each with `signs` by name. The CSV has one row a recording and sign; columns as below, of
which `recorded_at`, `sign` and `score` are needed.
"""

import csv
import json
from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from vbdesk.contract.base import WireModel
from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.levels import Level, RecommendedAction
from vbdesk.contract.timestamps import Timestamp
from vbdesk.longitudinal.history import HistoryEntry, SignReading


class HistoryFileError(ValueError):
    """The file is not a history; the message says what to correct."""


def _none_if_blank(value: Any) -> Any:
    return None if value == "" else value


Number = Annotated[float | None, BeforeValidator(_none_if_blank)]


class _Reading(WireModel):
    score: Number
    level: Level = Level.NONE

    def reading(self) -> SignReading:
        return SignReading(self.score, self.level.value, self.level.flagged)


class _Job(WireModel):
    job_id: str = ""
    recorded_at: Timestamp
    status: JobStatus = JobStatus.DONE
    duration_s: Number = None
    voice_percentage: Number = None
    audio_clarity: Number = None
    issues: tuple[str, ...] = ()
    recommended_action: Annotated[RecommendedAction | None, BeforeValidator(_none_if_blank)] = None
    signs: dict[str, _Reading] = Field(min_length=1)

    def entry(self) -> HistoryEntry:
        return HistoryEntry(
            job_id=self.job_id or self.recorded_at.isoformat(),
            recorded_at=self.recorded_at,
            status=self.status.value,
            duration_s=self.duration_s,
            voice_percentage=self.voice_percentage,
            audio_clarity=self.audio_clarity,
            issues=self.issues,
            recommended_action=None if self.recommended_action is None else self.recommended_action.value,
            signs={name: sign.reading() for name, sign in self.signs.items()},
        )


_JOBS = TypeAdapter(list[_Job])


def read_history(path: Path) -> list[HistoryEntry]:
    """Read a `.json` or `.csv` file.

    A recording without `job_id` is named by its capture time; rows of a CSV with one name are one recording.

    Raises:
        HistoryFileError: the file is not such a history.
        OSError: it cannot be read.
    """
    text = path.read_text(encoding="utf-8-sig")
    try:
        jobs = _JOBS.validate_python(_from_csv(text) if path.suffix.lower() == ".csv" else json.loads(text))
    except json.JSONDecodeError as error:
        raise HistoryFileError(f"{path.name} is not JSON (line {error.lineno}): {error.msg}.") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise HistoryFileError(f"{path.name}: correct {place}: {first['msg']}.") from error
    return [job.entry() for job in jobs]


def _from_csv(text: str) -> list[dict[str, Any]]:
    rows = csv.DictReader(StringIO(text))
    missing = {"recorded_at", "sign", "score"} - set(rows.fieldnames or ())
    if missing:
        raise HistoryFileError(f"The CSV lacks the column {', '.join(sorted(missing))}.")
    return list(_grouped(rows))


def _grouped(rows: Iterable[Mapping[str, str]]) -> Iterable[dict[str, Any]]:
    jobs: dict[str, dict[str, Any]] = {}
    for row in rows:
        given = {name: value for name, value in row.items() if value not in ("", None)}
        name = given.get("job_id") or row["recorded_at"]
        sign, score, level = given.pop("sign", ""), given.pop("score", None), given.pop("level", Level.NONE)
        job = jobs.setdefault(name, {**given, "issues": given.get("issues", "").split(), "signs": {}})
        job["signs"][sign] = {"score": score, "level": level}
    return jobs.values()
