"""SQL of upload references."""

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.service.db.uploads import uploads


def insert(
    connection: Connection,
    *,
    upload_ref: str,
    account_id: str,
    content_type: str,
    created_at: datetime,
    expires_at: datetime,
    usable_until: datetime,
) -> None:
    """Store a minted reference."""
    connection.execute(
        sa.insert(uploads).values(
            upload_ref=upload_ref,
            account_id=account_id,
            content_type=content_type,
            created_at=created_at,
            expires_at=expires_at,
            usable_until=usable_until,
        )
    )


def find_content_type(connection: Connection, account_id: str, upload_ref: str, now: datetime) -> str | None:
    """Declared content type of the account's upload while it may be used."""
    query = sa.select(uploads.c.content_type).where(
        uploads.c.upload_ref == upload_ref, uploads.c.account_id == account_id, uploads.c.usable_until >= now
    )
    return connection.execute(query).scalar_one_or_none()


def existing(connection: Connection, upload_refs: Collection[str]) -> set[str]:
    """Which of these references are remembered."""
    query = sa.select(uploads.c.upload_ref).where(uploads.c.upload_ref.in_(upload_refs))
    return set(connection.execute(query).scalars())


def list_past(connection: Connection, now: datetime, limit: int) -> list[str]:
    """Some of the references that may no longer be used."""
    query = sa.select(uploads.c.upload_ref).where(uploads.c.usable_until < now).limit(limit)
    return list(connection.execute(query).scalars())


def delete(connection: Connection, upload_refs: list[str]) -> None:
    """Forget the references."""
    connection.execute(sa.delete(uploads).where(uploads.c.upload_ref.in_(upload_refs)))
