"""Who sends a request, and the ports that find it out."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from sqlalchemy import Connection

from vbdesk.contract.limits import Plan


class Credential(StrEnum):
    """What a route is opened with."""

    API_KEY = "api_key"
    SECRET_KEY = "secret_key"  # noqa: S105  (a kind, not a secret)


@dataclass(frozen=True, slots=True)
class Account:
    """The account that sends a request; `key_last_used_at` is that of its API key, if it sent one."""

    account_id: str
    plan: Plan
    key_last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A valid console session; `noted` is false when its use should be written down."""

    account: Account
    noted: bool


class Authenticator(Protocol):
    """Checks credentials."""

    def authenticate(self, connection: Connection, kind: Credential, account_id: str, token: str) -> Account:
        """Return the account that `token` opens. Raises Unauthorized."""
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
