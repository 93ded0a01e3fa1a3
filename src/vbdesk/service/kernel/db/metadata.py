"""The table registry, the names of constraints, and the column type of UTC times."""

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
    """Aware datetime in UTC, stored and returned; plain SQLite returns naive ones."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Convert to UTC; refuse naive times, which would silently mean local time.

        Raises:
            ValueError: `value` has no time zone.
        """
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("A naive datetime must not reach the database.")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Restore the time zone."""
        if value is None:
            return None
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


def account_reference() -> sa.Column[str]:
    """Return the column that links a row to its account."""
    return sa.Column("account_id", sa.String(ID_LENGTH), sa.ForeignKey("accounts.account_id"), nullable=False)
