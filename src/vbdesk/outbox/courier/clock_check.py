"""Whether the clock of this computer is right, and since when it may not have been."""

from datetime import datetime, timedelta

from vbdesk.capture.clock import Clock
from vbdesk.contract.timestamps import local_minute

TOLERANCE = timedelta(minutes=15)
"""Histories count days, and an upload may begin for as long: less does no harm, and hardly any clock is exact."""

FUTURE = timedelta(minutes=5)
"""No recording is made later than now; its time may be so much later, since no two clocks are the same."""

DOUBT = "Made while the clock of this computer was wrong, so its time of recording may be wrong too."


class ClockCheck:
    """What is known of the clock in this run of the program."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since = clock.now()
        self._right = False

    def time_leapt(self) -> None:
        """The clock was set, or the computer slept: what was known does not hold any more."""
        now = self._clock.now()
        self._since = now if self._right else min(self._since, now)
        self._right = False

    def compare(self, error: timedelta | None) -> datetime | None:
        """Take in how far the service's clock is before ours; from when on takes made here are doubtful, None if not.

        A right clock is compared once after each leap: takes made by it while it was ahead lie in its future now.
        """
        if error is None or (self._right and abs(error) <= TOLERANCE):
            return None
        self._right = abs(error) <= TOLERANCE
        return self._clock.now() + TOLERANCE if self._right else self._since

    def sentence(self, error: timedelta | None) -> str:
        """What to tell a person of a wrong clock."""
        ours = self._clock.now()
        theirs = "" if error is None else f", and the service's {_on_the_wall(ours + error)}"
        return f"The clock of this computer is wrong: it says {_on_the_wall(ours)}{theirs}. Set it."


def future_fault(recorded_at: datetime) -> str:
    """What to tell a person of a recording whose time has not come yet."""
    return (
        f"By its time, {_on_the_wall(recorded_at)}, it is not made yet: the clock of this computer was ahead. "
        "It is kept, and is sent once its time is corrected."
    )


def _on_the_wall(moment: datetime) -> str:
    """As a person reads it; to the minute, so that it is not news each time."""
    return local_minute(moment)
