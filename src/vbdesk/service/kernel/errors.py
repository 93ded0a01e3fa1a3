"""Reasons for which the service refuses a request: English in the API and in logs, translated where people read.

ServiceError
├── Unauthorized            401
├── InsufficientCredits     402
├── NotFound                404
├── Conflict                409
├── RateLimited             429, with `retry_after_s`
│   ├── ServiceBusy         429
│   ├── QuotaExceeded       429
│   └── TooMuchRefused      429
├── OutOfSpace              503, with `retry_after_s`
├── InvalidRequest          400
├── InvalidUseCase          400
├── ValidationFailed        422, with `detail`
├── AudioRejected
│   ├── AudioTooLarge       413
│   ├── UnsupportedFormat   400
│   ├── AudioTooShort       400
│   ├── AudioTooLong        400
│   └── AudioPoorQuality    422
└── ProcessingFailed        500
"""

from collections.abc import Sequence
from typing import ClassVar

from vbdesk.contract.errors import ErrorCode, ErrorDetail
from vbdesk.language import N_, message


class ServiceError(Exception):
    """A refusal with its code and one sentence that says what to do."""

    code: ClassVar[ErrorCode]
    default_message: ClassVar[str]
    retry_after_s: int | None = None
    """Whole seconds after which the same request may succeed; None where waiting does not help."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.default_message)
        self.message = message or self.default_message


class Unauthorized(ServiceError):
    """The account id or the credential is missing or wrong; the answer does not say which."""

    code = ErrorCode.UNAUTHORIZED
    default_message = N_("The account id or the credential is missing or not valid. Check both headers.")


class InsufficientCredits(ServiceError):
    """The balance does not cover the analysis."""

    code = ErrorCode.INSUFFICIENT_CREDITS
    default_message = N_("The account has not enough credits for this analysis. Add credits and submit again.")


class NotFound(ServiceError):
    """The resource does not exist, or it belongs to another account."""

    code = ErrorCode.NOT_FOUND
    default_message = N_("There is nothing with this name. Check the address.")


class Conflict(ServiceError):
    """The name is taken already."""

    code = ErrorCode.CONFLICT
    default_message = N_("This exists already. Choose another name.")


class RateLimited(ServiceError):
    """Too many requests; one more is allowed after `retry_after_s` whole seconds."""

    code = ErrorCode.RATE_LIMIT_EXCEEDED
    default_message = N_("Too many requests.")

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(message("Too many requests. Try again in {seconds} s.", seconds=retry_after_s))
        self.retry_after_s = retry_after_s


class ServiceBusy(RateLimited):
    """The queue is long, and the account has more than its share of waiting jobs."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(retry_after_s)
        self.message = message(
            "The service is busy: many of your recordings wait already. Try again in {seconds} s.",
            seconds=retry_after_s,
        )


class QuotaExceeded(RateLimited):
    """The account's uploads that no job has used yet fill its quota."""

    def __init__(self, quota_bytes: int, retry_after_s: int) -> None:
        super().__init__(retry_after_s)
        self.message = message(
            "Your uploads that are not analysed yet may take {megabytes} MB together. "
            "Submit them for analysis, or try again in {seconds} s.",
            megabytes=quota_bytes // 1024**2,
            seconds=retry_after_s,
        )


class OutOfSpace(ServiceError):
    """A disk of the service is full or nearly full; it accepts no new recordings."""

    code = ErrorCode.SERVICE_UNAVAILABLE
    default_message = N_(
        "The service is short of disk space. Nothing was stored or charged. Results can still be read. "
        "Try again in a minute."
    )
    retry_after_s = 60


class TooMuchRefused(RateLimited):
    """The account's refused recordings took much time to inspect, for which nobody pays."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(retry_after_s)
        self.message = message(
            "Your recordings of the last minute took long to read and could not be analysed. Check them, and try again "
            "in {seconds} s.",
            seconds=retry_after_s,
        )


class InvalidRequest(ServiceError):
    """The request cannot be understood or contradicts itself."""

    code = ErrorCode.INVALID_REQUEST
    default_message = N_("The request is not valid.")


class InvalidUseCase(ServiceError):
    """The `use_case` of the v1 API is unknown."""

    code = ErrorCode.INVALID_USE_CASE
    default_message = N_("The use case is not known.")


class ValidationFailed(ServiceError):
    """Fields are not valid; `detail` names each."""

    code = ErrorCode.VALIDATION_ERROR
    default_message = N_("The request has fields that are not valid; `detail` names them.")

    def __init__(self, detail: Sequence[ErrorDetail]) -> None:
        super().__init__()
        self.detail = list(detail)


class AudioRejected(ServiceError):
    """The recording itself is not acceptable."""


class AudioTooLarge(AudioRejected):
    """More bytes than allowed."""

    code = ErrorCode.AUDIO_TOO_LARGE
    default_message = N_("The audio is larger than 32 MB. Send a shorter or compressed recording.")


class UnsupportedFormat(AudioRejected):
    """Not one of the four formats, or damaged."""

    code = ErrorCode.UNSUPPORTED_FORMAT
    default_message = N_("The audio cannot be read as WAV, FLAC, MP3 or M4A. Convert it and send it again.")


class AudioTooShort(AudioRejected):
    """Under 15 seconds."""

    code = ErrorCode.AUDIO_TOO_SHORT
    default_message = N_("The recording is shorter than 15 seconds. Record more speech.")


class AudioTooLong(AudioRejected):
    """Over 20 minutes."""

    code = ErrorCode.AUDIO_TOO_LONG
    default_message = N_("The recording is longer than 20 minutes. Cut it and send the parts.")


class AudioPoorQuality(AudioRejected):
    """The recording holds nothing that can be analysed."""

    code = ErrorCode.AUDIO_POOR_QUALITY
    default_message = N_("The recording holds no sound that can be analysed. Check the microphone and record again.")


def audio_rejected(code: ErrorCode, message: str) -> AudioRejected:
    """Return the `AudioRejected` error of this code."""
    return next(refusal for refusal in AudioRejected.__subclasses__() if refusal.code == code)(message)


class ProcessingFailed(ServiceError):
    """The service's own fault."""

    code = ErrorCode.PROCESSING_ERROR
    default_message = N_("The service could not finish the request. Try again in a moment.")
