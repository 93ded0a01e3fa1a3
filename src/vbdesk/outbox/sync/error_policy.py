"""What an error of the service means for one recording and for the whole queue: a pure decision."""

from dataclasses import dataclass

from vbdesk.client.errors import (
    AudioRefused,
    CaptivePortal,
    ClientError,
    Conflict,
    ConnectionFailed,
    InsufficientCredits,
    NotFound,
    RateLimited,
    ServiceUnavailable,
    Unauthorized,
    UnexpectedAnswer,
    UploadExpired,
    UploadFailed,
    UploadRefInvalid,
)
from vbdesk.contract.limits import FIRST_RETRY_DELAY_S, MAX_RETRIES
from vbdesk.language import N_, joined, message
from vbdesk.outbox.library.states import Fix

LONGEST_DELAY_S = 16.0
POSTPONED_S = 900.0  # delay after the last retry, unless the service is back earlier
KEY_USED = N_(
    "The service has the key of this recording for another one, so it was not sent. "
    "It is kept, and can be sent again at its price."
)
_UNREACHABLE = frozenset({502, 503, 504})
_SIZE_FAULTS = frozenset({"EntityTooLarge", "EntityTooSmall"})


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The service cannot be reached: the whole queue waits and retries without a limit.

    Attributes:
        failed: also counts as an attempt of this recording, so that a recording which always breaks the connection
            does not block the others.
    """

    failed: bool


@dataclass(frozen=True, slots=True)
class HoldQueue:
    """The whole queue waits for a person."""

    sentence: str
    fix: Fix


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Retry this recording after a delay; `upload_again`: its bytes must be uploaded again."""

    upload_again: bool = False


@dataclass(frozen=True, slots=True)
class RateLimitPause:
    """The service asks for a pause in this bucket; the request budget knows its length."""


@dataclass(frozen=True, slots=True)
class NeedsAttention:
    """This recording waits for a person; the others continue."""

    sentence: str
    fix: Fix


ErrorAction = Unreachable | HoldQueue | RetryLater | RateLimitPause | NeedsAttention


def classify(error: ClientError) -> ErrorAction:
    """Decide what to do about `error`."""
    match error:
        case Unauthorized():
            return HoldQueue(error.sentence, Fix.ENTER_KEY)
        case InsufficientCredits():
            return HoldQueue(error.sentence, Fix.ADD_CREDITS)
        case RateLimited():
            return RateLimitPause()
        case ConnectionFailed():
            return Unreachable(failed=error.maybe_delivered)
        case CaptivePortal():
            return Unreachable(failed=False)
        case UnexpectedAnswer():
            return Unreachable(failed=True)
        case ServiceUnavailable() if error.status in _UNREACHABLE:
            return Unreachable(failed=True)
        case ServiceUnavailable():
            return RetryLater()
        case AudioRefused():
            return NeedsAttention(error.sentence, Fix.REVIEW_TAKE)
        case NotFound():
            return NeedsAttention(error.sentence, Fix.CHANGE_TARGET)
        case Conflict():
            return NeedsAttention(KEY_USED, Fix.SEND_AGAIN)
        case UploadFailed() if error.code in _SIZE_FAULTS:
            return NeedsAttention(error.sentence, Fix.REVIEW_TAKE)
        case UploadRefInvalid() | UploadExpired() | UploadFailed():
            return RetryLater(upload_again=True)
        case _:
            return NeedsAttention(joined(error.sentence, message("The recording is kept.")), Fix.TRY_AGAIN)


def backoff_s(attempts: int) -> float:
    """Delay before a retry: 1, 2, 4, 8, then always 16 seconds."""
    return float(min(FIRST_RETRY_DELAY_S * 2.0 ** min(attempts, 10), LONGEST_DELAY_S))


def has_given_up(attempts: int) -> bool:
    """Whether a recording that failed `attempts` times has used its retries."""
    return attempts > MAX_RETRIES


def delay_s(attempts: int) -> float:
    """Seconds until a recording that has failed `attempts` times is retried."""
    return POSTPONED_S if has_given_up(attempts) else backoff_s(attempts - 1)
