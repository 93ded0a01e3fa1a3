"""OpenAPI description."""

from typing import Any

import httpx
import pytest
from examination import read

PATHS = {
    "/v2/models": {"get"},
    "/v2/models/{model_name}": {"get"},
    "/v2/signs": {"get"},
    "/v2/signs/{sign_name}": {"get"},
    "/v2/models/{model_name}/analyze": {"post"},
    "/v2/signs/{sign_name}/analyze": {"post"},
    "/v2/jobs": {"get"},
    "/v2/jobs/{job_id}": {"get"},
    "/v2/audio/uploads": {"post"},
    "/v2/account/webhook": {"post"},
    "/v2/account/credits": {"get"},
    "/v2/groups": {"get", "post"},
    "/v2/groups/{group_id}": {"delete"},
    "/v2/groups/{group_id}/jobs": {"get", "post"},
    "/v2/groups/{group_id}/jobs/{job_id}": {"delete"},
    "/v2/groups/{group_id}/longitudinal": {"get"},
    "/v2/groups/{group_id}/aggregate": {"get"},
    "/v2/models/{model_name}/groups/{group_id}/analyze": {"post"},
    "/v2/signs/{sign_name}/groups/{group_id}/analyze": {"post"},
    "/v2/use-cases/{use_case_name}/groups/{group_id}/analyze": {"post"},
    "/v2/conditions/{condition_name}/groups/{group_id}/analyze": {"post"},
    "/v2/models/{model_name}/groups/{group_id}/analyze/longitudinal": {"post"},
    "/v2/signs/{sign_name}/groups/{group_id}/analyze/longitudinal": {"post"},
    "/v2/use-case/analyze": {"post"},
    "/v2/condition/analyze": {"post"},
    "/api/v1/account/webhook": {"post"},
    "/api/v1/account/credits": {"get"},
    "/api/v1/account/jobs": {"get"},
    "/api/v1/account/jobs/{job_id}": {"get"},
    "/api/v1/{condition}/analyze-audio": {"post"},
    "/api/v1/{condition}/analyze-audio-url": {"post"},
    "/api/v1/{condition}/analyze-and-diarize-audio": {"post"},
    "/api/v1/{condition}/analyze-and-diarize-audio-url": {"post"},
}


@pytest.fixture(scope="module")
def description(api: httpx.Client) -> Any:
    return read(api, "/openapi.json")


def test_description_carries_version_label_1_0_0(description: Any) -> None:
    assert description["info"]["version"] == "1.0.0"


@pytest.mark.parametrize("path", PATHS)
def test_every_route_is_described_with_its_methods(description: Any, path: str) -> None:
    methods = {"get", "post", "put", "patch", "delete"}
    assert set(description["paths"][path]) & methods == PATHS[path]


def test_group_create_is_described_as_201(description: Any) -> None:
    assert "201" in description["paths"]["/v2/groups"]["post"]["responses"]


@pytest.mark.parametrize("path", [path for path in PATHS if "analyze" in path and "url" not in path])
def test_analyze_forms_are_described_as_multipart(description: Any, path: str) -> None:
    body = description["paths"][path]["post"]["requestBody"]["content"]
    fields = set(body["multipart/form-data"]["schema"]["properties"])
    assert "audio" in fields
    if path.startswith("/v2"):
        assert {"audio_upload_ref", "diarize", "webhook_url", "webhook_secret_key"} <= fields
    assert ("recorded_at" in fields) is ("groups" in path)
