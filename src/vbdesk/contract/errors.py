"""Error codes, and the shape of error bodies."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from vbdesk.contract.base import WireModel, is_none


class ErrorCode(StrEnum):
    """The cause of an error, for programs."""

    UNAUTHORIZED = "UNAUTHORIZED"
    INSUFFICIENT_CREDITS = "INSUFFICIENT_CREDITS"
    NOT_FOUND = "NOT_FOUND"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    CONFLICT = "CONFLICT"
    AUDIO_POOR_QUALITY = "AUDIO_POOR_QUALITY"
    AUDIO_TOO_SHORT = "AUDIO_TOO_SHORT"
    AUDIO_TOO_LONG = "AUDIO_TOO_LONG"
    AUDIO_TOO_LARGE = "AUDIO_TOO_LARGE"
    UNSUPPORTED_FORMAT = "UNSUPPORTED_FORMAT"
    RATE_LIMIT_EXCEEDED = "RATE_LIMIT_EXCEEDED"
    PROCESSING_ERROR = "PROCESSING_ERROR"
    SERVICE_UNAVAILABLE = "SERVICE_UNAVAILABLE"
    INVALID_USE_CASE = "INVALID_USE_CASE"
    INVALID_REQUEST = "INVALID_REQUEST"
    VALIDATION_ERROR = "VALIDATION_ERROR"


HTTP_STATUS: dict[ErrorCode, int] = {
    ErrorCode.UNAUTHORIZED: 401,
    ErrorCode.INSUFFICIENT_CREDITS: 402,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.METHOD_NOT_ALLOWED: 405,
    ErrorCode.CONFLICT: 409,
    ErrorCode.AUDIO_POOR_QUALITY: 422,
    ErrorCode.AUDIO_TOO_SHORT: 400,
    ErrorCode.AUDIO_TOO_LONG: 400,
    ErrorCode.AUDIO_TOO_LARGE: 413,
    ErrorCode.UNSUPPORTED_FORMAT: 400,
    ErrorCode.RATE_LIMIT_EXCEEDED: 429,
    ErrorCode.PROCESSING_ERROR: 500,
    ErrorCode.SERVICE_UNAVAILABLE: 503,
    ErrorCode.INVALID_USE_CASE: 400,
    ErrorCode.INVALID_REQUEST: 400,
    ErrorCode.VALIDATION_ERROR: 422,
}

INVALID_UPLOAD_REF = "Invalid audio_upload_ref"
"""The message of `INVALID_REQUEST` for an unknown upload reference."""


class ErrorDetail(WireModel):
    """One validation error: location, message and type."""

    loc: list[str | int]
    msg: str
    type: str


class ErrorBody(WireModel):
    """Body of every error answer; `status` equals the HTTP status. Only a 422 has `detail`."""

    code: str
    message: str
    status: int
    detail: list[ErrorDetail] | None = Field(default=None, exclude_if=is_none)


def error_body(code: ErrorCode, message: str, detail: list[dict[str, Any]] | None = None) -> ErrorBody:
    """Build the body for `code` with its HTTP status."""
    details = None if detail is None else [ErrorDetail.model_validate(item) for item in detail]
    return ErrorBody(code=code, message=message, status=HTTP_STATUS[code], detail=details)
