"""Everything a request can be refused for, and the one place that turns it into an answer.

ServiceError
├── Unauthorized            401
├── InsufficientCredits     402
├── NotFound                404
├── Conflict                409
├── RateLimited             429, says when to come back
├── InvalidRequest          400
├── InvalidUseCase          400
├── ValidationFailed        422, with `detail`
├── AudioRejected
│   ├── AudioTooLarge       413
│   ├── UnsupportedFormat   400
│   ├── AudioTooShort       400
│   ├── AudioTooLong        400
│   └── AudioPoorQuality    422
└── ProcessingFailed        500
"""

import http
import logging
from collections.abc import Sequence
from typing import Any, ClassVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from vbdesk.contract.errors import HTTP_STATUS, ErrorBody, ErrorCode, ErrorDetail, error_body

log = logging.getLogger(__name__)


class ServiceError(Exception):
    """A refusal with its code and one sentence that says what to do."""

    code: ClassVar[ErrorCode]
    default_message: ClassVar[str]

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.default_message)
        self.message = message or self.default_message


class Unauthorized(ServiceError):
    """The account id or the credential is missing or wrong; which of them is not told."""

    code = ErrorCode.UNAUTHORIZED
    default_message = "The account id or the credential is missing or not valid. Check both headers."


class InsufficientCredits(ServiceError):
    """The balance does not cover the analysis."""

    code = ErrorCode.INSUFFICIENT_CREDITS
    default_message = "The account has not enough credits for this analysis. Add credits and submit again."


class NotFound(ServiceError):
    """There is no such thing, or it belongs to another account."""

    code = ErrorCode.NOT_FOUND
    default_message = "There is nothing with this name. Check the address."


class Conflict(ServiceError):
    """The thing exists already."""

    code = ErrorCode.CONFLICT
    default_message = "This exists already. Choose another name."


class RateLimited(ServiceError):
    """Too many requests; `retry_after_s` whole seconds until one more is allowed."""

    code = ErrorCode.RATE_LIMIT_EXCEEDED
    default_message = "Too many requests."

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(f"Too many requests. Try again in {retry_after_s} s.")
        self.retry_after_s = retry_after_s


class InvalidRequest(ServiceError):
    """The request cannot be understood or contradicts itself."""

    code = ErrorCode.INVALID_REQUEST
    default_message = "The request is not valid."


class InvalidUseCase(ServiceError):
    """The earlier form's `use_case` is not one of the known."""

    code = ErrorCode.INVALID_USE_CASE
    default_message = "The use case is not known."


class ValidationFailed(ServiceError):
    """Fields that do not fit, each named in `detail`."""

    code = ErrorCode.VALIDATION_ERROR
    default_message = "The request has fields that do not fit; `detail` names them."

    def __init__(self, detail: Sequence[ErrorDetail]) -> None:
        super().__init__()
        self.detail = list(detail)


class AudioRejected(ServiceError):
    """The recording itself cannot be taken."""


class AudioTooLarge(AudioRejected):
    """More bytes than allowed."""

    code = ErrorCode.AUDIO_TOO_LARGE
    default_message = "The audio is larger than 32 MB. Send a shorter or compressed recording."


class UnsupportedFormat(AudioRejected):
    """Not one of the four formats, or damaged."""

    code = ErrorCode.UNSUPPORTED_FORMAT
    default_message = "The audio cannot be read as WAV, FLAC, MP3 or M4A. Convert it and send it again."


class AudioTooShort(AudioRejected):
    """Under 15 seconds."""

    code = ErrorCode.AUDIO_TOO_SHORT
    default_message = "The recording is shorter than 15 seconds. Record more speech."


class AudioTooLong(AudioRejected):
    """Over 20 minutes."""

    code = ErrorCode.AUDIO_TOO_LONG
    default_message = "The recording is longer than 20 minutes. Cut it and send the parts."


class AudioPoorQuality(AudioRejected):
    """Nothing in it that could be analysed."""

    code = ErrorCode.AUDIO_POOR_QUALITY
    default_message = "The recording holds no sound that can be analysed. Check the microphone and record again."


