"""v1 responses for stored jobs, including jobs submitted through v2."""

from typing import Any

from sqlalchemy import Row

from vbdesk.contract.catalog import V1_USE_CASES
from vbdesk.contract.jobs import JobList, JobStatus
from vbdesk.contract.legacy import V1_DIARIZED, V1Job, v1_status
from vbdesk.service.jobs.target import JobTarget
from vbdesk.service.jobs.view import result_in_earlier_form, with_result

V1 = "v1"
"""`api_version` of jobs submitted through v1."""

_CONDITIONS = {use_case: condition for condition, use_case in V1_USE_CASES.items()}


def v1_job_json(row: Row[Any]) -> bytes:
    """Encode the v1 job object with its result."""
    job = V1Job(
        job_id=row.job_id,
        status=v1_status(JobStatus(row.status)),
        created_at=row.created_at,
        completed_at=row.completed_at,
        result=None,
        audio_content_type=row.audio_content_type,
        audio_size_bytes=row.audio_size_bytes,
        audio_duration_seconds=row.audio_duration_seconds,
        pipeline_type=_pipeline_type(row),
    )
    return with_result(job, result_in_earlier_form(row))


def v1_job_list(jobs: JobList) -> JobList:
    """Encode the page with v1 state names."""
    items = [item.model_copy(update={"status": v1_status(item.status)}) for item in jobs.jobs]
    return jobs.model_copy(update={"jobs": items})


def _pipeline_type(row: Row[Any]) -> str:
    name = JobTarget.of_row(row).name
    if row.api_version == V1:
        name = _CONDITIONS[name]
    return f"{name}{V1_DIARIZED}" if row.diarize else name
