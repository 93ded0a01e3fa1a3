"""SQL of uploads."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from vbdesk.service.kernel.db.tables import ACTIVE, accounts, uploads


def insert(
    connection: Connection,
    *,
    upload_ref: str,
    account_id: str,
    content_type: str,
    created_at: datetime,
    expires_at: datetime,
    usable_until: datetime,
    held_bytes: int = 0,
) -> None:
    """Store a new upload."""
    connection.execute(
        sa.insert(uploads).values(
            upload_ref=upload_ref,
            account_id=account_id,
            content_type=content_type,
            created_at=created_at,
            expires_at=expires_at,
            usable_until=usable_until,
            held_bytes=held_bytes,
        )
    )


def find_content_type(connection: Connection, account_id: str, upload_ref: str, now: datetime) -> str | None:
    """Return the declared content type of the account's upload while it is usable."""
    query = sa.select(uploads.c.content_type).where(
        uploads.c.upload_ref == upload_ref, uploads.c.account_id == account_id, uploads.c.usable_until >= now
    )
    return connection.execute(query).scalar_one_or_none()


def is_open(connection: Connection, upload_ref: str) -> bool:
    """Return whether the upload exists and its account is active."""
    query = (
        sa.select(uploads.c.upload_ref)
        .join_from(uploads, accounts)
        .where(uploads.c.upload_ref == upload_ref, accounts.c.state == ACTIVE)
    )
    return connection.execute(query).first() is not None


def counts(connection: Connection, upload_ref: str) -> bool:
    """Return whether the upload counts against its account's quota."""
    query = sa.select(uploads.c.upload_ref).where(uploads.c.upload_ref == upload_ref, uploads.c.held_bytes > 0)
    return connection.execute(query).first() is not None


_COUNTED = uploads.c.held_bytes > sa.literal_column("0")  # word for word the condition of the index


def _held(account_id: str, now: datetime) -> sa.ColumnElement[bool]:
    return sa.and_(uploads.c.account_id == account_id, _COUNTED, uploads.c.usable_until >= now)


def sum_held(connection: Connection, account_id: str, now: datetime) -> int:
    """Return the bytes of the account's unused uploads; an open address counts its maximum."""
    query = sa.select(sa.func.coalesce(sa.func.sum(uploads.c.held_bytes), 0)).where(_held(account_id, now))
    return int(connection.execute(query).scalar_one())


def list_unsettled(
    connection: Connection, account_id: str, now: datetime, limit: int, *, only_expired: bool
) -> Sequence[Row[str, datetime]]:
    """Return `upload_ref` and `expires_at` of counted uploads without a known size, oldest first."""
    query = sa.select(uploads.c.upload_ref, uploads.c.expires_at).where(_held(account_id, now), ~uploads.c.settled)
    if only_expired:
        query = query.where(uploads.c.expires_at < now)
    return connection.execute(query.order_by(uploads.c.expires_at).limit(limit)).all()


def settle(connection: Connection, sizes: Mapping[str, int]) -> None:
    """Store the final sizes of uploads."""
    for upload_ref, size in sizes.items():
        mine = uploads.c.upload_ref == upload_ref
        connection.execute(sa.update(uploads).where(mine).values(held_bytes=size, settled=True))


def find_next_release(connection: Connection, account_id: str, now: datetime) -> datetime | None:
    """Return when the next counted upload stops counting."""
    ends_at = sa.case((uploads.c.settled, uploads.c.usable_until), else_=uploads.c.expires_at)
    query = sa.select(sa.func.min(ends_at)).where(_held(account_id, now))
    found: datetime | None = connection.execute(query).scalar_one()
    return found


def existing(connection: Connection, upload_refs: Collection[str]) -> set[str]:
    """Return the subset of these references that are stored."""
    query = sa.select(uploads.c.upload_ref).where(uploads.c.upload_ref.in_(upload_refs))
    return set(connection.execute(query).scalars())


def list_past(connection: Connection, now: datetime, limit: int) -> list[str]:
    """Return at most `limit` references that are no longer usable."""
    query = sa.select(uploads.c.upload_ref).where(uploads.c.usable_until < now).limit(limit)
    return list(connection.execute(query).scalars())


def delete(connection: Connection, upload_refs: list[str]) -> None:
    """Delete the uploads."""
    connection.execute(sa.delete(uploads).where(uploads.c.upload_ref.in_(upload_refs)))
