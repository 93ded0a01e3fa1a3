"""Signature of webhook deliveries."""

import hashlib
import hmac

SIGNATURE_HEADER = "X-Webhook-Signature"
DELIVERY_HEADER = "X-Webhook-Delivery"


def webhook_signature(body: bytes, secret_key: str) -> str:
    """Hex digest of HMAC-SHA256 over the raw request body, keyed with the configured secret."""
    return hmac.new(secret_key.encode(), body, hashlib.sha256).hexdigest()


def signature_matches(body: bytes, secret_key: str, signature: str) -> bool:
    """Whether `signature` is the signature of `body`; compares in constant time."""
    return hmac.compare_digest(webhook_signature(body, secret_key).encode(), signature.encode())
