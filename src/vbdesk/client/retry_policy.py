"""When to try again: a pure decision, apart from doing it."""

from dataclasses import dataclass
from typing import ClassVar, Self

from vbdesk.client.errors import CaptivePortal, ClientError, ConnectionFailed, RateLimited, ServiceUnavailable
from vbdesk.contract.limits import FIRST_RETRY_DELAY_S, MAX_RETRIES, RATE_WINDOW_S

SAFE_STATUSES = frozenset({500, 503})  # the service says itself that nothing was done
LONGEST_PAUSE_S = RATE_WINDOW_S  # a Retry-After beyond the rate window is for the caller to plan with


@dataclass(frozen=True, slots=True)
class RetryRule:
    """Exponential backoff, starting at `first_delay_s` and doubling, at most `max_retries` times.

    With `after_faults` also what is not repeatable is tried again where the service says that it failed inside.
    """

    NEVER: ClassVar[Self]

    first_delay_s: float = FIRST_RETRY_DELAY_S
    max_retries: int = MAX_RETRIES
    after_faults: bool = True

    def delay_s(self, error: ClientError, retries: int, *, repeatable: bool) -> float | None:
        """Seconds to wait before trying again; None to give up.

        Args:
            error: what went wrong.
            retries: how often it was tried again already.
            repeatable: doing it twice does no harm. What is not repeatable is tried again only if the service has
                certainly not acted on it.
        """
        if retries >= self.max_retries:
            return None
        if isinstance(error, RateLimited) and error.retry_after_s is not None:
            return error.retry_after_s if error.retry_after_s <= LONGEST_PAUSE_S else None
        if not self._may_repeat(error, repeatable):
            return None
        return self.first_delay_s * 2.0**retries

    def _may_repeat(self, error: ClientError, repeatable: bool) -> bool:
        match error:
            case RateLimited():
                return True
            case ConnectionFailed():
                return repeatable or not error.maybe_delivered
            case CaptivePortal():
                return repeatable
            case ServiceUnavailable():
                return repeatable or (self.after_faults and error.status in SAFE_STATUSES)
            case _:
                return False


RetryRule.NEVER = RetryRule(max_retries=0)
