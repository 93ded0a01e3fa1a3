"""A caller that knows the service by its description alone: `generated` is made from /openapi.json."""

import io
import json
import os
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import httpx
from generated import Client
from generated.api.account import read_credits
from generated.api.analysis import analyze_model, analyze_sign
from generated.api.analysis_in_groups import analyze_sign_longitudinally
from generated.api.catalog import read_sign
from generated.api.group_reads import read_trajectory
from generated.api.jobs import list_jobs, read_job
from generated.api.uploads import mint_upload
from generated.models import (
    AnalyzeModelFilesBody,
    AnalyzeSignFilesBody,
    AnalyzeSignLongitudinallyDataBody,
    AnalyzeSignLongitudinallyFilesBody,
    ErrorBody,
    Job,
    TrajectoryRead,
    TrajectoryRunning,
    UploadRequest,
    UploadRequestContentType,
)
from generated.types import File

T = TypeVar("T")
RECORDING = Path(os.environ["RECORDING"])
HEADERS = {"X-Account-ID": os.environ["ACCOUNT_ID"], "X-API-Key": os.environ["API_KEY"]}


def client(**headers: str) -> Client:
    return Client(
        base_url=os.environ["BASE_URL"],
        headers={**HEADERS, **headers},
        raise_on_unexpected_status=True,
        httpx_args={"trust_env": False},
        timeout=httpx.Timeout(60),
    )


API = client()


def accepted(answer: ErrorBody | T | None) -> T:
    if answer is None or isinstance(answer, ErrorBody):
        sys.exit(f"refused: {answer}")
    return answer


def finished(job_id: str) -> Job:
    while (job := accepted(read_job.sync(job_id, client=API))).status in ("queued", "running"):
        time.sleep(0.2)
    return job


def upload() -> str:
    grant = accepted(mint_upload.sync(client=API, body=UploadRequest(content_type=UploadRequestContentType.AUDIOFLAC)))
    headers = grant.required_headers.to_dict()
    httpx.put(grant.upload_url, content=RECORDING.read_bytes(), headers=headers, trust_env=False).raise_for_status()
    return grant.upload_ref


def trajectory(group_id: str) -> TrajectoryRead:
    while isinstance(read := accepted(read_trajectory.sync(group_id, client=API)), TrajectoryRunning):
        time.sleep(0.2)
    return read


def refused(answer: Any) -> list[Any]:
    assert isinstance(answer, ErrorBody), answer
    return [answer.status, answer.code, [item.loc for item in answer.detail] if answer.detail else None]


sound = File(io.BytesIO(RECORDING.read_bytes()), RECORDING.name, "audio/flac")
first = datetime.fromisoformat(os.environ["FIRST"])
as_file = accepted(
    analyze_sign_longitudinally.sync(
        "stress", "python", client=API, body=AnalyzeSignLongitudinallyFilesBody(audio=sound, recorded_at=first)
    )
)
reference = upload()
second = datetime.fromisoformat(os.environ["SECOND"])
in_data = AnalyzeSignLongitudinallyDataBody(audio_upload_ref=reference, recorded_at=second)
as_reference = accepted(analyze_sign_longitudinally.sync("stress", "python", client=API, body=in_data))
in_multipart = accepted(
    analyze_model.sync("breath", client=API, body=AnalyzeModelFilesBody(audio_upload_ref=reference, diarize=False))
)
jobs = [finished(job.job_id) for job in (as_file, as_reference, in_multipart)]
read = trajectory("python")
accepted(read_credits.sync(client=API))

print(
    json.dumps(
        {
            "groups": [as_file.group_id, as_reference.group_id],
            "recorded": [str(job.recorded_at) for job in (as_file, as_reference)],
            "statuses": [str(job.status) for job in jobs],
            "sizes": [job.audio_size_bytes for job in jobs],
            "done_jobs": read.done_job_count,
            "data_points": len(read.data_points),
            "refused": [
                refused(read_credits.sync(client=client(**{"X-API-Key": "wrong"}))),
                refused(read_sign.sync("nothing", client=API)),
                refused(analyze_sign.sync("stress", client=API, body=AnalyzeSignFilesBody(diarize=False))),
                refused(list_jobs.sync(client=API, page=-1)),
            ],
        }
    )
)
