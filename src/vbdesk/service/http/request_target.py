"""Request targets normalised to a path, in which an encoded slash stays in its segment."""

import re
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

_ABSOLUTE = re.compile(rb"https?://[^/]*", re.IGNORECASE)


class PlainRequestTargets:
    """ASGI middleware that normalises request targets.

    Callers behind a proxy may send an absolute URL (`GET http://host/path`), which every server must accept. `a%2Fb` in
    a path is one name with a slash, not two names: routes see it as it was sent.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._app({**scope, **_plain(scope["raw_path"])} if scope["type"] == "http" else scope, receive, send)


def _plain(raw_path: bytes) -> dict[str, Any]:
    """Return the scope's fields to change."""
    absolute = _ABSOLUTE.match(raw_path)
    if absolute is None and b"%2f" not in raw_path.lower():
        return {}
    raw_path = raw_path[absolute.end() if absolute else 0 :] or b"/"
    return {"raw_path": raw_path, "path": unquote(re.sub("%2f", "%252F", raw_path.decode("ascii"), flags=re.I))}
