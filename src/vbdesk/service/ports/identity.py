"""Identity of a caller, and the ports that determine it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from sqlalchemy import Connection

from vbdesk.contract.limits import Plan


class Credential(StrEnum):
    """The kind of credential that a route requires."""

    API_KEY = "api_key"
    SECRET_KEY = "secret_key"  # noqa: S105  (a kind, not a secret)


@dataclass(frozen=True, slots=True)
class Account:
    """The caller's account; `key_last_used_at` is None for the secret key or at a first use."""

    account_id: str
    plan: Plan
    key_last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A valid console session; `noted` is False when its use should be recorded."""

    account: Account
    noted: bool


class Authenticator(Protocol):
    """Checks credentials."""

    def authenticate(self, connection: Connection, kind: Credential, account_id: str, token: str) -> Account:
        """Return the account of the credential `token`. Raises Unauthorized."""
        ...


class KeyUseRecorder(Protocol):
    """Records when API keys are used."""

    def note(self, account: Account, api_key: str) -> None:
        """Record a use of the key. Returns at once and never fails."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...


class SessionFinder(Protocol):
    """Finds console sessions."""

    def use(self, token: str) -> Session | None:
        """Return the session of this token and record its use; None when the session is over."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...
