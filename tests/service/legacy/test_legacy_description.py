"""The interface description says of the older forms what they do."""

import pytest

V1_ROUTES = ["analyze-audio", "analyze-audio-url", "analyze-and-diarize-audio", "analyze-and-diarize-audio-url"]


@pytest.fixture
def paths(service):
    return service.client().get("/openapi.json").json()["paths"]


def form_of(operation):
    return operation["requestBody"]["content"]["multipart/form-data"]["schema"]


def codes(operation, status):
    return set(operation["responses"][status]["description"].split(", "))


WRITES = {"200", "400", "401", "402", "409", "413", "422", "429", "500", "503"}
"""Statuses of every analyze route."""

LANGUAGE = {"language", "second_language"}
COMMON = {"audio", "audio_upload_ref", "diarize", "webhook_url", "webhook_secret_key"} | LANGUAGE


@pytest.mark.parametrize(
    ("path", "field"), [("/v2/use-case/analyze", "use_case"), ("/v2/condition/analyze", "condition")]
)
def test_the_forms_name_what_is_required(paths, path, field):
    form = form_of(paths[path]["post"])
    assert form["properties"].keys() == COMMON | {field}
    assert form["required"] == [field]
    assert "oneOf" not in form  # generated clients lose the fields beside it
    assert form["properties"]["audio"]["format"] == "binary"


@pytest.mark.parametrize("kind", ["use-cases/{use_case_name}", "conditions/{condition_name}"])
def test_the_group_forms_have_a_capture_time(paths, kind):
    operation = paths[f"/v2/{kind}/groups/{{group_id}}/analyze"]["post"]
    assert form_of(operation)["properties"].keys() == COMMON | {"recorded_at"}
    assert codes(operation, "404") == {"NOT_FOUND"}


def test_refusals_are_listed_by_status(paths):
    use_case, condition = paths["/v2/use-case/analyze"]["post"], paths["/v2/condition/analyze"]["post"]
    audio = {"INVALID_REQUEST", "UNSUPPORTED_FORMAT", "AUDIO_TOO_SHORT", "AUDIO_TOO_LONG"}
    assert codes(use_case, "400") == audio | {"INVALID_USE_CASE"}
    assert codes(condition, "400") == audio
    assert codes(condition, "422") == {"AUDIO_POOR_QUALITY", "VALIDATION_ERROR"}
    assert condition["responses"].keys() == WRITES


@pytest.mark.parametrize("route", V1_ROUTES)
def test_v1_analyze_routes_are_described(paths, route):
    operation = paths[f"/api/v1/{{condition}}/{route}"]["post"]
    assert operation["security"] == [{"X-Account-ID": [], "X-Secret-Key": []}]
    assert operation["responses"].keys() == WRITES | {"404"}
    if route.endswith("url"):
        assert operation["requestBody"]["content"].keys() == {"application/json"}
    else:
        assert form_of(operation)["required"] == ["audio"]
        assert form_of(operation)["properties"].keys() == {"audio"} | LANGUAGE


def test_v1_account_routes_are_described(paths):
    described = {path: set(methods) for path, methods in paths.items() if path.startswith("/api/v1/account")}
    assert described == {
        "/api/v1/account/credits": {"get"},
        "/api/v1/account/webhook": {"post"},
        "/api/v1/account/jobs": {"get"},
        "/api/v1/account/jobs/{job_id}": {"get"},
    }
    assert codes(paths["/api/v1/account/jobs/{job_id}"]["get"], "404") == {"NOT_FOUND"}


def test_a_route_lists_no_refusal_that_it_never_gives(paths):
    assert paths["/v2/models"]["get"]["responses"].keys() == {"200", "401", "422", "429", "500"}
    assert "409" in paths["/v2/groups"]["post"]["responses"]
    assert "402" not in paths["/v2/groups"]["post"]["responses"]
