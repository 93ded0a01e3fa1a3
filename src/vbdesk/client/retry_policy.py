"""When to retry: a pure decision."""

from dataclasses import dataclass
from typing import ClassVar, Self

from vbdesk.client.errors import CaptivePortal, ClientError, ConnectionFailed, RateLimited, ServiceUnavailable
from vbdesk.contract.limits import FIRST_RETRY_DELAY_S, MAX_RETRIES, RATE_WINDOW_S

SAFE_STATUSES = frozenset({500, 503})  # the service reports that nothing was done
LONGEST_PAUSE_S = RATE_WINDOW_S  # the caller must plan with a longer Retry-After


@dataclass(frozen=True, slots=True)
class RetryRule:
    """Exponential backoff: starts at `first_delay_s`, doubles, at most `max_retries` times.

    `after_faults` also retries unrepeatable requests when the service reports an internal failure.
    """

    NEVER: ClassVar[Self]

    first_delay_s: float = FIRST_RETRY_DELAY_S
    max_retries: int = MAX_RETRIES
    after_faults: bool = True

    def delay_s(self, error: ClientError, retries: int, *, repeatable: bool) -> float | None:
        """Seconds to wait before a retry; None to give up.

        Args:
            error: what went wrong.
            retries: number of retries so far.
            repeatable: whether doing it twice is harmless. An unrepeatable request is retried only if the service has
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
