"""The legacy v1 interface: its own resources and the shape of its results."""

from pydantic import AnyHttpUrl

from vbdesk.contract.base import WireModel
from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.results import ModelResult
from vbdesk.contract.timestamps import Timestamp


class V1Submitted(WireModel):
    """Answer to every v1 analyze call."""

    job_id: str


class V1AudioUrl(WireModel):
    """Request to analyse audio at a public HTTPS address."""

    url: AnyHttpUrl


class V1Job(WireModel):
    """A job as v1 shows it; `status` is `pending` until it is terminal."""

    job_id: str
    status: JobStatus
    created_at: Timestamp
    completed_at: Timestamp | None
    result: ModelResult | None
    audio_content_type: str
    audio_size_bytes: int
    audio_duration_seconds: float
    pipeline_type: str
