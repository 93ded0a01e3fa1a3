"""Convert unsuccessful responses to errors."""

import re

import httpx
from pydantic import ValidationError

from vbdesk.client.errors import (
    AudioRefused,
    CaptivePortal,
    ClientError,
    Conflict,
    InsufficientCredits,
    InvalidRequest,
    NotFound,
    RateLimited,
    ServiceUnavailable,
    Unauthorized,
    UnexpectedAnswer,
    UploadExpired,
    UploadFailed,
    UploadRefInvalid,
)
from vbdesk.client.refusals import Refusals, quoted, refusal
from vbdesk.contract.errors import INVALID_UPLOAD_REF, ErrorBody, ErrorCode, facts_of
from vbdesk.language import N_, message

LONGEST_RETRY_AFTER_S = 3600.0  # an absurd Retry-After must not stop us for years


def error_of(response: httpx.Response, refusals: Refusals | None = None) -> ClientError:
    """The error for a response of the service with status 300 or above.

    Args:
        response: the answer.
        refusals: what a person reads of the codes that mean something special for this request.
    """
    status = response.status_code
    try:
        body = ErrorBody.model_validate_json(response.content)
    except ValidationError:
        return _without_body(response)
    code = body.code
    if status == httpx.codes.TOO_MANY_REQUESTS:
        return RateLimited(code=code, retry_after_s=retry_after_s(response))
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return ServiceUnavailable(code=code, status=status)
    facts = facts_of(code)
    if facts is not None and facts.of_audio:
        return AudioRefused(refusal(body, refusals), code=code, status=status)
    if code == ErrorCode.INVALID_REQUEST and body.message == INVALID_UPLOAD_REF:
        return UploadRefInvalid(code=code, status=status)
    kind = _BY_STATUS.get(status, InvalidRequest)
    sentence = refusal(body, refusals)
    if sentence is None and kind is InvalidRequest:
        sentence = quoted(body)
    return kind(sentence, code=code, status=status)


_BY_STATUS: dict[int, type[ClientError]] = {
    401: Unauthorized,
    402: InsufficientCredits,
    404: NotFound,
    409: Conflict,
}


def unreadable(response: httpx.Response) -> ClientError:
    """The error for a successful response with an invalid body."""
    if is_of_portal(response):
        return CaptivePortal(status=response.status_code)
    return UnexpectedAnswer(status=response.status_code)


def _without_body(response: httpx.Response) -> ClientError:
    """The error for a response without our error body: from a proxy, portal or another server."""
    if _wants_https(response):
        return UnexpectedAnswer(
            message("The service's address begins with https, not http. Correct the address."),
            status=response.status_code,
        )
    return _of_something_between(response) or UnexpectedAnswer(status=response.status_code)


def _of_something_between(response: httpx.Response) -> ClientError | None:
    """The error for a response that something between us and the service has written; None if it may be theirs."""
    status = response.status_code
    if is_of_portal(response):
        return CaptivePortal(status=status)
    if status == httpx.codes.TOO_MANY_REQUESTS:
        return RateLimited(retry_after_s=retry_after_s(response))
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return ServiceUnavailable(status=status)
    return None


def is_of_portal(response: httpx.Response) -> bool:
    """Whether a login page of the network answered: service and storage never redirect or send HTML.

    An error status with a page comes from a gateway of the service, which has a problem of its own.
    """
    status = response.status_code
    if status == httpx.codes.NETWORK_AUTHENTICATION_REQUIRED or response.is_redirect:
        return True
    return status < httpx.codes.INTERNAL_SERVER_ERROR and _is_page(response)


def _is_page(response: httpx.Response) -> bool:
    content_type = response.headers.get("Content-Type", "").lower()
    if content_type.startswith(("text/html", "application/xhtml")):
        return True
    return response.content[:200].lstrip().lower().startswith((b"<!doctype html", b"<html"))


def _wants_https(response: httpx.Response) -> bool:
    """Whether the service redirects from http to https."""
    if not response.has_redirect_location:
        return False
    asked = response.request.url
    try:
        to = asked.join(response.headers["Location"])
    except httpx.InvalidURL:
        return False
    return (asked.scheme, to.scheme, to.host, to.path) == ("http", "https", asked.host, asked.path)


def retry_after_s(response: httpx.Response) -> float | None:
    """Seconds of the `Retry-After` header, at most an hour; None if it is absent or a date."""
    text = response.headers.get("Retry-After", "").strip()
    return min(float(text), LONGEST_RETRY_AFTER_S) if re.fullmatch(r"\d+(\.\d+)?", text) else None


_STORAGE_SENTENCES = {
    "EntityTooLarge": N_("The recording is larger than 32 MB. Record a shorter one."),
    "EntityTooSmall": N_("The recording is empty. Record again."),
}


_EXPIRED_AT_S3 = "Request has expired"
_WRITTEN_TO_AT_S3 = "ConditionalRequestConflict"
"""Storage codes: an earlier attempt of ours is being stored at this moment."""


def storage_error_of(response: httpx.Response) -> ClientError:
    """The error for a response of the object storage (XML)."""
    between = _of_something_between(response)
    if between is not None:
        return between
    found = re.search(r"<Code>(\w{1,64})</Code>", response.text)
    code = found[1] if found else None
    if code == "ExpiredToken" or (code == "AccessDenied" and _EXPIRED_AT_S3 in response.text):
        return UploadExpired(code=code, status=response.status_code)
    if code == _WRITTEN_TO_AT_S3:
        return ServiceUnavailable(code=code, status=response.status_code)
    return UploadFailed(_STORAGE_SENTENCES.get(code or ""), code=code, status=response.status_code)
