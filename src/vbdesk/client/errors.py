"""All errors of the client.

    ClientError
    ├── ConnectionFailed          retryable         no answer; `cause`; `maybe_delivered`: the service may have acted
    ├── CaptivePortal             retryable         a login page of the network answered in place of the service
    ├── RateLimited               retryable         429; `retry_after_s`
    ├── ServiceUnavailable        retryable         5xx
    ├── Unauthorized              needs attention   401
    ├── InsufficientCredits       needs attention   402
    ├── AudioRefused              needs attention   too short, too long, too large, unreadable, or nothing to analyse
    ├── NotFound                  terminal          404
    ├── Conflict                  terminal          409
    ├── InvalidRequest            terminal          any other 4xx
    │   └── UploadRefInvalid      retryable         the upload is unknown or expired: upload again
    ├── UploadFailed              terminal          storage refused the bytes
    │   ├── UploadExpired         retryable         too late: mint a new address
    │   └── AddressUsed           retryable         another file may be there: mint a new address
    ├── UnexpectedAnswer          terminal          not an answer of this interface
    ├── BadSignature              terminal          a webhook delivery that is not the service's
    └── Cancelled                 terminal          the caller asked to stop

`kind` says what can be done, `sentence` what to tell a person, `code` and `status` what the service said. None of them
contains a secret.
"""

from enum import StrEnum
from typing import ClassVar

from vbdesk.language import N_, Message, joined


class ErrorKind(StrEnum):
    """What can be done about an error."""

    RETRYABLE = "retryable"  # the same request may succeed later
    NEEDS_ATTENTION = "needs_attention"  # a person has to change something first
    TERMINAL = "terminal"  # the same request will fail again


class ClientError(Exception):
    """Base of all errors of this package.

    Attributes:
        reason: what happened, for a program that tries again by itself.
        sentence: what happened and what the person can do, for a program that does not.
        code: the service's error code; None if it gave none.
        status: the HTTP status; None if there was no answer.
    """

    kind: ClassVar[ErrorKind] = ErrorKind.TERMINAL
    default_sentence: ClassVar[str] = N_("The service could not do this.")
    advice: ClassVar[str] = ""

    def __init__(self, sentence: str | None = None, *, code: str | None = None, status: int | None = None) -> None:
        self.reason: str = joined(sentence or self.default_sentence)
        self.sentence: str = joined(self.reason, self.advice)
        self.code = code
        self.status = status
        super().__init__(self.sentence)


class FailureCause(StrEnum):
    """Why no answer came."""

    OFFLINE = "offline"  # this computer has no network
    NAME = "name"  # the name is not found (DNS)
    REFUSED = "refused"  # the host answers, the service does not run
    PROXY = "proxy"
    TIMED_OUT = "timed_out"
    TLS = "tls"
    TLS_CLOCK = "tls_clock"  # the certificate is not valid at this computer's time
    BROKEN_OFF = "broken_off"

    @property
    def sentence(self) -> str:
        """What to tell a person about the service, and what they can do."""
        return self.sentence_in(N_("The service cannot be reached: {cause}"))

    def sentence_in(self, template: str, **fields: object) -> Message:
        """The same in a sentence about another place, which has the field `cause`."""
        return Message.make(template, fields={**fields, "cause": joined(_CAUSES[self])})


_CAUSES = {
    FailureCause.OFFLINE: N_("this computer has no way into the network. Check the cable or the Wi-Fi."),
    FailureCause.NAME: N_("the network does not know its name. Check the connection and the service's address."),
    FailureCause.REFUSED: N_("nothing is running at its address. Wait for it, or ask the operator of the service."),
    FailureCause.PROXY: N_("the proxy of this network does not let it through. Ask the operator of the network."),
    FailureCause.TIMED_OUT: N_("it did not answer in time. Check whether the connection is very slow."),
    FailureCause.TLS: N_(
        "the connection would not be secure. If this network asks for a login, log in with the browser; "
        "else ask the operator of the service."
    ),
    FailureCause.TLS_CLOCK: N_(
        "its certificate is not valid at the date that this computer shows. Check date and time "
        "here; if they are right, ask the operator of the service."
    ),
    FailureCause.BROKEN_OFF: N_("the connection broke off. Check whether it is weak or unsteady."),
}


