"""Database checks: reachable, schema version, free connections, clock difference."""

from contextlib import suppress
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy import Connection

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


def look_at_missing_database(settings: Settings, store: ObjectStore | None) -> Finding | None:
    """Check that the file of an embedded database is there; None if it is, or if a server has the database.

    To be called before the database is opened, which would create it.
    """
    file = sqlite_file(settings)
    if file is None or (file.exists() and file.stat().st_size > 0):
        return None
    try:
        refuse_orphaned_log(file)
    except DatabaseMissing as missing:
        return action_needed("database", str(missing))
    if store is not None and _has_recordings(store):
        return action_needed(
            "database",
            f"{file} is missing or empty, but the store has recordings. Put the database back, or restore it from a "
            "backup.",
        )
    return note("database", "There is none yet. The first start of the service creates it.")


def _has_recordings(store: ObjectStore) -> bool:
    with suppress(StoreUnavailable):  # reported as a finding of the store
        return next(iter(store.keys("audio")), None) is not None
    return False


def look_at_database(database: Database) -> list[Finding]:
    """Check the database. Raises SQLAlchemyError when it does not answer."""
    with database.reading() as connection:
        findings = [_look_at_version(connection), _look_at_schema(connection)]
        if connection.dialect.name == "postgresql":
            findings += [_look_at_connections(connection), _look_at_clock(connection)]
    return findings


def _look_at_version(connection: Connection) -> Finding:
    parts = connection.dialect.server_version_info or ()
    version = ".".join(map(str, parts))
    if connection.dialect.name == "postgresql" and int(parts[0]) < OLDEST_POSTGRESQL:
        return action_needed("database", f"It is PostgreSQL {version}: upgrade it to {OLDEST_POSTGRESQL} or newer.")
    return ok("database", f"It answers: {connection.dialect.name} {version}.")


def _look_at_schema(connection: Connection) -> Finding:
    found = status(connection)
    match found.state:
        case SchemaState.EMPTY | SchemaState.BEHIND:
            at = found.revision or "none"
            return action_needed(
                "schema", f"It is {at}, this vbdesk's is {found.code_revision}: vbdesk admin database upgrade."
            )
        case SchemaState.AHEAD:
            return note("schema", f"It is {found.revision}, newer than this vbdesk's, and still serves it.")
        case SchemaState.TOO_NEW:
            return action_needed("schema", f"It is {found.revision} and serves this vbdesk no more: start a newer one.")
    return ok("schema", f"It is {found.revision}, and serves vbdesk from {found.oldest_revision} on.")


def _look_at_connections(connection: Connection) -> Finding:
    # unlike pg_stat_activity, this counts the connections of all roles
    used = connection.execute(sa.text("SELECT sum(numbackends)::int FROM pg_stat_database"))
    most = int(connection.execute(sa.text("SHOW max_connections")).scalar_one())
    reserved = int(connection.execute(sa.text("SHOW superuser_reserved_connections")).scalar_one())
    free = most - reserved - used.scalar_one()
    words = f"{free} of {most} are free"
    if free < FEW_CONNECTIONS:
        return action_needed(
            "connections", f"{words}, one more process may want {FEW_CONNECTIONS}: raise max_connections."
        )
    return ok("connections", f"{words}.")


def _look_at_clock(connection: Connection) -> Finding:
    before = datetime.now(UTC)
    theirs: datetime = connection.execute(sa.text("SELECT clock_timestamp()")).scalar_one()
    after = datetime.now(UTC)
    skew_s = (theirs - before - (after - before) / 2).total_seconds()
    words = f"The database's clock is {abs(skew_s):.1f} s {'ahead of' if skew_s > 0 else 'behind'} this machine's"
    if abs(skew_s) > MOST_SKEW_S:
        return action_needed("clock", f"{words}: let both follow a time server.")
    return ok("clock", f"{words}.")
