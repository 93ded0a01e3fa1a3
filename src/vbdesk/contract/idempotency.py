"""Idempotent submits: the caller's reference of a submission, and the key that is kept for a day."""

import re

KEY_HEADER = "Idempotency-Key"
"""Header that identifies one submit; the same key with the same recording returns the first job."""

RETENTION_S = 86_400
"""Seconds for which our service keeps a key."""

CLIENT_REF_FIELD = "client_ref"
"""Form field of the v2 analyze routes: identifies a submission for as long as its job lives."""

CLIENT_REF_PATTERN = "^[A-Za-z0-9_-]{16,64}$"
BAD_CLIENT_REF = "Send 16 to 64 letters, digits, - or _."


def is_client_ref(text: str) -> bool:
    """Whether `text` has the form of a reference."""
    return re.fullmatch(CLIENT_REF_PATTERN.strip("^$"), text) is not None
