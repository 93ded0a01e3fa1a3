"""The one table registry, the names of constraints, and time stored as UTC."""

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

ID_LENGTH = 36  # a UUID in its usual form


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime in UTC on both sides; SQLite would hand back naive ones."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Refuse naive times: they would silently mean local time.

        Raises:
            ValueError: `value` has no time zone.
        """
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("A naive datetime must not reach the database.")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Give the time its zone back."""
        if value is None:
            return None
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


def account_reference() -> sa.Column[str]:
    """The column by which every resource belongs to one account."""
    return sa.Column("account_id", sa.String(ID_LENGTH), sa.ForeignKey("accounts.account_id"), nullable=False)
