"""How the line as a whole stands: the way to the service, what holds it, the balance; and who is told."""

from collections.abc import Callable

from vbdesk.capture.clock import Clock
from vbdesk.outbox.library.states import Fix
from vbdesk.outbox.sync.connectivity import CONNECTED, UNTRIED, CourierStatus, Way
from vbdesk.outbox.sync.error_policy import Hold

PROBE_S = {Fix.SET_CLOCK: 60.0, Fix.ADD_CREDITS: 600.0, Fix.ENTER_KEY: 900.0, Fix.UNLOCK_KEYRING: 5.0}
"""How often a hold is tried without a person; reading the key again disturbs nobody, a wrong key the service."""

OUTAGE = 3  # failures in a row: less may be the fault of one recording


class Standing:
    """What is known of the line as a whole.

    Attributes:
        way: to the service, as it was found last.
        hold: what the line waits for a person for.
        credits: the balance as last heard.
        disk_fault: why the library cannot be written, in words; empty while it can.
        status: as it was told last.
    """

    def __init__(self, clock: Clock, on_status: Callable[[CourierStatus], None] | None) -> None:
        self._clock = clock
        self._on_status = on_status
        self._probe_at = 0.0
        self._credits_at_hold: int | None = None
        self._failures = 0  # of the way, in a row
        self.way = UNTRIED
        self.hold: Hold | None = None
        self.credits: int | None = None
        self.disk_fault = ""
        self.status = CourierStatus(None, UNTRIED.sentence, None, None)

    @property
    def fix(self) -> Fix | None:
        """What a person must do."""
        return None if self.hold is None else self.hold.fix

    @property
    def probe_in_s(self) -> float:
        """Seconds until what is held may be tried; 0 without a hold."""
        return 0.0 if self.hold is None else max(0.0, self._probe_at - self._clock.monotonic())

    def begin_hold(self, hold: Hold) -> None:
        """The line waits for a person; again, if it did already."""
        if self.fix is not hold.fix:
            self._credits_at_hold = None
        self.hold = hold
        self.hold_on(PROBE_S[hold.fix])

    def hold_on(self, seconds: float) -> None:
        """The hold is not tried before."""
        self._probe_at = self._clock.monotonic() + seconds

    def lift(self, *fixes: Fix) -> None:
        """The line goes on, if it is one of these that held it."""
        if self.fix in fixes:
            self.hold = None

    def is_probed(self) -> bool:
        """Whether it is time to try what is held."""
        return self._clock.monotonic() >= self._probe_at

    def lost(self, way: Way) -> int:
        """The service was not reached; how often in a row that was so before."""
        self.way = way
        self._failures += 1
        return self._failures - 1

    def reached(self) -> bool:
        """The service has answered; True if it was away for more than a moment."""
        was_out = self._failures >= OUTAGE
        self.way, self._failures = CONNECTED, 0
        return was_out

    def begin_anew(self) -> None:
        """A person has mended something, or the network is back."""
        self.hold, self._failures = None, 0

    def take_in_credits(self, credits: int) -> None:
        """The balance; where it was what held the line, and has grown, the line goes on."""
        self.credits = credits
        if self.fix is Fix.ADD_CREDITS:
            if self._credits_at_hold is None:
                self._credits_at_hold = credits
            elif credits > self._credits_at_hold:
                self.hold = None

    def tell(self, sentence: str) -> None:
        """Tell the status, if it is another than before; `sentence` where nothing is in the way.

        One explanation at a time: of a hold only once the service is reached, since nothing would come of mending it
        before; but without the keyring it cannot even be tried, and without the disk nothing can be kept.
        """
        fix = self.fix
        if self.way.connected is False and fix is not Fix.UNLOCK_KEYRING:
            sentence, fix = self.way.sentence, None
        elif self.hold is not None:
            sentence = self.hold.sentence
        if self.disk_fault:
            sentence, fix = self.disk_fault, Fix.MAKE_ROOM
        status = CourierStatus(self.way.connected, sentence, fix, self.credits, self.way.reach)
        if status != self.status:
            self.status = status
            if self._on_status is not None:
                self._on_status(status)
