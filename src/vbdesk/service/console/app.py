"""Console application, mounted in the API: pages, error pages and security headers."""

from typing import cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Route

from vbdesk.contract.errors import ErrorCode
from vbdesk.language import N_, _, translated
from vbdesk.resource_files import resource
from vbdesk.service.console import keys_routes, language_routes, overview_routes, sign_in_routes, webhook_routes
from vbdesk.service.console.forms import SESSION_COOKIE, FormRefused
from vbdesk.service.console.language_routes import ReadersLanguage
from vbdesk.service.console.pages import SignInNeeded, go_to, page
from vbdesk.service.http.route_building import build_routes
from vbdesk.service.http.security_headers import Protected
from vbdesk.service.kernel.disk_space import is_disk_full
from vbdesk.service.kernel.errors import OutOfSpace, ServiceError
from vbdesk.service.ports.context import Context

_FILES = {"style.css": "text/css", "mark.svg": "image/svg+xml"}

_TITLES = {
    400: N_("The request is not valid"),
    403: N_("The form was refused"),
    404: N_("Page not found"),
    429: N_("Too many requests"),
    500: N_("The service has a fault"),
    503: N_("The service is not available"),
}
_OTHER_TITLE = N_("The request was refused")


def console_routes(context: Context) -> list[BaseRoute]:
    """Return the routes that pass requests from the API application to the console."""
    console = Protected(ReadersLanguage(create_console(context)))
    return [Route("/console", console), Route("/console/{path:path}", console)]


def create_console(context: Context) -> FastAPI:
    """Create the console application."""
    console = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    console.state.context = context
    for handled, handler in _HANDLERS.items():
        console.add_exception_handler(handled, handler)
    for routes in (overview_routes, keys_routes, webhook_routes, sign_in_routes, language_routes):
        console.include_router(routes.router)
    for name, media_type in _FILES.items():
        _add_file(console, name, media_type)
    build_routes(console)
    return console


def _add_file(console: FastAPI, name: str, media_type: str) -> None:
    content = resource("console", name).read_bytes()

    @console.get(f"/console/{name}")
    def send_file() -> Response:
        return Response(content, media_type=media_type)


def _refusal(status: int, reason: object) -> Response:
    title = _(_TITLES.get(status, _OTHER_TITLE))
    return page("refusal.html", status, title=title, sentence=translated(reason))


def _sign_in_needed(request: Request, error: Exception) -> Response:
    if not cast(
        SignInNeeded, error
    ).ended:  # a session may exist: requests from links on other sites carry no session cookie
        return go_to("/sign-in")
    response = go_to("/sign-in", "ended")
    SESSION_COOKIE.remove(request, response)
    return response


def _form_refused(_request: Request, _error: Exception) -> Response:
    return _refusal(403, N_("This form did not come from a page of yours, or the page was too old. Open it again."))


def _service_error(_request: Request, error: Exception) -> Response:
    refusal = cast(ServiceError, error)
    response = _refusal(refusal.code.facts.status, refusal.message)
    if refusal.retry_after_s is not None:
        response.headers["Retry-After"] = str(refusal.retry_after_s)
    return response


def _disk_full_or_crash(request: Request, error: Exception) -> Response:
    if not is_disk_full(error):
        raise error
    return _service_error(request, OutOfSpace())


def _framework_error(_request: Request, error: Exception) -> Response:
    refusal = cast(HTTPException, error)
    if refusal.status_code == 404:
        return _refusal(404, ErrorCode.NOT_FOUND.facts.sentence)
    response = _refusal(refusal.status_code, N_("The console does not answer this request. Go back and try again."))
    response.headers.update(refusal.headers or {})
    return response


def _no_such_page(_request: Request, _error: Exception) -> Response:
    return _refusal(404, ErrorCode.NOT_FOUND.facts.sentence)


def _crash(_request: Request, _error: Exception) -> Response:
    return _refusal(500, ErrorCode.PROCESSING_ERROR.facts.sentence)


_HANDLERS = {
    SignInNeeded: _sign_in_needed,
    FormRefused: _form_refused,
    ServiceError: _service_error,
    OSError: _disk_full_or_crash,
    DBAPIError: _disk_full_or_crash,
    HTTPException: _framework_error,
    RequestValidationError: _no_such_page,  # only ids in paths are validated
    Exception: _crash,
}
