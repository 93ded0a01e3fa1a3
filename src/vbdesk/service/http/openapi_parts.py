"""OpenAPI parts for routes: streamed forms and error responses."""

from typing import Any

from vbdesk.contract.audio_formats import ANY_FORMAT
from vbdesk.contract.errors import ErrorBody, ErrorCode
from vbdesk.contract.idempotency import CLIENT_REF_FIELD, CLIENT_REF_PATTERN
from vbdesk.contract.spoken_language import LANGUAGE_FIELD, SECOND_LANGUAGE_FIELD
from vbdesk.service.http.urlencoded import URLENCODED

TEXT = {"type": "string"}
AUDIO = {"type": "string", "format": "binary", "description": f"{ANY_FORMAT}; 15 s to 20 min, at most 32 MB."}

SPOKEN_LANGUAGE: dict[str, Any] = {
    LANGUAGE_FIELD: TEXT,
    SECOND_LANGUAGE_FIELD: {"type": "boolean"},
}
"""Fields of every analyze route that say in which language the recording is."""

AUDIO_REFUSALS = (
    ErrorCode.INVALID_REQUEST,
    ErrorCode.UNSUPPORTED_FORMAT,
    ErrorCode.AUDIO_TOO_SHORT,
    ErrorCode.AUDIO_TOO_LONG,
    ErrorCode.INSUFFICIENT_CREDITS,
    ErrorCode.CONFLICT,
    ErrorCode.AUDIO_TOO_LARGE,
    ErrorCode.AUDIO_POOR_QUALITY,
    ErrorCode.VALIDATION_ERROR,
)
"""Errors of an analyze route, in addition to those of its router."""


def analyze_form(*, recorded_at: bool = False, target: str | None = None, client_ref: bool = False) -> dict[str, Any]:
    """Build `openapi_extra` of a v2 analyze route.

    Args:
        recorded_at: for group routes: the form has a capture time.
        target: for the earlier form: the required field that names what to analyse.
        client_ref: for the routes of models and signs: the form has the reference of the submission.
    """
    fields: dict[str, Any] = {
        "audio": AUDIO,
        "audio_upload_ref": TEXT,
        "diarize": {"type": "boolean", "default": False},
        "webhook_url": {"type": "string", "format": "uri"},
        "webhook_secret_key": {"type": "string", "format": "password"},
        **SPOKEN_LANGUAGE,
    }
    if client_ref:
        fields[CLIENT_REF_FIELD] = {"type": "string", "pattern": CLIENT_REF_PATTERN}
    if recorded_at:
        fields["recorded_at"] = {"type": "string", "format": "date-time"}
    if target:
        fields[target] = TEXT
    # Exclusions and dependencies between fields are described in text: client generators ignore a `oneOf`.
    required = [target] if target else []
    together = {"webhook_url": ["webhook_secret_key"], "webhook_secret_key": ["webhook_url"]}
    described = form(fields, required, dependentRequired=together)
    without_file = {name: field for name, field in fields.items() if name != "audio"}
    urlencoded = _object(without_file, ["audio_upload_ref", *required], dependentRequired=together)
    described["requestBody"]["content"][URLENCODED] = {"schema": urlencoded}
    return described


def form(fields: dict[str, Any], required: list[str], **rules: Any) -> dict[str, Any]:
    """Build `openapi_extra` of a route with a multipart form that is read as a stream."""
    content = {"multipart/form-data": {"schema": _object(fields, required, **rules)}}
    return {"requestBody": {"required": True, "content": content}}


def _object(fields: dict[str, Any], required: list[str], **rules: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": required, **rules}


def refusals(*codes: ErrorCode) -> dict[int | str, dict[str, Any]]:
    """Build `responses` of a route or router with these error codes."""
    by_status: dict[int | str, dict[str, Any]] = {}
    for code in codes:
        known = by_status.setdefault(code.facts.status, {"model": ErrorBody, "description": ""})
        known["description"] = f"{known['description']}, {code}".removeprefix(", ")
    return by_status
