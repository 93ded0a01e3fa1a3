"""One subject's history as a JSON file: the input of `vbdesk longitudinal`.

    {"as_of": "2026-03-01T12:00:00Z",
     "options": {"signs": ["stress"], "refs": {"stress": {"location": -0.9, "scale": 0.7}}, "job": "a7"},
     "jobs": [{"job_id": "a7", "recorded_at": "2026-02-27T08:10:00Z", "duration_s": 60, "voice_percentage": 65,
               "audio_clarity": 80, "scores": {"stress": {"score": 0.42, "level": "low"}}}]}

Times are ISO 8601 or seconds since 1970. `options` is optional; a job needs only its id, time and scores.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.levels import Level
from vbdesk.contract.longitudinal import TimeScale
from vbdesk.contract.timestamps import parse_timestamp
from vbdesk.language import message
from vbdesk.longitudinal.cohort import CohortReference
from vbdesk.longitudinal.history import HistoryEntry, SignReading
from vbdesk.longitudinal.parameters import Method

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class HistoryFileError(ValueError):
    """The text is not a valid history; the message says what to correct."""


@dataclass(frozen=True, slots=True)
class HistoryFile:
    """A history and the options of the run.

    Attributes:
        as_of: moment of the read.
        history: the jobs, in any order.
        signs: only these; None for all signs in the window.
        references: population reference by sign.
        job_id: the job whose own fields to report; None for the last recording.
        brief: report only the first and last three timepoints of a series.
        time_scales: time scale of signs that the method's parameters do not list; slow by default.
        method: version of the method; None if the file names none.
    """

    as_of: datetime
    history: list[HistoryEntry]
    signs: list[str] | None
    references: Mapping[str, CohortReference]
    job_id: str | None
    brief: bool
    time_scales: Mapping[str, TimeScale]
    method: Method | None = None


def read_history_file(text: str) -> HistoryFile:
    """Read a history file from JSON.

    Scores outside 0..1 are clipped by the method; null and NaN mean that nothing was measured.

    Raises:
        HistoryFileError: the text is not a valid history file.
    """
    try:
        document = _Document.model_validate(json.loads(text))
    except json.JSONDecodeError as error:
        raise HistoryFileError(
            message(
                "This is not JSON (line {lineno}, column {colno}): {msg}.",
                lineno=error.lineno,
                colno=error.colno,
                msg=error.msg,
            )
        ) from error
    except RecursionError as error:
        raise HistoryFileError(message("This JSON is nested too deeply to be a history.")) from error
    except ValidationError as error:
        raise HistoryFileError(_first_error(error)) from error
    except ValueError as error:  # Python refuses numbers of thousands of digits
        raise HistoryFileError(message("This JSON holds a number with too many digits; correct it.")) from error
    options = document.options
    file = HistoryFile(
        as_of=document.as_of,
        history=[job.entry() for job in document.jobs],
        signs=options.signs,
        references={sign: CohortReference(ref.location, ref.scale) for sign, ref in options.refs.items()},
        job_id=options.job,
        brief=options.brief,
        time_scales=options.time_scales,
        method=options.method,
    )
    ids = Counter(entry.job_id for entry in file.history)
    if twice := next((job_id for job_id, count in ids.items() if count > 1), None):
        raise HistoryFileError(message("Two jobs have the id {twice}; give each its own.", twice=twice))
    if file.job_id is not None and file.job_id not in ids:
        raise HistoryFileError(message("options.job names {job_id}, which is not among the jobs.", job_id=file.job_id))
    return file


def _first_error(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    location = ".".join(str(part) for part in first["loc"]) or "the file"
    if first["type"] == "extra_forbidden":
        return f"{location} is not a field of a history; remove it or correct its name."
    if first["type"] == "missing":
        return f"{location} is missing."
    if first["type"] == "model_type" and location == "the file":
        return "The file must hold one JSON object with as_of and jobs."
    return f"{location}: {first['msg'].removeprefix('Value error, ').rstrip('.')}."


def _parse_time(value: Any) -> datetime:
    if isinstance(value, str):
        return parse_timestamp(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        try:
            return EPOCH + timedelta(seconds=value)
        except OverflowError:
            pass
    raise ValueError("Give the time as ISO 8601, for example 2026-03-01T09:30:00Z, or in seconds since 1970.")


def _check_order(interval: tuple[float, float]) -> tuple[float, float]:
    if interval[0] > interval[1]:
        raise ValueError("Give the lower end first.")
    return interval


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


Moment = Annotated[datetime, BeforeValidator(_parse_time)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Percentage = Annotated[float, Field(ge=0, le=100)]


class _Reading(_Model):
    score: Annotated[float, Field(strict=True)] | None  # rejects true and "0.4"
    level: Level = Level.LOW
    score_interval: Annotated[tuple[Finite, Finite], AfterValidator(_check_order)] | None = None


class _Job(_Model):
    job_id: Annotated[str, Field(min_length=1)]
    recorded_at: Moment
    status: JobStatus = JobStatus.DONE
    duration_s: Amount | None = None
    voice_percentage: Percentage | None = None
    audio_clarity: Percentage | None = None
    scores: dict[str, _Reading]

    def entry(self) -> HistoryEntry:
        return HistoryEntry(
            job_id=self.job_id,
            recorded_at=self.recorded_at,
            status=self.status.value,
            duration_s=self.duration_s,
            voice_percentage=self.voice_percentage,
            audio_clarity=self.audio_clarity,
            issues=(),
            recommended_action=None,
            signs={
                sign: SignReading(reading.score, reading.level.value, reading.level.flagged, reading.score_interval)
                for sign, reading in self.scores.items()
            },
        )


class _Reference(_Model):
    location: Finite
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Options(_Model):
    signs: list[str] | None = None
    refs: dict[str, _Reference] = {}
    job: str | None = None
    brief: bool = False
    time_scales: dict[str, TimeScale] = {}
    method: Method | None = None


class _Document(_Model):
    name: str = ""
    as_of: Moment
    options: _Options = _Options()
    jobs: list[_Job]
    expected: Any = None
