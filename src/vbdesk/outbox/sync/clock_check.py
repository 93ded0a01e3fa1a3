"""Whether the clock of this computer is right, compared with the service's answers."""

import logging
import sqlite3
from collections import deque
from datetime import datetime, timedelta

from vbdesk.clock import Clock
from vbdesk.contract.timestamps import local_minute
from vbdesk.language import message
from vbdesk.outbox.library.recording_time import RIGHT, ServiceTime
from vbdesk.outbox.library.service_times import ServiceTimes

FUTURE = timedelta(minutes=5)
"""Tolerance for a `recorded_at` in the future: two clocks never agree exactly."""

COMPARED = 4  # unconfirmed answers kept for comparison

log = logging.getLogger(__name__)


class ClockCheck:
    """Confirms the service's time once two of its answers agree."""

    def __init__(self, clock: Clock, times: ServiceTimes) -> None:
        self._clock, self._times = clock, times
        self._unconfirmed: deque[ServiceTime] = deque(maxlen=COMPARED)
        self._reviewed_error: timedelta | None = None

    def add_answer(self, answer: ServiceTime) -> bool:
        """Compare an answer with earlier ones; True if it is confirmed. A full disk does not lose the answer."""
        agreeing = next((each for each in self._unconfirmed if each.agrees_with(answer)), None)
        try:
            if agreeing is None and not self._times.agrees(answer):
                self._unconfirmed.append(answer)
                return False
            if agreeing is not None:
                self._times.confirm(agreeing)
            self._times.confirm(answer)
            self._unconfirmed.clear()
            self._review(answer.later(self._clock.boot().seconds) - self._clock.now())
        except (sqlite3.Error, OSError):
            log.exception("Cannot store the service's time")
        return True

    @property
    def needs_another(self) -> bool:
        """Whether one more answer may confirm the time; False once four answers have disagreed."""
        return 0 < len(self._unconfirmed) < COMPARED

    def sentence(self, error: timedelta | None) -> str:
        """What to tell a person about a wrong clock."""
        ours = self._clock.now()
        if error is None:
            return message("The clock of this computer is wrong: it says {here}. Set it.", here=_on_the_wall(ours))
        return message(
            "The clock of this computer is wrong: it says {here}, and the service's {there}. Set it.",
            here=_on_the_wall(ours),
            there=_on_the_wall(ours + error),
        )

    def _review(self, error: timedelta) -> None:
        """Review all recordings once in a run, and whenever the clock was set."""
        if self._reviewed_error is None or abs(error - self._reviewed_error) > RIGHT:
            self._times.review()
            self._reviewed_error = error


def _on_the_wall(moment: datetime) -> str:
    """A local time to the minute, so that the sentence does not change every second."""
    return local_minute(moment)
