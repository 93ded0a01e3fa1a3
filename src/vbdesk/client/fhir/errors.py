"""Errors of a FHIR server, as sentences; what the server says is quoted, shortened, and free of our secrets."""

import json
from collections.abc import Iterator
from typing import Any

from vbdesk.client.errors import ClientError, ErrorKind, Unauthorized
from vbdesk.language import N_, Message, joined, message

MAX_ISSUES = 3
MAX_TEXT = 240


class FhirRefused(ClientError):
    """The server does not take this transaction; the same one will be refused again."""


class FhirNotAllowed(Unauthorized):
    """The server does not accept the credentials, or does not allow them to write."""


class FhirUnavailable(ClientError):
    """The server cannot take it now; a repeat is harmless."""

    kind = ErrorKind.RETRYABLE


_SENTENCES: dict[int, tuple[type[ClientError], str]] = {
    401: (
        FhirNotAllowed,
        N_("The FHIR server {host} does not accept the credentials. Store others with: vbdesk fhir login"),
    ),
    403: (
        FhirNotAllowed,
        N_(
            "The FHIR server {host} does not allow these credentials to create resources. Ask its administrator "
            "for the right to create and find Consent, Device, DiagnosticReport, Observation and Provenance."
        ),
    ),
    404: (FhirRefused, N_("There is no FHIR server at this address of {host}. Give the base address of the server.")),
    405: (FhirRefused, N_("The address at {host} takes no transaction. Give the base address of the FHIR server.")),
    409: (
        FhirUnavailable,
        N_(
            "Another program changed the same resources at the FHIR server {host} at this moment. Nothing of this "
            "transaction was stored; send it again."
        ),
    ),
    412: (
        FhirRefused,
        N_(
            "The FHIR server {host} has several resources with one identifier of vbdesk, so it cannot tell which "
            "one is meant. Nothing of this transaction was stored; ask its administrator to delete the copies."
        ),
    ),
    413: (
        FhirRefused,
        N_(
            "The FHIR server {host} does not take a transaction of this size. Ask its administrator for a higher limit."
        ),
    ),
    415: (FhirRefused, N_("The server {host} does not take FHIR R4 as JSON. Give the address of an R4 server.")),
    422: (
        FhirRefused,
        N_("The FHIR server {host} does not accept the content. Nothing of this transaction was stored."),
    ),
    429: (
        FhirUnavailable,
        N_("The FHIR server {host} asks for a pause. Send it again later; a repeat is harmless."),
    ),
}
_REFUSED = N_("The FHIR server {host} refuses the transaction with status {status}. Nothing of it was stored.")
_FAILED = N_(
    "The FHIR server {host} has a problem of its own (status {status}). Send it again later; a repeat is harmless."
)
_REDIRECTED = N_(
    "The server {host} points to another address. It was not followed, because results and credentials go only to the "
    "address that you give. If a browser has to log in to this network first, do so; else ask for the final address."
)


def status_error(status: int, host: str, body: bytes, secrets: tuple[str, ...]) -> ClientError:
    """The error for an answer without success.

    Args:
        status: of HTTP.
        host: of the server.
        body: an OperationOutcome, or anything else.
        secrets: never shown, even if the server repeats them.
    """
    if 300 <= status < 400:
        return FhirRefused(Message.make(_REDIRECTED, fields={"host": host}), status=status)
    unknown = (FhirUnavailable, _FAILED) if status >= 500 else (FhirRefused, _REFUSED)
    kind, sentence = _SENTENCES.get(status, unknown)
    sentence = Message.make(sentence, fields={"host": host, "status": status})
    return kind(joined(sentence, quoted(outcome_text(body, secrets))), status=status)


def quoted(text: str) -> str:
    """What a server says, as a sentence; empty for nothing."""
    return message("The server says: “{answer}”", answer=text) if text else ""


def outcome_text(body: bytes, secrets: tuple[str, ...] = ()) -> str:
    """What an OperationOutcome says, in one line; empty if the body is none."""
    found: list[str] = []
    for issue in _issues(body):
        details = issue.get("details")
        texts = (details.get("text") if isinstance(details, dict) else None, issue.get("diagnostics"))
        text = next((_plain(text, secrets) for text in texts if isinstance(text, str) and text.strip()), "")
        if text and text not in found:
            found.append(text)
        if len(found) == MAX_ISSUES:
            break
    return " / ".join(found)


def _issues(body: bytes) -> Iterator[dict[str, Any]]:
    document = parsed(body)
    if isinstance(document, dict) and document.get("resourceType") == "OperationOutcome":
        issues = document.get("issue")
        yield from (issue for issue in (issues if isinstance(issues, list) else []) if isinstance(issue, dict))


def _plain(text: str, secrets: tuple[str, ...]) -> str:
    """One short line of printable characters, without a secret."""
    for secret in secrets:
        text = text.replace(secret, "***")
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= MAX_TEXT else f"{line[:MAX_TEXT]}…"


def parsed(body: bytes) -> Any:
    """The JSON of an answer; None if it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
