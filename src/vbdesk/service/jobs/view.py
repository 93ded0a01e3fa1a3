"""A stored job as it goes out."""

import json
from typing import Any

from sqlalchemy import Row

from vbdesk.contract.jobs import Job, JobStatus


def job_without_result(row: Row[Any]) -> Job:
    """The job's own fields; its result is stored as text and never parsed to be sent."""
    return Job(
        job_id=row.job_id,
        status=JobStatus(row.status),
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
    fields = job_without_result(row).model_dump(mode="json", exclude={"result"})
    head = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return f'{head[:-1]},"result":{row.result or "null"}}}'.encode()


def as_submitted(row: Row[Any]) -> Job:
    """The answer that the submit of this job got, whatever became of the job since."""
    return job_without_result(row).model_copy(update={"status": JobStatus.QUEUED, "completed_at": None})
