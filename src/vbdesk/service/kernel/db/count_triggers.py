"""Database triggers that count jobs: per account and day, and per group.

Triggers count the rows that any process of any release inserts. To change a trigger, write a migration.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from vbdesk.service.kernel.db.metadata import metadata

COUNT_MEMBERS = """
    UPDATE groups SET
        job_count = (SELECT count(*) FROM memberships AS m WHERE m.group_key = groups.group_key),
        (done_job_count, earliest_recorded_at, latest_recorded_at) = (
            SELECT count(CASE WHEN j.status = 'done' THEN 1 END), min(j.recorded_at), max(j.recorded_at)
            FROM memberships AS m JOIN jobs AS j ON j.job_id = m.job_id WHERE m.group_key = groups.group_key
        )
"""

_ON_SQLITE = (
    """
    CREATE TRIGGER count_new_job AFTER INSERT ON jobs BEGIN
        INSERT INTO job_days (account_id, day, jobs) VALUES (NEW.account_id, substr(NEW.created_at, 1, 10), 1)
        ON CONFLICT (account_id, day) DO UPDATE SET jobs = jobs + 1;
    END
    """,
    """
    CREATE TRIGGER count_job_off AFTER DELETE ON jobs BEGIN
        UPDATE job_days SET jobs = jobs - 1
        WHERE account_id = OLD.account_id AND day = substr(OLD.created_at, 1, 10);
    END
    """,
    f"""
    CREATE TRIGGER count_members AFTER UPDATE OF revision ON groups BEGIN
        {COUNT_MEMBERS} WHERE group_key = NEW.group_key;
    END
    """,
)

_ON_POSTGRESQL = (
    """
    CREATE FUNCTION count_new_job() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO job_days (account_id, day, jobs)
        VALUES (NEW.account_id, (NEW.created_at AT TIME ZONE 'UTC')::date, 1)
        ON CONFLICT (account_id, day) DO UPDATE SET jobs = job_days.jobs + 1;
        RETURN NULL;
    END $$
    """,
    "CREATE TRIGGER count_new_job AFTER INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION count_new_job()",
    """
    CREATE FUNCTION count_job_off() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        UPDATE job_days SET jobs = jobs - 1
        WHERE account_id = OLD.account_id AND day = (OLD.created_at AT TIME ZONE 'UTC')::date;
        RETURN NULL;
    END $$
    """,
    "CREATE TRIGGER count_job_off AFTER DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION count_job_off()",
    f"""
    CREATE FUNCTION count_members() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        {COUNT_MEMBERS} WHERE group_key = NEW.group_key;
        RETURN NULL;
    END $$
    """,
    "CREATE TRIGGER count_members AFTER UPDATE OF revision ON groups FOR EACH ROW EXECUTE FUNCTION count_members()",
)


def triggers(dialect: str) -> tuple[str, ...]:
    """Return the statements that create the triggers."""
    return _ON_SQLITE if dialect == "sqlite" else _ON_POSTGRESQL


@event.listens_for(metadata, "after_create")
def _make_triggers(_metadata: sa.MetaData, connection: sa.Connection, **made: Any) -> None:
    """Create the triggers where tables are created without migrations."""
    if {"jobs", "job_days", "groups", "memberships"} <= {table.name for table in made["tables"]}:
        for statement in triggers(connection.dialect.name):
            connection.exec_driver_sql(statement)
