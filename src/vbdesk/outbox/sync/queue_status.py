"""State of the queue as a whole: connectivity, hold, balance; and publishing it."""

from collections.abc import Callable

from vbdesk.clock import Clock
from vbdesk.outbox.library.states import Fix
from vbdesk.outbox.sync.connectivity import CONNECTED, UNTRIED, Connectivity, SyncStatus
from vbdesk.outbox.sync.error_policy import HoldQueue

PROBE_S = {Fix.SET_CLOCK: 60.0, Fix.ADD_CREDITS: 600.0, Fix.ENTER_KEY: 900.0, Fix.UNLOCK_KEYRING: 5.0}
"""How often a hold is retried without a person. Reading the keyring again is free; a wrong key bothers the service."""

OUTAGE = 3  # failures in a row; fewer may be caused by one recording


class QueueStatus:
    """What is known about the queue as a whole.

    Attributes:
        connectivity: to the service, as last seen.
        hold: what a person must do before the queue continues.
        credits: the last known balance.
        disk_fault: why the library cannot be written, as a sentence; empty while it can.
        status: as last published.
    """

    def __init__(self, clock: Clock, on_status: Callable[[SyncStatus], None] | None) -> None:
        self._clock = clock
        self._on_status = on_status
        self._probe_at = 0.0
        self._credits_at_hold: int | None = None
        self._failures = 0  # to reach the service, in a row
        self.connectivity = UNTRIED
        self.hold: HoldQueue | None = None
        self.credits: int | None = None
        self.disk_fault = ""
        self.status = SyncStatus(None, UNTRIED.sentence, None, None)

    @property
    def fix(self) -> Fix | None:
        """What a person must do."""
        return None if self.hold is None else self.hold.fix

    @property
    def probe_in_s(self) -> float:
        """Seconds until a held queue may be retried; 0 without a hold."""
        return 0.0 if self.hold is None else max(0.0, self._probe_at - self._clock.monotonic())

    def begin_hold(self, hold: HoldQueue) -> None:
        """Start or extend a hold until a person acts."""
        if self.fix is not hold.fix:
            self._credits_at_hold = None
        self.hold = hold
        self.postpone_probe(PROBE_S[hold.fix])

    def postpone_probe(self, seconds: float) -> None:
        """Do not retry the hold for so many seconds."""
        self._probe_at = self._clock.monotonic() + seconds

    def release(self, *fixes: Fix) -> None:
        """End the hold if it is one of these."""
        if self.fix in fixes:
            self.hold = None

    def is_probed(self) -> bool:
        """Whether the hold may be retried now."""
        return self._clock.monotonic() >= self._probe_at

    def set_unreachable(self, connectivity: Connectivity) -> int:
        """The service was not reached; returns the number of earlier failures in a row."""
        self.connectivity = connectivity
        self._failures += 1
        return self._failures - 1

    def set_reached(self) -> bool:
        """The service has answered; True if an outage ends."""
        was_out = self._failures >= OUTAGE
        self.connectivity, self._failures = CONNECTED, 0
        return was_out

    def restart(self) -> None:
        """Forget hold and failures: a person has acted, or the network is back."""
        self.hold, self._failures = None, 0

    def take_in_credits(self, credits: int) -> None:
        """Store the balance; end a hold for missing credits once the balance has grown."""
        self.credits = credits
        if self.fix is Fix.ADD_CREDITS:
            if self._credits_at_hold is None:
                self._credits_at_hold = credits
            elif credits > self._credits_at_hold:
                self.hold = None

    def publish(self, sentence: str) -> None:
        """Publish the status if it has changed; `sentence` applies if nothing is wrong.

        Gives one explanation at a time. An unreachable service hides a hold, which cannot be resolved before; a locked
        keyring and a disk fault come first.
        """
        fix = self.fix
        if self.connectivity.connected is False and fix is not Fix.UNLOCK_KEYRING:
            sentence, fix = self.connectivity.sentence, None
        elif self.hold is not None:
            sentence = self.hold.sentence
        if self.disk_fault:
            sentence, fix = self.disk_fault, Fix.MAKE_ROOM
        status = SyncStatus(self.connectivity.connected, sentence, fix, self.credits, self.connectivity.state)
        if status != self.status:
            self.status = status
            if self._on_status is not None:
                self._on_status(status)
