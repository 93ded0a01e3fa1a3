"""JSON bodies: bounded, read after the guard, and nothing accepted as JSON that is none."""

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
    """Reads a body and validates it as FastAPI does with a body that a route declares.

    Attributes:
        model: what the body is to be.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._adapter = TypeAdapter(model)

    async def __call__(self, request: Request) -> Any:
        """Return the validated body.

        Raises:
            RequestValidationError: there is no body, or it is not what the route needs.
            InvalidRequest: it is too long, or the caller broke off.
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
    """The dependency that reads a body: `body: Annotated[GroupCreate, json_body(GroupCreate)]`."""
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
    """Parse to the letter: Python accepts more than JSON, and less. Raises JSONDecodeError."""
    try:
        value = json.loads(body, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:  # not text, a number of thousands of digits, bottomless
        raise json.JSONDecodeError(type(error).__name__, "", 0) from None
    return value


def _refuse(constant: str) -> NoReturn:
    raise json.JSONDecodeError(f"{constant} is no JSON", "", 0)
