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
├── AudioRejected           400, 413 or 422
│   └── AudioTooLarge       413
└── ProcessingFailed        500
"""

from collections.abc import Sequence

from vbdesk.contract.errors import ErrorCode, ErrorDetail
from vbdesk.language import message


class ServiceError(Exception):
    """A refusal with its code and one sentence that says what to do."""

    code: ErrorCode
    retry_after_s: int | None = None
    """Whole seconds after which the same request may succeed; None where waiting does not help."""

    def __init__(self, message: str | None = None) -> None:
        self.message = message or self.code.facts.sentence
        super().__init__(self.message)


class Unauthorized(ServiceError):
    """The account id or the credential is missing or wrong; the answer does not say which."""

    code = ErrorCode.UNAUTHORIZED


class InsufficientCredits(ServiceError):
    """The balance does not cover the analysis."""

    code = ErrorCode.INSUFFICIENT_CREDITS


class NotFound(ServiceError):
    """The resource does not exist, or it belongs to another account."""

    code = ErrorCode.NOT_FOUND


class Conflict(ServiceError):
    """The name is taken already."""

    code = ErrorCode.CONFLICT


class RateLimited(ServiceError):
    """Too many requests; one more is allowed after `retry_after_s` whole seconds."""

    code = ErrorCode.RATE_LIMIT_EXCEEDED

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


class InvalidUseCase(ServiceError):
    """The `use_case` of the v1 API is unknown."""

    code = ErrorCode.INVALID_USE_CASE


class ValidationFailed(ServiceError):
    """Fields are not valid; `detail` names each."""

    code = ErrorCode.VALIDATION_ERROR

    def __init__(self, detail: Sequence[ErrorDetail]) -> None:
        super().__init__()
        self.detail = list(detail)


class AudioRejected(ServiceError):
    """The recording itself is not acceptable, for the reason that `code` names."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        self.code = code
        super().__init__(message)


class AudioTooLarge(AudioRejected):
    """More bytes than allowed."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.AUDIO_TOO_LARGE)


class ProcessingFailed(ServiceError):
    """The service's own fault."""

    code = ErrorCode.PROCESSING_ERROR
