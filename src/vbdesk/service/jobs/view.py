"""Responses for a stored job."""

import json
from typing import Any

from sqlalchemy import Row

from vbdesk.contract.base import WireModel
from vbdesk.contract.jobs import Job, JobStatus, JobType
from vbdesk.contract.legacy import to_earlier_form
from vbdesk.service.jobs.history_record import parse_result

EARLIER_FORM = frozenset({JobType.USE_CASE, JobType.CONDITION})
"""Job types of the earlier v2 form and v1."""


def shown_status(row: Row[Any]) -> JobStatus:
    """Return the state shown in v2: a queued job of the earlier form is shown as `running`."""
    status = JobStatus(row.status)
    return JobStatus.RUNNING if status is JobStatus.QUEUED and row.job_type in EARLIER_FORM else status


def job_without_result(row: Row[Any]) -> Job:
    """Return the job's fields without the result, which is stored as text and inserted as text."""
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
    """Encode the job object with its result, for reads and webhooks."""
    result = result_in_earlier_form(row) if row.job_type in EARLIER_FORM else row.result
    return with_result(job_without_result(row), result)


def with_result(job: WireModel, result: str | None) -> bytes:
    """Insert the stored `result` text into a job encoded in any API version."""
    fields = json.dumps(job.model_dump(mode="json"), separators=(",", ":"))
    before, empty, after = fields.partition(
        '"result":null'
    )  # quotes within values are escaped, so this text occurs only once
    return (before + (empty if result is None else f'"result":{result}') + after).encode()


def result_in_earlier_form(row: Row[Any]) -> str | None:
    """Convert a stored result for the earlier form and v1; all results are stored in one shape."""
    return None if row.result is None else to_earlier_form(parse_result(row.result)).model_dump_json()


def as_submitted(row: Row[Any]) -> Job:
    """Return the response of the job's submit, regardless of its current state."""
    status = JobStatus.RUNNING if row.job_type in EARLIER_FORM else JobStatus.QUEUED
    return job_without_result(row).model_copy(update={"status": status, "completed_at": None})
