"""What an error of the service means for the recording at hand and for the whole line: a pure decision."""

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
from vbdesk.client.submission_recovery import may_have_been_taken as may_still_arrive
from vbdesk.contract.limits import FIRST_RETRY_DELAY_S, MAX_RETRIES
from vbdesk.outbox.library.states import Fix

LONGEST_DELAY_S = 16.0
PATIENCE_S = 900.0  # a recording that failed too often is tried again after this, or when the service is back
KEY_USED = (
    "The service has the key of this recording for another one, so it was not sent. "
    "It is kept, and can be sent again at its price."
)
_UNREACHABLE = frozenset({502, 503, 504})
_SIZE_FAULTS = frozenset({"EntityTooLarge", "EntityTooSmall"})


@dataclass(frozen=True, slots=True)
class Offline:
    """The service cannot be reached: the line waits and tries again, as long as it takes.

    Attributes:
        failed: counts as an attempt of the recording at hand too: it was on its way when the line broke, and one at
            which the line always breaks must not be in the way of the others.
    """

    failed: bool


@dataclass(frozen=True, slots=True)
class Hold:
    """The whole line waits for a person."""

    sentence: str
    fix: Fix


@dataclass(frozen=True, slots=True)
class Later:
    """This recording is tried again after a while; `upload_again`: its bytes have to be brought there anew."""

    upload_again: bool = False


@dataclass(frozen=True, slots=True)
class Paused:
    """The service asks for a pause in this kind of requests; the budget knows for how long."""


@dataclass(frozen=True, slots=True)
class Attention:
    """This recording waits for a person; the others go on."""

    sentence: str
    fix: Fix


Verdict = Offline | Hold | Later | Paused | Attention


def judge(error: ClientError) -> Verdict:
    """Decide what follows from `error`."""
    match error:
        case Unauthorized():
            return Hold(error.sentence, Fix.ENTER_KEY)
        case InsufficientCredits():
            return Hold(error.sentence, Fix.ADD_CREDITS)
        case RateLimited():
            return Paused()
        case ConnectionFailed():
            return Offline(failed=error.maybe_delivered)
        case CaptivePortal():
            return Offline(failed=False)
        case UnexpectedAnswer():
            return Offline(failed=True)
        case ServiceUnavailable() if error.status in _UNREACHABLE:
            return Offline(failed=True)
        case ServiceUnavailable():
            return Later()
        case AudioRefused():
            return Attention(error.sentence, Fix.REVIEW_TAKE)
        case NotFound():
            return Attention(error.sentence, Fix.CHANGE_TARGET)
        case Conflict():
            return Attention(KEY_USED, Fix.SEND_AGAIN)
        case UploadFailed() if error.code in _SIZE_FAULTS:
            return Attention(error.sentence, Fix.REVIEW_TAKE)
        case UploadRefInvalid() | UploadExpired() | UploadFailed():
            return Later(upload_again=True)
        case _:
            return Attention(f"{error.sentence} The recording is kept.", Fix.TRY_AGAIN)


def may_have_been_taken(error: ClientError) -> bool:
    """Whether a submit that ended in `error` may have been accepted all the same.

    A service that failed inside says that nothing was done; looking costs one request, a second analysis a person.
    """
    return isinstance(error, ServiceUnavailable) or may_still_arrive(error)


def backoff_s(attempts: int) -> float:
    """1, 2, 4, 8, 16 seconds, and 16 from then on."""
    return float(min(FIRST_RETRY_DELAY_S * 2.0 ** min(attempts, 10), LONGEST_DELAY_S))


def has_given_up(attempts: int) -> bool:
    """Whether a recording that failed `attempts` times has had its retries."""
    return attempts > MAX_RETRIES


def delay_s(attempts: int) -> float:
    """Seconds until a recording that has failed `attempts` times is tried again."""
    return PATIENCE_S if has_given_up(attempts) else backoff_s(attempts - 1)
