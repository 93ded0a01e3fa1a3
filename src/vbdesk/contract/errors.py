"""The one table of error codes, and the shape of error bodies."""

from enum import StrEnum
from typing import Any, NamedTuple, Self

from pydantic import Field

from vbdesk.contract.audio_formats import ANY_FORMAT
from vbdesk.contract.base import WireModel, is_none
from vbdesk.language import N_, message


class ErrorFacts(NamedTuple):
    """What service and client know of an error code.

    Attributes:
        status: the HTTP status.
        sentence: what the service says unless it knows more; the console translates it.
        in_client: what a person reads in a program that uses the service; None where that depends on the request.
        of_audio: whether the recording is at fault.
    """

    status: int
    sentence: str
    in_client: str | None = None
    of_audio: bool = False


class ErrorCode(StrEnum):
    """The cause of an error, for programs."""

    facts: ErrorFacts

    def __new__(cls, value: str, facts: ErrorFacts) -> Self:
        """Make a string that knows its facts."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.facts = facts
        return member

    # fmt: off
    UNAUTHORIZED = "UNAUTHORIZED", ErrorFacts(401,
        N_("The account id or the credential is missing or not valid. Check both headers."))
    INSUFFICIENT_CREDITS = "INSUFFICIENT_CREDITS", ErrorFacts(402,
        N_("The account has not enough credits for this analysis. Add credits and submit again."))
    NOT_FOUND = "NOT_FOUND", ErrorFacts(404, N_("There is nothing with this name. Check the address."))
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED", ErrorFacts(405,
        "This address does not take this method. See the Allow header.",
        N_("The service does not know this kind of request. It may be older than this program: ask its operator "
           "for an update."))
    CONFLICT = "CONFLICT", ErrorFacts(409, N_("This exists already. Choose another name."))
    AUDIO_POOR_QUALITY = "AUDIO_POOR_QUALITY", ErrorFacts(422,
        N_("The recording holds no sound that can be analysed. Check the microphone and record again."),
        N_("There is no voice to analyse in this recording. Record again."), of_audio=True)
    AUDIO_TOO_SHORT = "AUDIO_TOO_SHORT", ErrorFacts(400,
        N_("The recording is shorter than 15 seconds. Record more speech."),
        N_("The recording is shorter than 15 seconds. Record a longer one."), of_audio=True)
    AUDIO_TOO_LONG = "AUDIO_TOO_LONG", ErrorFacts(400,
        N_("The recording is longer than 20 minutes. Cut it and send the parts."),
        N_("The recording is longer than 20 minutes. Record a shorter one."), of_audio=True)
    AUDIO_TOO_LARGE = "AUDIO_TOO_LARGE", ErrorFacts(413,
        N_("The audio is larger than 32 MB. Send a shorter or compressed recording."),
        N_("The recording is larger than 32 MB. Record a shorter one."), of_audio=True)
    UNSUPPORTED_FORMAT = "UNSUPPORTED_FORMAT", ErrorFacts(400,
        message("The audio cannot be read as {formats}. Convert it and send it again.", formats=ANY_FORMAT),
        message("The file is not {formats}, or it is damaged. Choose another file.", formats=ANY_FORMAT), of_audio=True)
    RATE_LIMIT_EXCEEDED = "RATE_LIMIT_EXCEEDED", ErrorFacts(429, N_("Too many requests."))
    PROCESSING_ERROR = "PROCESSING_ERROR", ErrorFacts(500,
        N_("The service could not finish the request. Try again in a moment."))
    SERVICE_UNAVAILABLE = "SERVICE_UNAVAILABLE", ErrorFacts(503,
        N_("The service is short of disk space. Nothing was stored or charged. Results can still be read. "
           "Try again in a minute."))
    INVALID_USE_CASE = "INVALID_USE_CASE", ErrorFacts(400, N_("The use case is not known."))
    INVALID_REQUEST = "INVALID_REQUEST", ErrorFacts(400, N_("The request is not valid."))
    VALIDATION_ERROR = "VALIDATION_ERROR", ErrorFacts(422,
        N_("The request has fields that are not valid; `detail` names them."))
    # fmt: on


def facts_of(code: str) -> ErrorFacts | None:
    """Return what is known of the code of an error body; None for one that this version does not know."""
    try:
        return ErrorCode(code).facts  # type: ignore[call-arg]
    except ValueError:
        return None


INVALID_UPLOAD_REF = "Invalid audio_upload_ref"
"""The message of `INVALID_REQUEST` for an unknown upload reference."""


class ErrorDetail(WireModel):
    """One validation error: location, message and type."""

    loc: list[str | int]
    msg: str
    type: str


class ErrorBody(WireModel):
    """Body of every error answer; `status` equals the HTTP status. Only a 422 has `detail`."""

    code: str
    message: str
    status: int
    detail: list[ErrorDetail] | None = Field(default=None, exclude_if=is_none)


def error_body(code: ErrorCode, message: str, detail: list[dict[str, Any]] | None = None) -> ErrorBody:
    """Build the body for `code` with its HTTP status."""
    details = None if detail is None else [ErrorDetail.model_validate(item) for item in detail]
    return ErrorBody(code=code, message=message, status=code.facts.status, detail=details)
