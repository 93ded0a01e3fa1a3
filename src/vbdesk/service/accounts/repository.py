"""SQL of accounts and API keys."""

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.service.kernel.db.tables import (
    ACTIVE,
    DELETED,
    DELETING,
    accounts,
    api_keys,
    console_sessions,
    credit_balances,
)


def insert_account(
    connection: Connection, *, account_id: str, name: str, plan: str, secret_key_hash: bytes, created_at: datetime
) -> None:
    """Store a new account with an empty balance."""
    connection.execute(
        sa.insert(accounts).values(
            account_id=account_id, name=name, plan=plan, secret_key_hash=secret_key_hash, created_at=created_at
        )
    )
    connection.execute(sa.insert(credit_balances).values(account_id=account_id, credits=0))


def store_secret_key(connection: Connection, account_id: str, secret_key_hash: bytes) -> None:
    """Replace the account's secret key."""
    mine = accounts.c.account_id == account_id
    connection.execute(sa.update(accounts).where(mine).values(secret_key_hash=secret_key_hash))


def read_state(connection: Connection, account_id: str, *, to_edit: bool = False, alone: bool = False) -> str | None:
    """Return the account's state; None where there is no such account.

    `to_edit` locks the row against changes until the transaction ends; `alone` also blocks other such locks. Rows that
    refer to the account can still be added.
    """
    query = sa.select(accounts.c.state).where(accounts.c.account_id == account_id)
    if to_edit or alone:
        query = query.with_for_update(key_share=alone, read=not alone)
    return connection.execute(query).scalar_one_or_none()


def change_state(connection: Connection, account_id: str, before: Collection[str], state: str) -> bool:
    """Change the state if it is one of `before`; return False when it is not."""
    mine = (accounts.c.account_id == account_id) & accounts.c.state.in_(before)
    return connection.execute(sa.update(accounts).where(mine).values(state=state)).rowcount == 1


def begin_deletion(connection: Connection, account_id: str, no_hash: bytes, now: datetime) -> None:
    """Refuse access permanently, and clear the account's name."""
    live = (accounts.c.account_id == account_id) & accounts.c.state.not_in((DELETING, DELETED))
    connection.execute(
        sa.update(accounts).where(live).values(state=DELETING, name="", secret_key_hash=no_hash, ended_at=now)
    )


def delete_keys(connection: Connection, account_id: str) -> None:
    """Delete the account's API keys."""
    connection.execute(sa.delete(api_keys).where(api_keys.c.account_id == account_id))


def delete_sessions(connection: Connection, account_id: str) -> int:
    """End the account's console sessions; return how many."""
    return connection.execute(sa.delete(console_sessions).where(console_sessions.c.account_id == account_id)).rowcount


def list_accounts(connection: Connection) -> list[sa.Row[str, str, str, int, datetime, str]]:
    """Return `(account_id, name, plan, credits, created_at, state)` of every account, oldest first."""
    columns = (
        accounts.c.account_id,
        accounts.c.name,
        accounts.c.plan,
        credit_balances.c.credits,
        accounts.c.created_at,
        accounts.c.state,
    )
    query = sa.select(*columns).join_from(accounts, credit_balances).order_by(accounts.c.account_id)
    return list(connection.execute(query))


def insert_key(
    connection: Connection, *, key_id: str, account_id: str, name: str, key_hash: bytes, created_at: datetime
) -> None:
    """Store a new API key."""
    connection.execute(
        sa.insert(api_keys).values(
            key_id=key_id, account_id=account_id, name=name, key_hash=key_hash, created_at=created_at
        )
    )


_CREDENTIALS = (
    sa.select(
        accounts.c.account_id,
        accounts.c.plan,
        accounts.c.secret_key_hash,
        api_keys.c.key_hash,
        api_keys.c.last_used_at,
    )
    .join_from(
        accounts,
        api_keys,
        sa.and_(
            api_keys.c.account_id == accounts.c.account_id,
            api_keys.c.key_id == sa.bindparam("key_id"),
            api_keys.c.revoked_at.is_(None),
        ),
        isouter=True,
    )
    .where(accounts.c.account_id == sa.bindparam("account_id"), accounts.c.state == ACTIVE)
)


def find_credentials(
    connection: Connection, account_id: str, key_id: str
) -> sa.Row[str, str, bytes, bytes | None, datetime | None] | None:
    """Return `(account_id, plan, secret_key_hash, key_hash, last_used_at)`.

    None also when the account is suspended or deleted. The last two are None when the account has no such key or the
    key is revoked.
    """
    return connection.execute(_CREDENTIALS, {"account_id": account_id, "key_id": key_id}).one_or_none()


def note_use(connection: Connection, key_id: str, now: datetime) -> None:
    """Store the time of the key's last use."""
    connection.execute(sa.update(api_keys).where(api_keys.c.key_id == key_id).values(last_used_at=now))


def list_keys(
    connection: Connection, account_id: str
) -> list[sa.Row[str, str, datetime, datetime | None, datetime | None]]:
    """Return `(key_id, name, created_at, revoked_at, last_used_at)` of all keys, oldest first."""
    columns = (
        api_keys.c.key_id,
        api_keys.c.name,
        api_keys.c.created_at,
        api_keys.c.revoked_at,
        api_keys.c.last_used_at,
    )
    query = sa.select(*columns).where(api_keys.c.account_id == account_id).order_by(api_keys.c.key_id)
    return list(connection.execute(query))


def revoke_key(connection: Connection, account_id: str, key_id: str, revoked_at: datetime) -> bool:
    """Revoke the key; return whether it exists. A second revocation keeps the first time."""
    mine = (api_keys.c.key_id == key_id) & (api_keys.c.account_id == account_id)
    first_time = sa.func.coalesce(api_keys.c.revoked_at, sa.literal(revoked_at, api_keys.c.revoked_at.type))
    return connection.execute(sa.update(api_keys).where(mine).values(revoked_at=first_time)).rowcount == 1
