"""Fair slots for work done before anybody pays: shared between senders, limited for each.

Shares are measured in time, not in recordings: a file of a few kilobytes may take as long as a thousand others.
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
"""Time in a window that a sender's refused recordings may take. Refusing a recording of usual size takes a tenth of a
second; three recordings that use up their processor time use up the limit."""


@dataclass(frozen=True, slots=True)
class _Use:
    """Time used by one recording."""

    ended_at: float
    seconds: float
    refused: bool


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A caller that waits for a slot."""

    sender: str
    granted: asyncio.Future[None]


class FairSlots:
    """Gives the next slot to the sender with the least recent use, up to a limit per sender.

    Call all methods in the event loop.
    """

    def __init__(self, slots: int, of_one_sender: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Create `slots` slots, of which one sender gets at most `of_one_sender` at a time."""
        self._free = slots
        self._of_one_sender = of_one_sender
        self._monotonic = monotonic
        self._held: Counter[str] = Counter()
        self._uses: defaultdict[str, deque[_Use]] = defaultdict(deque)
        self._waiting: list[_Waiting] = []

    async def take(self, sender: str) -> None:
        """Wait for a slot. The caller returns it with `give_back`.

        Raises:
            TooMuchRefused: the sender's time for refused recordings is used up; no slot was taken.
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
            self._require_time(sender)  # other recordings of the sender may have been refused while this one waited
        except TooMuchRefused:
            self._release(sender)
            raise

    def give_back(self, sender: str, seconds: float, *, refused: bool) -> None:
        """Return a slot that was used for `seconds`, and record whether the recording was refused."""
        self._uses[sender].append(_Use(self._monotonic(), seconds, refused))
        for known in list(self._uses):
            self._recent(known)  # removes senders without recent use
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
        for use in refused:  # oldest first: find the use whose expiry frees enough time
            excess_s -= use.seconds
            if excess_s < 0:
                break
        raise TooMuchRefused(max(1, math.ceil(use.ended_at + WINDOW_S - self._monotonic())))

    def _recent(self, sender: str) -> deque[_Use] | tuple[()]:
        """Return the sender's uses in the current window."""
        uses = self._uses.get(sender)
        if uses is None:
            return ()
        while uses and uses[0].ended_at <= self._monotonic() - WINDOW_S:
            uses.popleft()
        if not uses:
            del self._uses[sender]
        return uses
