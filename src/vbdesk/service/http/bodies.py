"""Bodies that are refused without being read."""

from starlette.requests import HTTPConnection

_UNREAD_BODY_BYTES = 64 * 1024


def closing_headers(request: HTTPConnection) -> dict[str, str]:
    """Headers that end the connection of a refused request, if it announced a body too long to read to its end."""
    length = request.headers.get("content-length", "0")
    long = "transfer-encoding" in request.headers or not length.isdigit() or int(length) > _UNREAD_BODY_BYTES
    return {"Connection": "close"} if long else {}
