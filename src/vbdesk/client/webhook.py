"""Receive webhook deliveries."""

from pydantic import ValidationError

from vbdesk.client.errors import BadSignature, UnexpectedAnswer
from vbdesk.contract.jobs import Job
from vbdesk.contract.webhooks import signature_matches


def read_delivery(body: bytes, signature: str | None, secret_key: str) -> Job:
    """Verify the signature of a delivery and return its finished job.

    Args:
        body: raw request body, as received.
        signature: value of the `X-Webhook-Signature` header.
        secret_key: the secret agreed on.

    Raises:
    BadSignature: the body was not signed with this secret.
    UnexpectedAnswer: it was signed, but holds no job.
    """
    if signature is None or not signature_matches(body, secret_key, signature):
        raise BadSignature
    try:
        return Job.model_validate_json(body)
    except ValidationError:
        raise UnexpectedAnswer from None
