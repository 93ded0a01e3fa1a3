"""Database checks: reachable, schema version, free connections, clock difference."""

from contextlib import suppress
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.clock import utc_now
from vbdesk.language import N_, message
from vbdesk.service.health.findings import Finding, action_needed, note, ok
from vbdesk.service.kernel.db.migrate import SchemaState, status
from vbdesk.service.kernel.db.session import Database, DatabaseMissing, refuse_orphaned_log, sqlite_file
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.storage.store import ObjectStore, StoreUnavailable

OLDEST_POSTGRESQL = 13
MOST_SKEW_S = 2.0
"""Signed addresses and heartbeats tolerate more; a synchronised clock stays far below."""
FEW_CONNECTIONS = 40
"""Roughly the connections that one more process may open."""


def check_missing_database(settings: Settings, store: ObjectStore | None) -> Finding | None:
    """Check that the file of an embedded database is there; None if it is, or if a server has the database.

    To be called before the database is opened, which would create it.
    """
    file = sqlite_file(settings)
    if file is None or (file.exists() and file.stat().st_size > 0):
        return None
    try:
        refuse_orphaned_log(file)
    except DatabaseMissing as missing:
        return action_needed(N_("database"), missing)
    if store is not None and _has_recordings(store):
        return action_needed(
            N_("database"),
            message(
                "{file} is missing or empty, but the store has recordings. Put the database back, or restore it from a "
                "backup.",
                file=file,
            ),
        )
    return note(N_("database"), message("There is no database yet. The first start of the service creates it."))


def _has_recordings(store: ObjectStore) -> bool:
    with suppress(StoreUnavailable):  # reported as a finding of the store
        return next(iter(store.keys("audio")), None) is not None
    return False


def check_database(database: Database) -> list[Finding]:
    """Check the database. Raises SQLAlchemyError when it does not answer."""
    with database.reading() as connection:
        findings = [_check_version(connection), _check_schema(connection)]
        if connection.dialect.name == "postgresql":
            findings += [_check_connections(connection), _check_clock(connection)]
    return findings


def _check_version(connection: Connection) -> Finding:
    parts = connection.dialect.server_version_info or ()
    version = ".".join(map(str, parts))
    dialect = connection.dialect.name
    if dialect == "postgresql" and int(parts[0]) < OLDEST_POSTGRESQL:
        too_old = message(
            "The database is PostgreSQL {version}. Upgrade it to {oldest} or newer.",
            version=version,
            oldest=str(OLDEST_POSTGRESQL),
        )
        return action_needed(N_("database"), too_old)
    return ok(N_("database"), message("The database answers: {name} {version}.", name=dialect, version=version))


def _check_schema(connection: Connection) -> Finding:
    found = status(connection)
    match found.state:
        case SchemaState.EMPTY:
            return action_needed(
                N_("schema"), message("The database has no tables. Run vbdesk admin database upgrade.")
            )
        case SchemaState.BEHIND:
            behind = message(
                "The tables have version {revision}, and this vbdesk needs {needed}. Run vbdesk admin database "
                "upgrade.",
                revision=str(found.revision),
                needed=found.code_revision,
            )
            return action_needed(N_("schema"), behind)
        case SchemaState.AHEAD:
            ahead = message(
                "The tables have version {revision}, which is newer than this vbdesk. It can still use them.",
                revision=str(found.revision),
            )
            return note(N_("schema"), ahead)
        case SchemaState.TOO_NEW:
            too_new = message(
                "The tables have version {revision}, which this vbdesk cannot use. Start a newer vbdesk.",
                revision=str(found.revision),
            )
            return action_needed(N_("schema"), too_new)
    current = message(
        "The tables have version {revision}, which vbdesk can use from version {oldest} on.",
        revision=str(found.revision),
        oldest=str(found.oldest_revision),
    )
    return ok(N_("schema"), current)


def _check_connections(connection: Connection) -> Finding:
    # unlike pg_stat_activity, this counts the connections of all roles
    used = connection.execute(sa.text("SELECT sum(numbackends)::int FROM pg_stat_database"))
    most = int(connection.execute(sa.text("SHOW max_connections")).scalar_one())
    reserved = int(connection.execute(sa.text("SHOW superuser_reserved_connections")).scalar_one())
    free = most - reserved - used.scalar_one()
    counted = message("{free} of {most} connections are free.", free=free, most=most)
    if free < FEW_CONNECTIONS:
        few = message("One more process may need {wanted}. Raise max_connections.", wanted=FEW_CONNECTIONS)
        return action_needed(N_("connections"), counted, few)
    return ok(N_("connections"), counted)


def _check_clock(connection: Connection) -> Finding:
    before = utc_now()
    theirs: datetime = connection.execute(sa.text("SELECT clock_timestamp()")).scalar_one()
    after = utc_now()
    skew_s = (theirs - before - (after - before) / 2).total_seconds()
    if skew_s > 0:
        difference = message("The database's clock is {seconds:.1f} s ahead of this machine's.", seconds=skew_s)
    else:
        difference = message("The database's clock is {seconds:.1f} s behind this machine's.", seconds=-skew_s)
    if abs(skew_s) > MOST_SKEW_S:
        return action_needed(N_("clock"), difference, message("Let both follow a time server."))
    return ok(N_("clock"), difference)
