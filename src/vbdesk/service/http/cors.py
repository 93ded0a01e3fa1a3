"""Cross-origin requests: pages of listed origins may use the API and put recordings; by default none may."""

from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from vbdesk.contract.accounts import ACCOUNT_HEADER, API_KEY_HEADER, SECRET_KEY_HEADER
from vbdesk.contract.errors import ErrorCode, error_body
from vbdesk.contract.idempotency import KEY_HEADER, RETENTION_HEADER
from vbdesk.contract.uploads import LENGTH_RANGE_HEADER
from vbdesk.service.http.malformed_requests import Refusal

REFUSED = "The service does not allow this cross-origin request. See the setting cors_origins."

_API_PATHS = ("/v2/", "/api/v1/", "/openapi.json")  # never the console, whose forms belong to its own origin
_API_HEADERS = (ACCOUNT_HEADER, API_KEY_HEADER, SECRET_KEY_HEADER, KEY_HEADER, "If-None-Match", "traceparent")
_EXPOSED = (RETENTION_HEADER, "Retry-After", "ETag", "RateLimit", "RateLimit-Policy", "Content-Disposition")
_IN_JSON = Refusal("application/json", error_body(ErrorCode.INVALID_REQUEST, REFUSED).model_dump_json().encode())


def api_with_cors(app: ASGIApp, origins: Collection[str]) -> ASGIApp:
    """The API, open to pages of these origins.

    It must stand around everything else: a preflight has no credentials, and a crash needs the headers too.
    """
    return _Cors(app, origins, ("GET", "POST", "DELETE"), _API_HEADERS, _EXPOSED, _IN_JSON, _API_PATHS)


def storage_with_cors(app: ASGIApp, origins: Collection[str], refusal: Refusal) -> ASGIApp:
    """The embedded store's origin, open to PUTs of pages of these origins."""
    return _Cors(app, origins, ("PUT",), (LENGTH_RANGE_HEADER,), (), refusal, ("/",))


class _Cors(CORSMiddleware):
    """Starlette's middleware, for some paths only, and with refusals in the application's own shape."""

    def __init__(
        self,
        app: ASGIApp,
        origins: Collection[str],
        methods: Collection[str],
        headers: Collection[str],
        exposed: Collection[str],
        refusal: Refusal,
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
        """The answer to a preflight; what is refused does not say what would be allowed."""
        answer = super().preflight_response(request_headers)
        if answer.status_code == 200:
            return answer
        return Response(self._refusal.body, 400, {"Vary": answer.headers["Vary"]}, media_type=self._refusal.media_type)
