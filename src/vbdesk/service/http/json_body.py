"""JSON bodies: limited in size, read after the guard, strictly parsed."""

import json
from email.message import Message
from typing import Any, NoReturn

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect

from vbdesk.service.kernel.errors import InvalidRequest

MAX_JSON_BYTES = 1024 * 1024


class JsonBody:
    """Reads a body and validates it like a FastAPI body parameter.

    Attributes:
        model: type of the body.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._adapter = TypeAdapter(model)

    async def __call__(self, request: Request) -> Any:
        """Return the validated body.

        Raises:
            RequestValidationError: the body is missing or invalid.
            InvalidRequest: it is too long, or the caller disconnected.
        """
        body = await _read(request)
        if not body:
            raise RequestValidationError([{"type": "missing", "loc": ("body",), "msg": "Field required"}])
        try:
            return self._adapter.validate_python(_parsed(body) if _is_json(request) else body, from_attributes=True)
        except json.JSONDecodeError as error:
            fault = {"type": "json_invalid", "loc": ("body", error.pos), "msg": "JSON decode error"}
            raise RequestValidationError([fault]) from None
        except ValidationError as error:
            faults = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors(include_url=False)]
            raise RequestValidationError(faults) from None


def json_body(model: Any) -> Any:
    """Create the dependency that reads a body: `body: Annotated[GroupCreate, json_body(GroupCreate)]`."""
    return Depends(JsonBody(model))


async def _read(request: Request) -> bytes:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_JSON_BYTES:
                raise InvalidRequest("The body is longer than 1 MiB. Send less at once.")
    except ClientDisconnect:
        raise InvalidRequest("The body broke off. Send it again.") from None
    return bytes(body)


def _is_json(request: Request) -> bool:
    message = Message()
    message["content-type"] = request.headers.get("content-type") or "text/plain"
    subtype = message.get_content_subtype()
    return message.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))


def _parsed(body: bytes) -> Any:
    """Parse strictly: Python accepts values that are not JSON. Raises JSONDecodeError."""
    try:
        value = json.loads(body, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False).encode()  # refuse half a surrogate pair
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:  # not text, a number of thousands of digits, or nested too deeply
        raise json.JSONDecodeError(type(error).__name__, "", 0) from None
    return value


def _refuse(constant: str) -> NoReturn:
    raise json.JSONDecodeError(f"{constant} is no JSON", "", 0)
