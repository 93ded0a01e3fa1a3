"""API keys and secret keys: random tokens, stored as their hash.

A token has 256 random bits, so a fast hash is enough: it cannot be guessed.
"""

import hashlib
import hmac
import secrets

_API_KEY_PREFIX = "vbk"
_SECRET_KEY_PREFIX = "vbs"  # noqa: S105  (a prefix, not a secret)

NO_HASH = bytes(32)
"""Used as the hash of a key that does not exist, so that every refusal takes the same time."""


def new_api_key(key_id: str) -> str:
    """Create an API key, which contains its own id for the look-up."""
    return f"{_API_KEY_PREFIX}_{key_id}_{secrets.token_urlsafe(32)}"


def new_secret_key() -> str:
    """Create the account's secret key for v1."""
    return f"{_SECRET_KEY_PREFIX}_{secrets.token_urlsafe(32)}"


def key_id_of(api_key: str) -> str:
    """Return the id inside an API key; empty when it has none."""
    prefix, _, rest = api_key.partition("_")
    return rest.partition("_")[0] if prefix == _API_KEY_PREFIX else ""


def hash_of(token: str) -> bytes:
    """Return the hash that is stored of a key."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def matches(token: str, stored_hash: bytes) -> bool:
    """Return whether `token` is the key with this hash, in constant time."""
    return hmac.compare_digest(hash_of(token), stored_hash)
