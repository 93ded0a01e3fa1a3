"""Send a test delivery to a webhook's receiver from this computer, in the service's format."""

from uuid import uuid4

import httpx
from pydantic import ValidationError

from vbdesk.client.errors import ClientError, ErrorKind
from vbdesk.client.network_errors import cause_of
from vbdesk.clock import utc_now
from vbdesk.contract.accounts import WebhookConfig
from vbdesk.contract.jobs import Job, JobStatus, JobType
from vbdesk.contract.limits import MAX_WEBHOOK_URL_LENGTH
from vbdesk.contract.webhooks import SIGNATURE_HEADER, webhook_signature
from vbdesk.language import N_, message

TIMEOUT_S = 10.0
_SCHEMES = ("http", "https")


class TrialFailed(ClientError):
    """The receiver did not answer."""

    kind = ErrorKind.NEEDS_ATTENTION


def webhook_faults(url: str, secret_key: str) -> tuple[str | None, str | None]:
    """What is wrong with the address and with the secret, as sentences; None if nothing."""
    missing = None if secret_key else message("Enter the secret that signs the deliveries, or have one made.")
    malformed = message(
        "Give an address such as https://host/path, of at most {most} characters.", most=MAX_WEBHOOK_URL_LENGTH
    )
    try:
        config = WebhookConfig.model_validate({"url": url, "secret_key": secret_key or "-"})
    except ValidationError:
        return malformed, missing
    return (None if config.url.scheme in _SCHEMES and config.url.host else malformed), missing


def trial_job() -> Job:
    """A job that does not exist; it failed, so that no receiver takes it for a result."""
    now = utc_now()
    return Job(
        job_id=str(uuid4()),
        status=JobStatus.FAILED,
        created_at=now,
        completed_at=now,
        job_type=JobType.MODEL,
        api_version="v2",
        audio_content_type="audio/flac",
        audio_size_bytes=0,
        audio_duration_seconds=0.0,
        audio_sample_rate=None,
        model_name="pulse",
        result=None,
    )


def send_trial_delivery(url: str, secret_key: str, transport: httpx.BaseTransport | None = None) -> int:
    """Post the signed report of a job that does not exist; returns the receiver's HTTP status.

    Does not follow redirects, as the service does not.

    Raises:
        TrialFailed: there was no answer.
    """
    body = trial_job().model_dump_json().encode()
    headers = {"Content-Type": "application/json", SIGNATURE_HEADER: webhook_signature(body, secret_key)}
    try:
        with httpx.Client(timeout=TIMEOUT_S, transport=transport, trust_env=False) as http:
            return http.post(url, content=body, headers=headers).status_code
    except httpx.TransportError as error:
        raise TrialFailed(
            cause_of(error).sentence_in(N_("The webhook's receiver cannot be reached: {cause}"))
        ) from None
    except (httpx.InvalidURL, UnicodeError):
        raise TrialFailed(message("The address is malformed. Give one such as https://host/path.")) from None
