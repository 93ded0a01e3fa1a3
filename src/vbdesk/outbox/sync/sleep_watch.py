"""Whether the computer slept, or its clock was set, since the last step."""

from vbdesk.clock import Clock

CLOCKS_PART_S = 10.0  # on some systems the monotonic clock stops during sleep
TOO_LATE_S = 30.0  # on the others, only a late step shows the sleep


class SleepWatch:
    """Compares the wall clock with the monotonic one, and both with the planned time of the next step."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.expect_step_within(0.0)

    def expect_step_within(self, seconds: float) -> None:
        """Plan the next step within `seconds`."""
        self._wall, self._steady = self._clock.now(), self._clock.monotonic()
        self._due_s = seconds

    def has_slept(self) -> bool:
        """Whether much more time than planned has passed, or a clock jumped."""
        steady_s = self._clock.monotonic() - self._steady
        wall_s = (self._clock.now() - self._wall).total_seconds()
        return abs(wall_s - steady_s) > CLOCKS_PART_S or steady_s > self._due_s + TOO_LATE_S
