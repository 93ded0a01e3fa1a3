"""What an error of the service means for the recording at hand and for the whole line: a pure decision."""

from dataclasses import dataclass

from vbdesk.client.errors import (
    AudioRefused,
    ClientError,
    ConnectionFailed,
    InsufficientCredits,
    NotFound,
    RateLimited,
    ServiceUnavailable,
    Unauthorized,
    UnexpectedAnswer,
    UploadExpired,
    UploadRefInvalid,
)
from vbdesk.contract.limits import FIRST_RETRY_DELAY_S, MAX_RETRIES, RATE_WINDOW_S
from vbdesk.outbox.states import Fix

LONGEST_DELAY_S = 16.0
_UNREACHABLE = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True)
class Offline:
    """The service cannot be reached: the line waits and tries again, as long as it takes."""


@dataclass(frozen=True, slots=True)
class Hold:
    """The whole line waits for a person."""

    sentence: str
    fix: Fix


@dataclass(frozen=True, slots=True)
class Later:
    """This recording is tried again after a while; `failed` counts as one of its attempts."""

    delay_s: float
    failed: bool
    upload_again: bool = False


@dataclass(frozen=True, slots=True)
class Closed:
    """The service asks for a pause in this kind of requests."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class Attention:
    """This recording waits for a person; the others go on."""

    sentence: str
    fix: Fix


Verdict = Offline | Hold | Later | Closed | Attention


def judge(error: ClientError, attempts: int) -> Verdict:
    """Decide what follows from `error`, after `attempts` earlier ones of this recording."""
    match error:
        case Unauthorized():
            return Hold(error.sentence, Fix.ENTER_KEY)
        case InsufficientCredits():
            return Hold(error.sentence, Fix.ADD_CREDITS)
        case RateLimited():
            return Closed(RATE_WINDOW_S if error.retry_after_s is None else error.retry_after_s)
        case ConnectionFailed() | UnexpectedAnswer():
            return Offline()
        case ServiceUnavailable() if error.status in _UNREACHABLE:
            return Offline()
        case AudioRefused():
            return Attention(error.sentence, Fix.REVIEW_TAKE)
        case NotFound():
            return Attention(error.sentence, Fix.CHANGE_TARGET)
        case UploadRefInvalid() | UploadExpired() | ServiceUnavailable() if attempts < MAX_RETRIES:
            return Later(backoff_s(attempts), failed=True, upload_again=not isinstance(error, ServiceUnavailable))
        case _:
            return Attention(f"{error.sentence} The recording is kept.", Fix.TRY_AGAIN)


def may_have_been_taken(error: ClientError) -> bool:
    """Whether a submit that ended in `error` may have been accepted all the same."""
    match error:
        case ConnectionFailed():
            return error.maybe_delivered
        case ServiceUnavailable() | UnexpectedAnswer():
            return True
        case _:
            return False


def backoff_s(attempts: int) -> float:
    """1, 2, 4, 8, 16 seconds, and 16 from then on."""
    return float(min(FIRST_RETRY_DELAY_S * 2.0 ** min(attempts, 10), LONGEST_DELAY_S))