def audio_rejected(code: ErrorCode, message: str) -> AudioRejected:
    """The refusal of a recording that this code stands for."""
    return next(refusal for refusal in AudioRejected.__subclasses__() if refusal.code == code)(message)


class ProcessingFailed(ServiceError):
    """The service's own fault."""

    code = ErrorCode.PROCESSING_ERROR
    default_message = "The service could not finish the request. Try again in a moment."


def default_message_of(code: ErrorCode) -> str:
    """What a refusal with this code says when there is nothing more particular to say."""
    refusals = [*ServiceError.__subclasses__(), *AudioRejected.__subclasses__()]
    found = (refusal.default_message for refusal in refusals if getattr(refusal, "code", None) == code)
    return next(found, "") or _FRAMEWORK_BODIES[HTTP_STATUS[code]].message


def install_error_handlers(app: FastAPI) -> None:
    """Give every refusal, also the framework's own and crashes, the one body."""
    app.add_exception_handler(ServiceError, _service_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _framework_error)
    app.add_exception_handler(Exception, _crash)


def _answer(body: ErrorBody, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(body.model_dump(mode="json"), status_code=body.status, headers=headers)


async def _service_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ServiceError)  # noqa: S101  (narrows the handler's type)
    body = error_body(error.code, error.message)
    if isinstance(error, ValidationFailed):
        body = body.model_copy(update={"detail": error.detail})
    headers = {"Retry-After": str(error.retry_after_s)} if isinstance(error, RateLimited) else None
    return _answer(body, headers)


async def _validation_error(request: Request, error: Exception) -> JSONResponse:
    """Name the places and the rules; the inputs themselves are left out, they may hold secrets."""
    assert isinstance(error, RequestValidationError)  # noqa: S101
    detail = [
        ErrorDetail(loc=list(item["loc"]), msg=_SENTENCES.get(item["type"], item["msg"]), type=item["type"])
        for item in error.errors()
    ]
    return await _service_error(request, ValidationFailed(detail))


async def _framework_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101
    if isinstance(error.__cause__, ServiceError):  # ours, raised while the framework was reading the body
        return await _service_error(request, error.__cause__)
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods_at(request))
    body = _FRAMEWORK_BODIES.get(error.status_code)
    if body is None:
        code = ErrorCode.INVALID_REQUEST if error.status_code < 500 else ErrorCode.PROCESSING_ERROR
        phrase = http.HTTPStatus(error.status_code).phrase
        body = ErrorBody(code=code, message=f"The request was refused: {phrase}.", status=error.status_code)
    return _answer(body, headers)


def _methods_at(request: Request) -> list[str]:
    """Every method that the address takes: the framework names those of the first route alone."""
    asked = [(method, {**request.scope, "method": method}) for method in _METHODS]
    routes = request.app.router.routes
    return [method for method, scope in asked if any(route.matches(scope)[0] is Match.FULL for route in routes)]


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

_SENTENCES = {
    "json_invalid": "The body is not JSON. Check it where `loc` points.",
    "model_attributes_type": "Send a JSON object, with Content-Type application/json.",
}
"""Where the framework's own words do not say what to do, by kind of fault."""

_FRAMEWORK_BODIES = {
    404: error_body(ErrorCode.NOT_FOUND, "There is nothing at this address. Check the path."),
    405: error_body(ErrorCode.METHOD_NOT_ALLOWED, "This address does not take this method. See the Allow header."),
    400: error_body(ErrorCode.INVALID_REQUEST, "The body cannot be read. Check its encoding and content type."),
}


async def _crash(request: Request, error: Exception) -> JSONResponse:
    log.error("%s on %s", type(error).__name__, _route_of(request))
    return await _service_error(request, ProcessingFailed())


def _route_of(request: Request) -> str:
    """The route's pattern, never the path itself: group ids may name people."""
    route: Any = request.scope.get("route")
    return getattr(route, "path", "an unknown route")
