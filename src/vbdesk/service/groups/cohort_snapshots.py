"""Cohort snapshots: the account's groups as a population, once a day, never across accounts."""

import json
from collections import Counter, defaultdict
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.clock import Clock
from vbdesk.longitudinal import CohortReference, cohort_reference, cohort_values, snapshot
from vbdesk.longitudinal.account_fit import Estimates, FittedMedians, fit_account, personal_variances, with_account_fit
from vbdesk.longitudinal.parameters import Parameters, shipped_parameters
from vbdesk.service.groups import history_entries
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.db.tables import cohort_snapshots, groups

SNAPSHOT_EVERY = timedelta(days=1)
FIT_EVERY = timedelta(days=30)


def references(connection: Connection, account_id: str, group_key: str) -> dict[str, CohortReference]:
    """Return the population reference by sign, from the account's other groups; omit signs with too few groups.

    A deleted group stays in the snapshot until the next one, so that comparing days reveals nothing about it. When too
    few of the snapshot's groups still exist, the sign is omitted.
    """
    query = sa.select(cohort_snapshots).where(cohort_snapshots.c.account_id == account_id)
    row = connection.execute(query).one_or_none()
    if row is None:
        return {}
    existing = _group_keys(connection, account_id)
    levels: dict[str, list[float]] = defaultdict(list)
    present: Counter[str] = Counter()
    for other_key, level_by_sign in json.loads(row.body).items():
        if other_key != group_key:
            for sign, level in level_by_sign.items():
                levels[sign].append(level)
                present[sign] += other_key in existing
    least = shipped_parameters().cohort.min_groups
    found = {sign: cohort_reference(values) for sign, values in levels.items() if present[sign] >= least}
    return {sign: snapshot(reference, row.taken_at) for sign, reference in found.items() if reference is not None}


def account_parameters(connection: Connection, account_id: str, parameters: Parameters) -> Parameters:
    """Return the parameters for this account: with its own usual variances, if they are fitted.

    A fit is dropped when fewer than the required number of groups of the snapshot still exist.
    """
    query = sa.select(cohort_snapshots).where(cohort_snapshots.c.account_id == account_id)
    row = connection.execute(query).one_or_none()
    if row is None or row.fit is None:
        return parameters
    present = _group_keys(connection, account_id) & json.loads(row.body).keys()
    if len(present) < parameters.cohort.min_groups:
        return parameters
    return with_account_fit(parameters, FittedMedians.model_validate_json(row.fit))


class CohortSnapshots:
    """Takes due snapshots; called by a background thread."""

    def __init__(self, database: Database, clock: Clock, parameters: Parameters) -> None:
        self._database = database
        self._clock = clock
        self._parameters = parameters

    def take_due(self) -> int:
        """Take a snapshot for every account with enough groups and none today; return the number."""
        due_before = self._clock.now() - SNAPSHOT_EVERY
        with self._database.reading() as connection:
            account_ids = _accounts_due(connection, due_before)
        for account_id in account_ids:
            self._take(account_id)
        return len(account_ids)

    def _take(self, account_id: str) -> None:
        """Take a snapshot, one group at a time, so that a large account does not block the database.

        A group that changes meanwhile waits for the next snapshot: what was erased must not come back.
        """
        now = self._clock.now()
        with self._database.reading() as connection:
            group_keys = _group_keys(connection, account_id)
        fit = self._fit_in_force(account_id, now)
        levels: dict[str, tuple[int, dict[str, float]]] = {}
        variances: list[Estimates] = []
        for group_key in sorted(group_keys):
            with self._database.reading() as connection:
                revision = _revision(connection, group_key)  # first: the history is at least as new
                history = history_entries.load(connection, group_key, now)
            if revision is None:  # deleted meanwhile
                continue
            if values := cohort_values(history, now, self._parameters):
                levels[group_key] = revision, values
            if fit is None:
                variances.append(personal_variances(history, now, self._parameters))
        fit = fit or fit_account(variances, now, self._parameters)
        stored = None if fit is None else fit.model_dump_json()

        def store(connection: Connection) -> None:
            present = _lock_revisions(connection, account_id)
            unchanged = {key: values for key, (read, values) in levels.items() if present.get(key) == read}
            connection.execute(sa.delete(cohort_snapshots).where(cohort_snapshots.c.account_id == account_id))
            connection.execute(
                sa.insert(cohort_snapshots).values(
                    account_id=account_id, taken_at=now, body=json.dumps(unchanged), fit=stored
                )
            )

        self._database.write(store)

    def _fit_in_force(self, account_id: str, now: datetime) -> FittedMedians | None:
        """The account's fit if it is not due again."""
        query = sa.select(cohort_snapshots.c.fit).where(cohort_snapshots.c.account_id == account_id)
        with self._database.reading() as connection:
            stored = connection.execute(query).scalar_one_or_none()
        fit = None if stored is None else FittedMedians.model_validate_json(stored)
        return fit if fit is not None and now - fit.fitted_at < FIT_EVERY else None


def _group_keys(connection: Connection, account_id: str) -> set[str]:
    return set(connection.execute(sa.select(groups.c.group_key).where(groups.c.account_id == account_id)).scalars())


def _revision(connection: Connection, group_key: str) -> int | None:
    """Return the group's revision; None when it is deleted."""
    return connection.execute(sa.select(groups.c.revision).where(groups.c.group_key == group_key)).scalar_one_or_none()


def _lock_revisions(connection: Connection, account_id: str) -> dict[str, int]:
    """Return the revision of each group of the account; none changes before the transaction ends."""
    query = sa.select(groups.c.group_key, groups.c.revision).where(groups.c.account_id == account_id)
    rows = connection.execute(query.order_by(groups.c.group_key).with_for_update(key_share=True))
    return {row.group_key: row.revision for row in rows}


def _accounts_due(connection: Connection, due_before: datetime) -> list[str]:
    query = (
        sa.select(groups.c.account_id)
        .outerjoin(cohort_snapshots, cohort_snapshots.c.account_id == groups.c.account_id)
        .where(sa.or_(cohort_snapshots.c.taken_at.is_(None), cohort_snapshots.c.taken_at <= due_before))
        .group_by(groups.c.account_id)
        .having(sa.func.count(groups.c.group_key) > shipped_parameters().cohort.min_groups)
    )
    return list(connection.execute(query).scalars())
