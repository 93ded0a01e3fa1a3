"""CORS: pages of listed origins may use the API and upload recordings; by default none may."""

from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from vbdesk.contract.accounts import ACCOUNT_HEADER, API_KEY_HEADER, SECRET_KEY_HEADER
from vbdesk.contract.errors import ErrorCode, error_body
from vbdesk.contract.idempotency import KEY_HEADER
from vbdesk.contract.spoken_language import ANNOUNCEMENT_HEADER
from vbdesk.contract.uploads import LENGTH_RANGE_HEADER
from vbdesk.service.http.malformed_requests import MalformedRequestAnswer

REFUSED = "The service does not allow this cross-origin request. See the setting cors_origins."

_API_PATHS = ("/v2/", "/api/v1/", "/openapi.json")  # never the console: its forms belong to its own origin
_API_HEADERS = (ACCOUNT_HEADER, API_KEY_HEADER, SECRET_KEY_HEADER, KEY_HEADER, "If-None-Match", "traceparent")
_EXPOSED = (
    ANNOUNCEMENT_HEADER,
    "Retry-After",
    "ETag",
    "RateLimit",
    "RateLimit-Policy",
    "Content-Disposition",
)
_IN_JSON = MalformedRequestAnswer(
    "application/json", error_body(ErrorCode.INVALID_REQUEST, REFUSED).model_dump_json().encode()
)


def api_with_cors(app: ASGIApp, origins: Collection[str]) -> ASGIApp:
    """Allow pages of these origins to call the API.

    This must be the outermost middleware: a preflight has no credentials, and error responses need the headers too.
    """
    return _Cors(app, origins, ("GET", "POST", "DELETE"), _API_HEADERS, _EXPOSED, _IN_JSON, _API_PATHS)


def storage_with_cors(app: ASGIApp, origins: Collection[str], refusal: MalformedRequestAnswer) -> ASGIApp:
    """Allow pages of these origins to PUT to the embedded store."""
    return _Cors(app, origins, ("PUT",), (LENGTH_RANGE_HEADER,), (), refusal, ("/",))


class _Cors(CORSMiddleware):
    """Starlette's middleware, limited to some paths and with the application's own error responses."""

    def __init__(
        self,
        app: ASGIApp,
        origins: Collection[str],
        methods: Collection[str],
        headers: Collection[str],
        exposed: Collection[str],
        refusal: MalformedRequestAnswer,
        paths: tuple[str, ...],
    ) -> None:
        super().__init__(
            app, allow_origins=origins, allow_methods=methods, allow_headers=headers, expose_headers=exposed
        )
        self._refusal = refusal
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        covered = scope["type"] == "http" and scope["path"].startswith(self._paths)
        await (super().__call__ if covered else self.app)(scope, receive, send)

    def preflight_response(self, request_headers: Headers) -> Response:
        """Return the answer to a preflight; a refusal does not say what would be allowed."""
        answer = super().preflight_response(request_headers)
        if answer.status_code == 200:
            return answer
        return Response(self._refusal.body, 400, {"Vary": answer.headers["Vary"]}, media_type=self._refusal.media_type)
