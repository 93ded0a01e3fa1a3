"""Faults of an emulated store: refusals, lost responses, delays; and counts of requests."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send


@dataclass(frozen=True)
class Mood:
    """Faults to simulate.

    Attributes:
        refuse: share of requests that are refused with 503 without any effect.
        lose: share of requests that are carried out and then answered 500.
        delay_s: pause before every response.
        ignore_conditions: overwrites objects in spite of conditions, as older stores do.
        plain_copies: S3 only: answers 501 to conditional copies, as some stores do.
    """

    refuse: float = 0.0
    lose: float = 0.0
    delay_s: float = 0.0
    ignore_conditions: bool = False
    plain_copies: bool = False


@dataclass
class Moods:
    """The current mood, and counts of requests by kind (`signed-put`, `own-put`, `refused`, ...)."""

    mood: Mood = Mood()
    counts: Counter[str] = field(default_factory=Counter)

    async def control(self, request: Request) -> Response:
        """Handle `GET /_control`, and `PUT /_control` with fields of Mood; other fields are reset."""
        if request.method == "PUT":
            asked: dict[str, Any] = await request.json()
            unknown = set(asked) - {known.name for known in fields(Mood)}
            if unknown:
                return JSONResponse({"unknown": sorted(unknown)}, 400)
            self.mood = replace(Mood(), **asked)
        return JSONResponse({"mood": self.mood.__dict__, "counts": dict(self.counts)})


class Moody:
    """Applies the mood to all requests except those to the switch and for tokens."""

    def __init__(self, app: ASGIApp, moods: Moods, chance: Callable[[], float]) -> None:
        self._app, self._moods, self._chance = app, moods, chance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        mood = self._moods.mood
        if scope["type"] != "http" or scope["path"] in ("/_control", "/token"):
            await self._app(scope, receive, send)
            return
        if mood.delay_s:
            await asyncio.sleep(mood.delay_s)
        chance = self._chance()
        if chance < mood.refuse:
            self._moods.counts["refused"] += 1
            # Without this, clients that wait for "100 Continue" would reuse the connection.
            await Request(scope, receive).body()
            await _unavailable(503, "SlowDown")(scope, receive, send)
        elif chance < mood.refuse + mood.lose:
            self._moods.counts["lost"] += 1
            await self._app(scope, receive, _swallow)
            await _unavailable(500, "InternalError")(scope, receive, send)
        else:
            await self._app(scope, receive, send)


async def _swallow(_message: Any) -> None:
    pass


def _unavailable(status: int, code: str) -> Response:
    text = f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code><Message>Try again.</Message></Error>"
    return Response(text, status, media_type="application/xml")
