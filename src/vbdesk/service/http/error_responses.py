"""Conversion of all errors, including the framework's, into responses."""

import http
import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from vbdesk.contract.errors import ErrorBody, ErrorCode, ErrorDetail, error_body
from vbdesk.service.kernel.disk_space import is_disk_full
from vbdesk.service.kernel.errors import OutOfSpace, ProcessingFailed, ServiceError, ValidationFailed
from vbdesk.service.observability.request_metrics import REFUSED
from vbdesk.service.storage.store import StoreFull, StoreUnavailable

log = logging.getLogger(__name__)


def install_error_handlers(app: FastAPI) -> None:
    """Give every error, including the framework's and unexpected ones, the same body."""
    app.add_exception_handler(ServiceError, _service_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _framework_error)
    app.add_exception_handler(StoreUnavailable, _store_unavailable)
    app.add_exception_handler(OSError, _disk_full_or_crash)
    app.add_exception_handler(DBAPIError, _disk_full_or_crash)
    app.add_exception_handler(Exception, _crash)


def _answer(body: ErrorBody, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(body.model_dump(mode="json"), status_code=body.status, headers=headers)


async def _service_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ServiceError)  # noqa: S101  (narrows the handler's type)
    request.scope[REFUSED] = error.code
    body = error_body(error.code, error.message)
    if isinstance(error, ValidationFailed):
        body = body.model_copy(update={"detail": error.detail})
    headers = None if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
    return _answer(body, headers)


async def _validation_error(request: Request, error: Exception) -> JSONResponse:
    """Name the fields and the rules; omit the inputs, which may contain secrets."""
    assert isinstance(error, RequestValidationError)  # noqa: S101
    detail = [
        ErrorDetail(loc=list(item["loc"]), msg=_SENTENCES.get(item["type"], item["msg"]), type=item["type"])
        for item in error.errors()
    ]
    return await _service_error(request, ValidationFailed(detail))


async def _framework_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods_at(request))
    body = _FRAMEWORK_BODIES.get(error.status_code)
    if body is None:
        code = ErrorCode.INVALID_REQUEST if error.status_code < 500 else ErrorCode.PROCESSING_ERROR
        phrase = http.HTTPStatus(error.status_code).phrase
        body = ErrorBody(code=code, message=f"The request was refused: {phrase}.", status=error.status_code)
    request.scope[REFUSED] = body.code
    return _answer(body, headers)


def _methods_at(request: Request) -> list[str]:
    """Return all methods of the path: the framework names only those of the first route."""
    asked = [(method, {**request.scope, "method": method}) for method in _METHODS]
    routes = request.app.router.routes
    return [method for method, scope in asked if any(route.matches(scope)[0] is Match.FULL for route in routes)]


_STORE_UNAVAILABLE = (
    "The store of the recordings does not answer. Nothing was stored or charged. Try again in a moment."
)
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")

_SENTENCES = {
    "json_invalid": "The body is not JSON. Check it where `loc` points.",
    "model_attributes_type": "Send a JSON object, with Content-Type application/json.",
}
"""Replacements for framework messages that do not say what to do, by kind of fault."""

_FRAMEWORK_BODIES = {
    404: error_body(ErrorCode.NOT_FOUND, "There is nothing at this address. Check the path."),
    405: error_body(ErrorCode.METHOD_NOT_ALLOWED, ErrorCode.METHOD_NOT_ALLOWED.facts.sentence),
    400: error_body(ErrorCode.INVALID_REQUEST, "The body cannot be read. Check its encoding and content type."),
}


async def _store_unavailable(request: Request, error: Exception) -> JSONResponse:
    log.warning("%s on %s", error, _route_of(request))
    refusal = OutOfSpace() if isinstance(error, StoreFull) else ProcessingFailed(_STORE_UNAVAILABLE)
    return await _service_error(request, refusal)


async def _disk_full_or_crash(request: Request, error: Exception) -> JSONResponse:
    if not is_disk_full(error):
        raise error
    log.error("No disk space is left for %s.", _route_of(request))
    return await _service_error(request, OutOfSpace())


async def _crash(request: Request, error: Exception) -> JSONResponse:
    log.error("%s on %s", type(error).__name__, _route_of(request))
    return await _service_error(request, ProcessingFailed())


def _route_of(request: Request) -> str:
    """Return the route's pattern, never the path itself: group ids may name people."""
    route: Any = request.scope.get("route")
    return getattr(route, "path", "an unknown route")
