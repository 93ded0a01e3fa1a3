"""The description is true: its examples fit it, and so does what every route really answers."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from sample_results import result_json

from vbdesk.service.composition.app import described_app
from vbdesk.service.http.security_headers import PROTECTION
from vbdesk.service.jobs.lifecycle import JobLifecycle

SPEECH = (Path(__file__).parents[2] / "data" / "speech_kathleen_20s.flac").read_bytes()


@pytest.fixture(scope="module")
def description() -> Any:
    return described_app().openapi()


def assert_fits(description: Any, schema: Any, value: Any) -> None:
    whole = {**schema, "components": description["components"]}
    faults = [f"{list(fault.instance_path)}: {fault.message}" for fault in _faults(whole, value)]
    assert faults == []


def _faults(schema: Any, value: Any) -> Any:
    return jsonschema_rs.Draft202012Validator(schema).iter_errors(value)


def operations(description: Any) -> Any:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_every_request_has_an_example_that_fits(description):
    for _, operation in operations(description):
        for content in operation.get("requestBody", {}).get("content", {}).values():
            assert_fits(description, content["schema"], content["example"])
    webhook = description["webhooks"]["finished-job"]["post"]["requestBody"]["content"]["application/json"]
    assert_fits(description, webhook["schema"], webhook["example"])


def test_every_answer_has_an_example_that_fits(description):
    for _, operation in operations(description):
        for status, response in operation["responses"].items():
            content = response["content"]["application/json"]
            if status.startswith("2"):
                assert_fits(description, content["schema"], content["example"])
                continue
            assert content["examples"].keys() == set(response["description"].split(", "))
            for code, example in content["examples"].items():
                assert_fits(description, content["schema"], example["value"])
                assert (example["value"]["code"], str(example["value"]["status"])) == (code, status)
                assert example["value"]["message"]
                assert ("detail" in example["value"]) is (code == "VALIDATION_ERROR")


def test_operations_are_named_once_and_stand_in_a_chapter(description):
    ids = [operation["operationId"] for _, operation in operations(description)]
    assert len(set(ids)) == len(ids) == 35
    chapters = {tag["name"] for tag in description["tags"]}
    assert {operation["tags"][0] for _, operation in operations(description)} == chapters


def test_parameters_fields_and_credentials_are_explained(description):
    for label, operation in operations(description):
        assert operation["summary"] and operation["description"], label
        assert all(parameter["description"] for parameter in operation.get("parameters", [])), label
        for content in operation.get("requestBody", {}).get("content", {}).values():
            name = content["schema"].get("$ref", "").rpartition("/")[2]
            schema = description["components"]["schemas"][name] if name else content["schema"]
            assert all(field["description"] for field in schema["properties"].values()), label
    assert all(scheme["description"] for scheme in description["components"]["securitySchemes"].values())


def test_analyze_routes_name_the_idempotency_key_and_every_429_its_wait(description):
    for label, operation in operations(description):
        headers = [each["name"] for each in operation.get("parameters", []) if each["in"] == "header"]
        assert headers == (["Idempotency-Key"] if "analyze" in label else [])
        assert operation["responses"]["429"]["headers"].keys() == {"Retry-After"}


def test_every_routes_real_answer_fits_the_description(description, service):
    account = service.add_account()
    v2, v1 = service.client(account), service.client()
    v1.headers.update(account.v1_headers)
    answered: set[str] = set()

    def ask(label: str, names: dict[str, str], client: Any = v2, **how: Any) -> Any:
        method, path = label.split(" ")
        answer = client.request(method, path.format(**names), **how)
        response = description["paths"][path][method.lower()]["responses"][str(answer.status_code)]
        assert_fits(description, response["content"]["application/json"]["schema"], answer.json())
        if answer.is_success:
            answered.add(label)
        return answer.json()

    def finish(job_id: str) -> None:
        lifecycle = JobLifecycle.of(service.context)
        with service.context.database.writing() as connection:
            run = lifecycle.start(connection, job_id, "test", 120)
            kind = "model" if run.target.sign_count > 1 else "sign"
            lifecycle.analysed(connection, job_id, result_json(kind, run.target.analysed, 0.4))

    def form(**fields: str) -> Any:
        parts = {name: (None, value) for name, value in fields.items()}
        return {"files": {**parts, "audio": ("take.flac", SPEECH, "audio/flac")}}

    names = {
        "model_name": "breath",
        "sign_name": "stress",
        "use_case_name": "respiratory",
        "condition_name": "acute-stress",
        "condition": "wellness",
        "group_id": "subject-001",
    }
    for path in ("/v2/models", "/v2/models/{model_name}", "/v2/signs", "/v2/signs/{sign_name}", "/v2/account/credits"):
        ask(f"GET {path}", names)
        ask(f"GET {path}", {**names, "model_name": "none", "sign_name": "none"}, client=service.client())
    ask("GET /v2/models/{model_name}", {"model_name": "none"})
    ask("POST /v2/groups", names, json={"group_id": "subject-001"})
    ask("POST /v2/groups", names, json={"group_id": "subject-001"})
    ask("POST /v2/groups", names, json={})
    ask("POST /v2/account/webhook", names, json={"url": "https://93.184.216.34/", "secret_key": "s"})
    ask("POST /api/v1/account/webhook", names, v1, json={"url": "https://93.184.216.34/", "secret_key": "s"})
    ask("POST /v2/audio/uploads", names, json={"content_type": "audio/wav"})
    ids = []
    for path in description["paths"]:
        if "analyze" in path and path.startswith("/v2"):
            more = {"use_case": "wellness", "condition": "anxiety"}
            job = ask(f"POST {path}", names, **form(**more))
            ids.append(job["job_id"])
            ask(f"POST {path}", names, files={"diarize": (None, "perhaps"), "audio": SPEECH})
        elif path.endswith("analyze-audio") or path.endswith("diarize-audio"):
            ids.append(ask(f"POST {path}", names, v1, **form())["job_id"])
    for url in ("/api/v1/{condition}/analyze-audio-url", "/api/v1/{condition}/analyze-and-diarize-audio-url"):
        ask(f"POST {url}", names, v1, json={"url": "http://10.0.0.1/take.flac"})
        answered.add(f"POST {url}")  # no recording is to be had here; both answer what the form routes answer
    for job_id in ids[: len(ids) // 2]:
        finish(job_id)
    for job_id in ids:
        ask("GET /v2/jobs/{job_id}", {"job_id": job_id})
        ask("GET /api/v1/account/jobs/{job_id}", {"job_id": job_id}, v1)
    ask("GET /v2/jobs", names)
    ask("GET /api/v1/account/jobs", names, v1)
    ask("GET /api/v1/account/credits", names, v1)
    ask("GET /v2/groups", names)
    ask("GET /v2/groups/{group_id}/jobs", names)
    ask("POST /v2/groups/{group_id}/jobs", names, json={"job_ids": [*ids, "nonsense"]})
    ask("GET /v2/groups/{group_id}/longitudinal", names)
    ask("GET /v2/groups/{group_id}/aggregate", names)
    ask("DELETE /v2/groups/{group_id}/jobs/{job_id}", {**names, "job_id": ids[0]})
    ask("DELETE /v2/groups/{group_id}", names)
    assert answered == {label for label, _ in operations(description)}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_docs_page_shows_every_route_and_needs_nothing_from_elsewhere(service, description):
    reader = service.client()
    answer = reader.get("/docs")
    assert answer.status_code == 200
    assert {name: answer.headers[name] for name in PROTECTION} == PROTECTION
    for path in description["paths"]:
        assert f"<code>{path}</code>" in answer.text
    page = _Page()
    page.feed(answer.text)
    assert not {"script", "style", "iframe"} & {tag for tag, _ in page.tags}
    assert not any("style" in attributes for _, attributes in page.tags)
    targets = {attributes.get(name) for _, attributes in page.tags for name in ("src", "href")} - {None}
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for target in targets:
        assert re.match("[/#]", target), target
        if target.startswith("#"):
            assert target[1:] in ids
        else:
            assert reader.get(target, follow_redirects=True).status_code == 200, target


def test_docs_page_is_one_with_the_description(service, description):
    assert service.client().get("/openapi.json").json() == json.loads(json.dumps(description))