class ConnectionFailed(ClientError):
    """No answer came.

    Attributes:
        cause: why.
    maybe_delivered: whether the request may have reached the service and taken effect.
    at_storage: whether the storage could not be reached; the service itself may answer.
    """

    kind = ErrorKind.RETRYABLE

    def __init__(
        self, cause: FailureCause = FailureCause.REFUSED, *, maybe_delivered: bool, at_storage: bool = False
    ) -> None:
        storage = cause.sentence_in(N_("The service's storage cannot be reached: {cause}"))
        super().__init__(storage if at_storage else cause.sentence)
        self.cause = cause
        self.at_storage = at_storage
        self.maybe_delivered = maybe_delivered


class CaptivePortal(ClientError):
    """A login page of the network answered, as in hotels and clinics."""

    kind = ErrorKind.RETRYABLE
    default_sentence = N_(
        "A page of this network answers in place of the service. Open the browser and log in to the network; "
        "if there is no login, check the service's address."
    )


class RateLimited(ClientError):
    """Too many requests in the last minute.

    Attributes:
    retry_after_s: seconds until a request is allowed again; None if the service did not say.
    """

    kind = ErrorKind.RETRYABLE
    default_sentence = N_("The service asks for a pause.")
    advice = N_("Wait a minute, then try again.")

    def __init__(self, *, code: str | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(code=code, status=429)
        self.retry_after_s = retry_after_s


class ServiceUnavailable(ClientError):
    """The service failed internally."""

    kind = ErrorKind.RETRYABLE
    default_sentence = N_("The service has a problem of its own.")
    advice = N_("Try again later. If it happens again, ask the operator of the service.")


class Unauthorized(ClientError):
    """The account id or the key is wrong."""

    kind = ErrorKind.NEEDS_ATTENTION
    default_sentence = N_("The service does not accept the account id or the API key. Enter them again.")


class InsufficientCredits(ClientError):
    """The balance does not cover the analysis."""

    kind = ErrorKind.NEEDS_ATTENTION
    default_sentence = N_("The account has no credits left for this analysis. Add credits, then try again.")


class AudioRefused(ClientError):
    """The recording cannot be analysed."""

    kind = ErrorKind.NEEDS_ATTENTION
    default_sentence = N_("The service cannot analyse this recording. Record again.")


class NotFound(ClientError):
    """The account has no such object."""

    default_sentence = N_("The service does not know this; it may have been deleted or belong to another account.")


class Conflict(ClientError):
    """The object exists already."""

    default_sentence = N_("This exists already.")


class InvalidRequest(ClientError):
    """The service refuses the request."""

    default_sentence = N_("The service does not accept this request.")


class UploadRefInvalid(InvalidRequest):
    """The uploaded recording no longer exists."""

    kind = ErrorKind.RETRYABLE
    default_sentence = N_("The uploaded recording is no longer there.")
    advice = N_("Try again, and the recording is uploaded again.")


class UploadFailed(ClientError):
    """The storage refused the recording."""

    default_sentence = N_("The storage did not accept the recording.")


class UploadExpired(UploadFailed):
    """The upload address is no longer valid."""

    kind = ErrorKind.RETRYABLE
    default_sentence = N_("The upload took too long to begin.")
    advice = N_("Try again.")


class AddressUsed(UploadFailed):
    """The upload address already holds a file, which may not be this recording."""

    kind = ErrorKind.RETRYABLE
    default_sentence = N_("The upload address was already used for another file. The recording needs a new address.")
    advice = N_("Try again.")


class UnexpectedAnswer(ClientError):
    """The response does not conform to the interface."""

    default_sentence = N_("The address answers, but not like the service. Check the service's address.")


class BadSignature(ClientError):
    """The signature does not match the delivery."""

    default_sentence = N_("This delivery is not signed with the agreed secret; it was not read.")


class Cancelled(ClientError):
    """The caller asked to stop."""

    default_sentence = N_("Stopped as asked.")
