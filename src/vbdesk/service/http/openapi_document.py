"""Additions to the OpenAPI document: tags, examples, credentials, parameters and headers."""

import copy
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from typing import Any

from fastapi.encoders import jsonable_encoder
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from vbdesk.contract.errors import ErrorCode, error_body
from vbdesk.contract.idempotency import KEY_HEADER
from vbdesk.contract.webhooks import DELIVERY_HEADER, SIGNATURE_HEADER
from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource
from vbdesk.service.http.guard import Guard
from vbdesk.service.http.json_body import JsonBody
from vbdesk.service.http.urlencoded import URLENCODED

Json = dict[str, Any]

_SCHEMAS = "#/components/schemas/{model}"

INTERFACE_VERSION = "1.0.0"

_IDEMPOTENCY = {
    "name": KEY_HEADER,
    "in": "header",
    "required": False,
    "description": "Any text. The same request with the same key within 24 hours answers the first job again "
    "and charges once. Another recording, target, group, time, option or webhook with it is 409 `CONFLICT`.",
    "schema": {"type": "string", "maxLength": 255},
}
_UPLOAD_REF = "0198f0c2-70aa-7b11-8d3c-5a0c4e2f1b02"
_RETRY_AFTER = {
    "description": "Whole seconds until the same request may be allowed.",
    "schema": {"type": "integer", "minimum": 1},
}


def complete(description: Json, routes: Iterable[APIRoute]) -> Json:
    """Add what FastAPI does not know about `routes` to its description, in place."""
    _add_dependencies(description, routes)
    texts, examples = _texts(), _examples()
    description["info"]["description"] = texts["introduction"].strip()
    description["tags"] = [{"name": each["name"], "description": each["says"]} for each in texts["chapters"]]
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            if method != "get":
                _add_full_disk(operation["responses"])
            _complete_operation(operation, path, examples[f"{method.upper()} {path}"], texts)
    for schema in _asked(description):
        for name, field in schema["properties"].items():
            field.setdefault("description", texts["fields"].get(name, ""))
    for name, scheme in description["components"]["securitySchemes"].items():
        scheme["description"] = texts["credentials"][name]
    description["webhooks"] = {"finished-job": {"post": _webhook(examples["POST webhook"]["request"])}}
    return description


def _add_dependencies(description: Json, routes: Iterable[APIRoute]) -> None:
    """Describe the credentials that guards check, and the bodies that `json_body` reads."""
    models: dict[str, type[BaseModel]] = {}
    schemes: Json = {}
    for route in routes:
        for method, dependency in product(route.methods or (), route.dependant.dependencies):
            if isinstance(dependency.call, Guard):
                headers = dependency.call.headers
                schemes |= {name: {"type": "apiKey", "in": "header", "name": name} for name in headers}
                operation = description["paths"][route.path_format][method.lower()]
                operation["security"] = [{name: [] for name in headers}]
            if isinstance(dependency.call, JsonBody):
                model = models[dependency.call.model.__name__] = dependency.call.model
                schema = {"$ref": _SCHEMAS.format(model=model.__name__)}
                operation = description["paths"][route.path_format][method.lower()]
                operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    _, definitions = models_json_schema([(model, "validation") for model in models.values()], ref_template=_SCHEMAS)
    components = description["components"]
    components["schemas"].update(jsonable_encoder(definitions["$defs"], exclude_none=True))
    components["securitySchemes"] = schemes


def _add_full_disk(responses: Json) -> None:
    """Add the full-disk response to every route that writes."""
    status = str(ErrorCode.SERVICE_UNAVAILABLE.facts.status)
    responses[status] = {**copy.deepcopy(responses["500"]), "description": ErrorCode.SERVICE_UNAVAILABLE.value}


def _complete_operation(operation: Json, path: str, example: Json, texts: Json) -> None:
    operation["tags"] = [next(each["name"] for each in texts["chapters"] if re.search(each["paths"], path))]
    operation["summary"] = operation["description"].split("\n")[0].split("; ")[0].rstrip(".")
    for parameter in operation.get("parameters", []):
        parameter["description"] = texts["parameters"][parameter["name"]]
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        content["example"] = _without_file(example["request"]) if media_type == URLENCODED else example["request"]
    for status, response in operation["responses"].items():
        content = response["content"]["application/json"]
        if status.startswith("2"):
            response["description"] = "Accepted." if "analyze" in path else "Done." if status == "200" else "Created."
            content["example"] = example["answer"]
        else:
            content["examples"] = _refusals(response["description"])
        if status in ("429", "503"):
            response["headers"] = {"Retry-After": _RETRY_AFTER}
    if "analyze" in path:
        operation["parameters"] = [*operation.get("parameters", []), _IDEMPOTENCY]


def _without_file(request: Json) -> Json:
    """Return the example with an upload reference instead of the file."""
    return {"audio_upload_ref": _UPLOAD_REF, **{name: value for name, value in request.items() if name != "audio"}}


def _asked(description: Json) -> Iterator[Json]:
    """Return the schemas of all request bodies."""
    for methods in description["paths"].values():
        for operation in methods.values():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                name = content["schema"].get("$ref", "").rpartition("/")[2]
                yield description["components"]["schemas"][name] if name else content["schema"]


def _refusals(codes: str) -> Json:
    """Build an example for each error code of a response."""
    return {code: {"value": _refusal(ErrorCode[code])} for code in codes.split(", ")}


def _refusal(code: ErrorCode) -> Json:
    detail = None
    if code is ErrorCode.VALIDATION_ERROR:
        detail = [
            {"loc": ["query", "page"], "msg": "Give a page as an integer; the first is 0.", "type": "int_parsing"}
        ]
    return error_body(code, code.facts.sentence, detail).model_dump(mode="json")


def _webhook(example: Json) -> Json:
    text = {"type": "string"}
    headers = {
        SIGNATURE_HEADER: "Hex digest of HMAC-SHA256 over the raw body, keyed with the webhook's secret.",
        DELIVERY_HEADER: "The same on every attempt of one delivery.",
    }
    return {
        "summary": "A job is done, failed or timed out",
        "description": "Sent to the job's own webhook, else to the account's, until the answer is 2xx: at once, then "
        "after 1, 5 and 30 s, 2, 10 and 30 min, 1, 3, 6 and 12 h. The body is the job as a read answers it.",
        "parameters": [
            {"name": name, "in": "header", "required": True, "description": says, "schema": text}
            for name, says in headers.items()
        ],
        "requestBody": {
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Job"}, "example": example}}
        },
        "responses": {"200": {"description": "Any 2xx ends the delivery."}},
    }


@cache
def _texts() -> Json:
    return read_toml(resource("service", "description.toml"))


def _examples() -> Json:
    examples: Json = json.loads(resource("service", "examples.json").read_text("utf-8"))
    return examples
