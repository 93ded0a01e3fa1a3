"""Whether the clock of this computer is right, by what the service answers."""

import logging
import sqlite3
from collections import deque
from datetime import datetime, timedelta

from vbdesk.capture.clock import Clock
from vbdesk.contract.timestamps import local_minute
from vbdesk.outbox.library.recording_time import RIGHT, ServiceTime
from vbdesk.outbox.library.service_times import ServiceTimes

FUTURE = timedelta(minutes=5)
"""No recording is made later than now; its time may be so much later, since no two clocks are the same."""

COMPARED = 4  # answers that a later one may confirm

log = logging.getLogger(__name__)


class ClockCheck:
    """Takes a time that the service tells for confirmed once two of its answers agree."""

    def __init__(self, clock: Clock, times: ServiceTimes) -> None:
        self._clock, self._times = clock, times
        self._unconfirmed: deque[ServiceTime] = deque(maxlen=COMPARED)
        self._reviewed_error: timedelta | None = None

    def hear(self, answer: ServiceTime) -> bool:
        """Compare an answer with earlier ones; True if it is confirmed. A full disk is no reason to lose the answer."""
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
            log.exception("The service's time could not be kept")
        return True

    @property
    def needs_another(self) -> bool:
        """Whether one more answer may confirm the time; a service whose answers never agree is not asked for ever."""
        return 0 < len(self._unconfirmed) < COMPARED

    def sentence(self, error: timedelta | None) -> str:
        """What to tell a person of a wrong clock."""
        ours = self._clock.now()
        theirs = "" if error is None else f", and the service's {_on_the_wall(ours + error)}"
        return f"The clock of this computer is wrong: it says {_on_the_wall(ours)}{theirs}. Set it."

    def _review(self, error: timedelta) -> None:
        """Look at all recordings again, once in a run and whenever the clock was set."""
        if self._reviewed_error is None or abs(error - self._reviewed_error) > RIGHT:
            self._times.review()
            self._reviewed_error = error


def _on_the_wall(moment: datetime) -> str:
    """As a person reads it; to the minute, so that it is not news each time."""
    return local_minute(moment)
