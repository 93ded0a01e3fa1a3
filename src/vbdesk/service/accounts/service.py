"""Accounts and keys: created by the operator, shown once, checked on every request."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from vbdesk.clock import Clock
from vbdesk.contract.ids import new_id
from vbdesk.contract.limits import Plan
from vbdesk.language import N_
from vbdesk.service.accounts import repository
from vbdesk.service.credits.service import CreditsService
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.db.tables import ACTIVE, DELETED, DELETING, SUSPENDED
from vbdesk.service.kernel.errors import NotFound, Unauthorized
from vbdesk.service.kernel.last_used import LastUsedWriter
from vbdesk.service.ports.identity import Account, Credential

NOTED_FOR = timedelta(hours=1)
"""Minimum time between two recorded uses of a key."""


@dataclass(frozen=True, slots=True)
class NewAccount:
    """A new account; `secret_key` is never shown again."""

    account_id: str
    secret_key: str
    plan: Plan
    credits: int


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new API key; `api_key` is never shown again."""

    key_id: str
    api_key: str
    name: str


@dataclass(frozen=True, slots=True)
class AccountListed:
    """An account in the operator's list."""

    account_id: str
    name: str
    plan: Plan
    credits: int
    created_at: datetime
    state: str


@dataclass(frozen=True, slots=True)
class KeyListed:
    """An API key in the lists of operator and account holder, without the key itself.

    `last_used_at` is accurate to the hour; None when the key was never used.
    """

    key_id: str
    name: str
    created_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None


class AccountService:
    """Rules of accounts and keys."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._credits = CreditsService(clock)

    def create(self, connection: Connection, name: str, plan: Plan, credits: int) -> NewAccount:
        """Create an account and grant its first credits."""
        account_id, secret_key = new_id(), new_secret_key()
        repository.insert_account(
            connection,
            account_id=account_id,
            name=name,
            plan=plan.value,
            secret_key_hash=hash_of(secret_key),
            created_at=self._clock.now(),
        )
        if credits:
            self._credits.grant(connection, account_id, credits)
        return NewAccount(account_id, secret_key, plan, credits)

    def list_accounts(self, connection: Connection) -> list[AccountListed]:
        """Return every account, oldest first."""
        return [
            AccountListed(row.account_id, row.name, Plan(row.plan), row.credits, row.created_at, row.state)
            for row in repository.list_accounts(connection)
        ]

    def rotate_secret(self, connection: Connection, account_id: str) -> str:
        """Replace the secret key and end the account's console sessions. Raises NotFound."""
        self.require(connection, account_id)
        secret_key = new_secret_key()
        repository.store_secret_key(connection, account_id, hash_of(secret_key))
        repository.delete_sessions(connection, account_id)
        return secret_key

    def suspend(self, connection: Connection, account_id: str) -> None:
        """Refuse access until the account is resumed; nothing is deleted. Raises NotFound."""
        self.require(connection, account_id)
        repository.change_state(connection, account_id, (ACTIVE,), SUSPENDED)

    def resume(self, connection: Connection, account_id: str) -> None:
        """Restore the access of a suspended account. Raises NotFound."""
        self.require(connection, account_id)
        repository.change_state(connection, account_id, (SUSPENDED,), ACTIVE)

    def end_sessions(self, connection: Connection, account_id: str) -> int:
        """End the account's console sessions; return how many. Raises NotFound."""
        self.require(connection, account_id)
        return repository.delete_sessions(connection, account_id)

    def create_key(self, connection: Connection, account_id: str, name: str) -> NewKey:
        """Create an API key. Raises NotFound when there is no such account."""
        self.require(connection, account_id)
        key_id = new_id()
        api_key = new_api_key(key_id)
        repository.insert_key(
            connection,
            key_id=key_id,
            account_id=account_id,
            name=name,
            key_hash=hash_of(api_key),
            created_at=self._clock.now(),
        )
        return NewKey(key_id, api_key, name)

    def list_keys(self, connection: Connection, account_id: str) -> list[KeyListed]:
        """Return the account's keys, oldest first. Raises NotFound when there is no such account."""
        self.require(connection, account_id)
        return [KeyListed(*row) for row in repository.list_keys(connection, account_id)]

    def revoke_key(self, connection: Connection, account_id: str, key_id: str) -> None:
        """Revoke a key at once. Raises NotFound when the account has no such key."""
        if not repository.revoke_key(connection, account_id, key_id, self._clock.now()):
            raise NotFound(N_("The account has no key with this id."))

    def authenticate(self, connection: Connection, kind: Credential, account_id: str, token: str) -> Account:
        """Return the account of a credential.

        Raises:
            Unauthorized: there is no such account, or the credential is not its own; both take the same time.
        """
        key_id = key_id_of(token) if kind is Credential.API_KEY else ""
        row = repository.find_credentials(connection, account_id, key_id)
        stored = row and (row.key_hash if kind is Credential.API_KEY else row.secret_key_hash)
        if not matches(token, stored or NO_HASH) or row is None:
            raise Unauthorized
        return Account(row.account_id, Plan(row.plan), row.last_used_at)

    def use_is_noted(self, account: Account) -> bool:
        """Return whether the key's use was recorded within `NOTED_FOR`."""
        last = account.key_last_used_at
        return last is not None and self._clock.now() - last < NOTED_FOR

    def key_id_of(self, api_key: str) -> str:
        """Return the id inside an API key."""
        return key_id_of(api_key)

    def note_uses(self, connection: Connection, used_at: Mapping[str, datetime]) -> None:
        """Store the last uses of keys by id, in sorted order, so that processes do not deadlock."""
        for key_id in sorted(used_at):
            repository.note_use(connection, key_id, used_at[key_id])

    def require(self, connection: Connection, account_id: str) -> None:
        """Check that the account exists. Raises NotFound, also when it was deleted."""
        state = repository.read_state(connection, account_id)
        if state is None:
            raise NotFound(N_("There is no account with this id."))
        if state in (DELETING, DELETED):
            raise NotFound(N_("The account was deleted."))


def require_active(connection: Connection, account_id: str, *, alone: bool = False) -> None:
    """Check that the account is active, and lock its state until the transaction ends.

    For requests authenticated earlier: receiving a body may take minutes. `alone` blocks other such checks.

    Raises:
        Unauthorized: it was suspended or deleted meanwhile.
    """
    if repository.read_state(connection, account_id, to_edit=True, alone=alone) != ACTIVE:
        raise Unauthorized


RETRY_S = 60.0


class KeyUses:
    """Records the last use of API keys, at most once an hour each."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._clock = clock
        self._accounts = AccountService(clock)
        self._notes: LastUsedWriter[str] = LastUsedWriter(database, self._accounts.note_uses, "API keys", RETRY_S)

    def note(self, account: Account, api_key: str) -> None:
        """Record that the key is used now, unless this was recorded within the hour; never blocks or fails."""
        if not self._accounts.use_is_noted(account):
            self._notes.note(self._accounts.key_id_of(api_key), self._clock.now())

    def close(self) -> None:
        """Write the remaining uses, if the database accepts them in time."""
        self._notes.close()


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
