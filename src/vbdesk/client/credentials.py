"""Credentials of an account."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Credentials:
    """The account's public id and one of its API keys; the repr hides the key."""

    account_id: str
    api_key: str = field(repr=False)
