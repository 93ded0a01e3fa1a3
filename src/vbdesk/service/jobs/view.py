"""A stored job as it goes out."""

import json
from typing import Any

from sqlalchemy import Row

from vbdesk.contract.base import WireModel
from vbdesk.contract.jobs import Job, JobStatus, JobType
from vbdesk.contract.legacy import to_earlier_form
from vbdesk.service.jobs.history_record import parse_result

EARLIER_FORM = frozenset({JobType.USE_CASE, JobType.CONDITION})
"""Kinds of job that the earlier v2 form and v1 make."""


def shown_status(row: Row[Any]) -> JobStatus:
    """The state as v2 shows it: a job of the earlier form is never `queued`, it is `running` from the start."""
    status = JobStatus(row.status)
    return JobStatus.RUNNING if status is JobStatus.QUEUED and row.job_type in EARLIER_FORM else status


def job_without_result(row: Row[Any]) -> Job:
    """The job's own fields; its result is stored as text and joined to them as text."""
    return Job(
        job_id=row.job_id,
        status=shown_status(row),
        created_at=row.created_at,
        completed_at=row.completed_at,
        job_type=row.job_type,
        api_version=row.api_version,
        audio_content_type=row.audio_content_type,
        audio_size_bytes=row.audio_size_bytes,
        audio_duration_seconds=row.audio_duration_seconds,
        audio_sample_rate=row.audio_sample_rate,
        model_name=row.model_name,
        sign_name=row.sign_name,
        use_case=row.use_case,
        condition=row.condition,
        result=None,
    )


def job_json(row: Row[Any]) -> bytes:
    """The job object with its result, encoded: what a read answers and what a webhook carries."""
    result = result_in_earlier_form(row) if row.job_type in EARLIER_FORM else row.result
    return with_result(job_without_result(row), result)


def with_result(job: WireModel, result: str | None) -> bytes:
    """A job, in whichever version's shape, with its `result` filled in from text."""
    fields = json.dumps(job.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))
    before, empty, after = fields.partition(
        '"result":null'
    )  # quotes within values are escaped: there is one such place
    return (before + (empty if result is None else f'"result":{result}') + after).encode()


def result_in_earlier_form(row: Row[Any]) -> str | None:
    """The stored result as the earlier form and v1 show it; results are stored in one shape for all versions."""
    return None if row.result is None else to_earlier_form(parse_result(row.result)).model_dump_json()


def as_submitted(row: Row[Any]) -> Job:
    """The answer that the submit of this job got, whatever became of the job since."""
    status = JobStatus.RUNNING if row.job_type in EARLIER_FORM else JobStatus.QUEUED
    return job_without_result(row).model_copy(update={"status": status, "completed_at": None})
