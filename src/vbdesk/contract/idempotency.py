"""Repeating a submit safely: the key that a caller sends, and the service's promise to keep it."""

KEY_HEADER = "Idempotency-Key"
"""Names one submit of one recording; the same key with the same recording answers the first job again."""

RETENTION_HEADER = "X-Vbdesk-Idempotency"
"""On every authenticated answer of a service that honours keys: for how many seconds it keeps one."""

RETENTION_S = 86_400
"""How long our service keeps a key."""
