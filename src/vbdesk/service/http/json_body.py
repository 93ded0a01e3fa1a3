"""JSON bodies: bounded, and nothing taken for JSON that is none."""

import json
from typing import Any, NoReturn

from fastapi import Request
from starlette.types import Message

from vbdesk.service.kernel.errors import InvalidRequest

MAX_JSON_BYTES = 1024 * 1024


def bounded_json(request: Request) -> Request:
    """The same request, whose body fails instead of filling the memory, and whose JSON is read to the letter."""
    received = 0

    async def receive() -> Message:
        nonlocal received
        message = await request.receive()
        received += len(message.get("body", b""))
        if received > MAX_JSON_BYTES:
            raise InvalidRequest("The body is longer than 1 MiB. Send less at once.")
        return message

    return _JsonRequest(request.scope, receive)


class _JsonRequest(Request):
    """A request that refuses what Python takes for JSON though it is none, or cannot take though it is."""

    async def json(self) -> Any:
        """The body. Raises JSONDecodeError, which becomes a 422 that names the place."""
        body = await self.body()
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
