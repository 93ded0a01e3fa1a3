"""Whether the computer slept, or its clock was set, since the last look."""

from vbdesk.capture.clock import Clock

CLOCKS_PART_S = 10.0  # one of the two clocks stands still during sleep; both run alike otherwise
TOO_LATE_S = 30.0  # where both go on during sleep, only our own lateness tells


class SleepWatch:
    """Compares the clock of the day with the steady one, and both with when the next look was meant to be."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.look_again_in(0.0)

    def look_again_in(self, seconds: float) -> None:
        """The next look is meant to be within `seconds`."""
        self._wall, self._steady = self._clock.now(), self._clock.monotonic()
        self._due_s = seconds

    def has_slept(self) -> bool:
        """Whether much more time has passed than was meant to, or time made a leap."""
        steady_s = self._clock.monotonic() - self._steady
        wall_s = (self._clock.now() - self._wall).total_seconds()
        return abs(wall_s - steady_s) > CLOCKS_PART_S or steady_s > self._due_s + TOO_LATE_S
