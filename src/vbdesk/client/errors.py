"""Everything that can go wrong between a caller and the service.

    ClientError
    ├── ConnectionFailed          retryable         no answer; `maybe_delivered`: the service may have acted
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
    │   └── UploadExpired         retryable         too late: mint a new address
    ├── UnexpectedAnswer          terminal          not an answer of this interface
    ├── BadSignature              terminal          a webhook delivery that is not the service's
    └── Cancelled                 terminal          the caller asked to stop

`kind` says what may be done, `sentence` what to tell a person, `code` and `status` what the service said. None of them
holds a secret.
"""

import re
from enum import StrEnum
from typing import ClassVar

import httpx
from pydantic import ValidationError

from vbdesk.contract.errors import INVALID_UPLOAD_REF, ErrorBody, ErrorCode


class Kind(StrEnum):
    """What may be done about an error."""

    RETRYABLE = "retryable"  # the same again, later
    NEEDS_ATTENTION = "needs_attention"  # a person has to change something first
    TERMINAL = "terminal"  # the same again gives the same


class ClientError(Exception):
    """Base of all errors of this package.

    Attributes:
        sentence: one sentence for the person.
        code: the service's code, None where it gave none.
        status: the HTTP status, None where there was no answer.
    """

    kind: ClassVar[Kind] = Kind.TERMINAL
    default_sentence: ClassVar[str] = "The service could not do this."

    def __init__(self, sentence: str | None = None, *, code: str | None = None, status: int | None = None) -> None:
        self.sentence = sentence or self.default_sentence
        self.code = code
        self.status = status
        super().__init__(self.sentence)


class ConnectionFailed(ClientError):
    """No answer came.

    Attributes:
        maybe_delivered: the request may have reached the service and been acted on.
    """

    kind = Kind.RETRYABLE
    default_sentence = "The service cannot be reached. Check the connection; it will be tried again."

    def __init__(self, *, maybe_delivered: bool) -> None:
        super().__init__()
        self.maybe_delivered = maybe_delivered


class RateLimited(ClientError):
    """Too many requests in the last minute.

    Attributes:
        retry_after_s: seconds until there is room again; None where the service did not say.
    """

    kind = Kind.RETRYABLE
    default_sentence = "The service asks for a pause; it will be tried again shortly."

    def __init__(self, *, code: str | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(code=code, status=429)
        self.retry_after_s = retry_after_s


class ServiceUnavailable(ClientError):
    """The service failed inside."""

    kind = Kind.RETRYABLE
    default_sentence = "The service has a problem of its own; it will be tried again."


class Unauthorized(ClientError):
    """The account id or the key is wrong."""

    kind = Kind.NEEDS_ATTENTION
    default_sentence = "The service does not accept the account id or the API key. Enter them again."


class InsufficientCredits(ClientError):
    """The balance does not cover the analysis."""

    kind = Kind.NEEDS_ATTENTION
    default_sentence = "The account has no credits left for this analysis. Add credits, then try again."


class AudioRefused(ClientError):
    """The recording cannot be analysed as it is."""

    kind = Kind.NEEDS_ATTENTION
    default_sentence = "The service cannot analyse this recording. Record again."


class NotFound(ClientError):
    """No such thing in this account."""

    default_sentence = "The service does not know this; it may have been deleted or belong to another account."


class Conflict(ClientError):
    """It exists already."""

    default_sentence = "This exists already."


class InvalidRequest(ClientError):
    """The service refuses the request as it stands."""

    default_sentence = "The service does not accept this request."


class UploadRefInvalid(InvalidRequest):
    """The uploaded recording cannot be found any more."""

    kind = Kind.RETRYABLE
    default_sentence = "The uploaded recording is no longer there; it will be uploaded again."


class UploadFailed(ClientError):
    """The storage refused the recording."""

    default_sentence = "The storage did not accept the recording."


class UploadExpired(UploadFailed):
    """The upload address is no longer valid."""

    kind = Kind.RETRYABLE
    default_sentence = "The upload took too long to begin; it will be tried again."


class UnexpectedAnswer(ClientError):
    """The answer is not one of this interface."""

    default_sentence = "The address answers, but not like the service. Check the service's address."


class BadSignature(ClientError):
    """The signature does not belong to the delivery."""

    default_sentence = "This delivery is not signed with the agreed secret; it was not read."


class Cancelled(ClientError):
    """The caller asked to stop."""

    default_sentence = "Stopped as asked."


_AUDIO_SENTENCES = {
    ErrorCode.AUDIO_POOR_QUALITY: "There is no voice to analyse in this recording. Record again.",
    ErrorCode.AUDIO_TOO_SHORT: "The recording is shorter than 15 seconds. Record a longer one.",
    ErrorCode.AUDIO_TOO_LONG: "The recording is longer than 20 minutes. Record a shorter one.",
    ErrorCode.AUDIO_TOO_LARGE: "The recording is larger than 32 MB. Record a shorter one.",
    ErrorCode.UNSUPPORTED_FORMAT: "The file is not WAV, FLAC, MP3 or M4A, or it is damaged. Choose another file.",
}


def error_of(response: httpx.Response) -> ClientError:
    """The error that an answer of the service (status 300 or above) stands for."""
    status = response.status_code
    try:
        body = ErrorBody.model_validate_json(response.content)
    except ValidationError:
        return _without_body(status, response)
    code = body.code
    if status == httpx.codes.TOO_MANY_REQUESTS:
        return RateLimited(code=code, retry_after_s=retry_after_s(response))
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return ServiceUnavailable(code=code, status=status)
    if code in _AUDIO_SENTENCES:
        return AudioRefused(_AUDIO_SENTENCES[ErrorCode(code)], code=code, status=status)
    if code == ErrorCode.INVALID_REQUEST and body.message == INVALID_UPLOAD_REF:
        return UploadRefInvalid(code=code, status=status)
    kind = _BY_STATUS.get(status, InvalidRequest)
    # what the service says of these is for people and more exact than our own words
    sentence = body.message if kind in (InvalidRequest, NotFound, Conflict) else None
    return kind(sentence, code=code, status=status)


_BY_STATUS: dict[int, type[ClientError]] = {
    401: Unauthorized,
    402: InsufficientCredits,
    404: NotFound,
    409: Conflict,
}


def _without_body(status: int, response: httpx.Response) -> ClientError:
    """Proxies and foreign servers answer without our error body."""
    if status == httpx.codes.TOO_MANY_REQUESTS:
        return RateLimited(retry_after_s=retry_after_s(response))
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return ServiceUnavailable(status=status)
    return UnexpectedAnswer(status=status)


def retry_after_s(response: httpx.Response) -> float | None:
    """Seconds of the `Retry-After` header; None when it is absent or a date."""
    text = response.headers.get("Retry-After", "").strip()
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else None


_STORAGE_SENTENCES = {
    "EntityTooLarge": "The recording is larger than 32 MB. Record a shorter one.",
    "EntityTooSmall": "The recording is empty. Record again.",
}


def storage_error_of(response: httpx.Response) -> ClientError:
    """The error that an answer of the object storage (XML) stands for."""
    status = response.status_code
    if status == httpx.codes.TOO_MANY_REQUESTS:
        return RateLimited(retry_after_s=retry_after_s(response))
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return ServiceUnavailable(status=status)
    found = re.search(r"<Code>(\w{1,64})</Code>", response.text)
    code = found[1] if found else None
    if code == "ExpiredToken":
        return UploadExpired(code=code, status=status)
    return UploadFailed(_STORAGE_SENTENCES.get(code or ""), code=code, status=status)
