"""How an emulated store behaves today: refusing, losing its answers, slow; and what it has been asked."""

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
    """The switch.

    Attributes:
        refuse: share of requests that are refused with 503 before anything is done.
        lose: share of requests that are carried out and then answered 500 all the same.
        delay_s: pause before every answer.
        ignore_conditions: overwrites objects whatever was asked, as older stores do.
        plain_copies: S3 alone: answers 501 to conditional copies, as some stores do.
    """

    refuse: float = 0.0
    lose: float = 0.0
    delay_s: float = 0.0
    ignore_conditions: bool = False
    plain_copies: bool = False


@dataclass
class Moods:
    """The mood of now, and counts of requests by kind (`signed-put`, `own-put`, `refused`, ...)."""

    mood: Mood = Mood()
    counts: Counter[str] = field(default_factory=Counter)

    async def control(self, request: Request) -> Response:
        """`GET /_control` tells, `PUT /_control` with JSON of some fields of Mood sets; the others go back to calm."""
        if request.method == "PUT":
            asked: dict[str, Any] = await request.json()
            unknown = set(asked) - {known.name for known in fields(Mood)}
            if unknown:
                return JSONResponse({"unknown": sorted(unknown)}, 400)
            self.mood = replace(Mood(), **asked)
        return JSONResponse({"mood": self.mood.__dict__, "counts": dict(self.counts)})


class Moody:
    """Lets the mood act on every request but those to the switch and to the maker's tokens."""

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
            await Request(
                scope, receive
            ).body()  # clients that wait for "100 Continue" else take the connection for good
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
