"""Idempotent submits: the caller's key, and how long the service keeps it."""

KEY_HEADER = "Idempotency-Key"
"""Header that identifies one submit; the same key with the same recording returns the first job."""

RETENTION_HEADER = "X-Vbdesk-Idempotency"
"""Header of every authenticated answer of a service that supports keys: seconds for which it keeps a key."""

RETENTION_S = 86_400
"""Seconds for which our service keeps a key."""
