"""Places for work that is done before anybody pays for it: shared fairly, and bounded for everyone.

What counts is time, not the number of recordings: a file of some kilobytes may take as long as a thousand others.
"""

import asyncio
import math
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

from vbdesk.service.kernel.errors import TooMuchRefused

WINDOW_S = 60.0
REFUSED_S = 30.0
"""Time that recordings of one sender may take in a window and be refused all the same. A refused recording of usual
size takes a tenth of a second; three that stall until they are given up use the time up."""


@dataclass(frozen=True, slots=True)
class _Use:
    """Time that one recording took."""

    ended_at: float
    seconds: float
    refused: bool


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Somebody who waits for a place."""

    sender: str
    granted: asyncio.Future[None]


class FairSlots:
    """Hands places out: next to the sender who used the least time lately, and to nobody more than a part of them.

    All methods are called in the event loop.
    """

    def __init__(self, places: int, of_one_sender: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Prepare; of `places` at most `of_one_sender` are one sender's at any time."""
        self._free = places
        self._of_one_sender = of_one_sender
        self._monotonic = monotonic
        self._held: Counter[str] = Counter()
        self._uses: defaultdict[str, deque[_Use]] = defaultdict(deque)
        self._waiting: list[_Waiting] = []

    async def take(self, sender: str) -> None:
        """Wait for a place, to be given back.

        Raises:
            TooMuchRefused: the sender's time for refused recordings is used up; no place was taken.
        """
        self._require_time(sender)
        waiting = _Waiting(sender, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._grant()
        try:
            await waiting.granted
        except asyncio.CancelledError:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            else:
                self._release(sender)
            raise
        try:
            self._require_time(sender)  # others of the same sender were refused meanwhile
        except TooMuchRefused:
            self._release(sender)
            raise

    def give_back(self, sender: str, seconds: float, *, refused: bool) -> None:
        """Give a place back that was used for so long, for a recording that was refused or not."""
        self._uses[sender].append(_Use(self._monotonic(), seconds, refused))
        for known in list(self._uses):
            self._recent(known)  # forgets who used nothing lately
        self._release(sender)

    def _release(self, sender: str) -> None:
        self._free += 1
        self._held[sender] -= 1
        if not self._held[sender]:
            del self._held[sender]
        self._grant()

    def _grant(self) -> None:
        while self._free:
            may_go = [one for one in self._waiting if self._held[one.sender] < self._of_one_sender]
            if not may_go:
                return
            next_one = min(may_go, key=lambda one: (self._held[one.sender], self._used_s(one.sender)))
            self._waiting.remove(next_one)
            self._free -= 1
            self._held[next_one.sender] += 1
            if not next_one.granted.done():
                next_one.granted.set_result(None)

    def _used_s(self, sender: str) -> float:
        return sum(use.seconds for use in self._recent(sender))

    def _require_time(self, sender: str) -> None:
        refused = [use for use in self._recent(sender) if use.refused]
        excess_s = sum(use.seconds for use in refused) - REFUSED_S
        if excess_s < 0:
            return
        for use in refused:  # oldest first: with which of them does enough leave the window?
            excess_s -= use.seconds
            if excess_s < 0:
                break
        raise TooMuchRefused(max(1, math.ceil(use.ended_at + WINDOW_S - self._monotonic())))

    def _recent(self, sender: str) -> deque[_Use] | tuple[()]:
        """What the sender used in the window that ends now."""
        uses = self._uses.get(sender)
        if uses is None:
            return ()
        while uses and uses[0].ended_at <= self._monotonic() - WINDOW_S:
            uses.popleft()
        if not uses:
            del self._uses[sender]
        return uses
