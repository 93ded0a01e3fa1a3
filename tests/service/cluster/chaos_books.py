"""Invariants of an idle cluster, checked from its database, its store and its clients' responses.

Every method returns violations; test_cluster_books.py damages the data to check that each is found.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import sqlalchemy as sa
from chaos_load import Delivery

from vbdesk.contract.ids import id_timestamp
from vbdesk.contract.webhooks import signature_matches
from vbdesk.service.kernel.db.jobs import job_days, jobs
from vbdesk.service.kernel.db.tables import credit_balances, credit_entries, groups, memberships, webhook_deliveries
from vbdesk.service.uploads.service import UPLOADS_FOLDER

TERMINAL = ("done", "failed", "timed-out")
MAX_STARTS = 3
CREATED_BEFORE_SEEN = timedelta(seconds=5)
"""A job's creation time is set before its commit, so other jobs may not see it yet."""
SIGNS_OF_A_CRASH = ("Traceback", 'File "', ".py", "psycopg", "sqlalchemy")


@dataclass(frozen=True)
class Books:
    """A snapshot of the tables."""

    jobs: Mapping[str, sa.Row[Any]]
    entries: Collection[sa.Row[Any]]
    balances: Mapping[str, int]
    deliveries: Mapping[str, sa.Row[Any]]
    groups: Mapping[str, sa.Row[Any]]
    members: Mapping[str, list[str]]
    days: Collection[sa.Row[Any]]

    @classmethod
    def read(cls, connection: sa.Connection) -> "Books":
        def rows(table: sa.Table) -> Collection[sa.Row[Any]]:
            return connection.execute(sa.select(table)).all()

        members = defaultdict(list)
        for member in rows(memberships):
            members[member.group_key].append(member.job_id)
        return cls(
            {row.job_id: row for row in rows(jobs)},
            rows(credit_entries),
            {row.account_id: row.credits for row in rows(credit_balances)},
            {row.job_id: row for row in rows(webhook_deliveries)},
            {row.group_key: row for row in rows(groups)},
            members,
            rows(job_days),
        )

    @property
    def statuses(self) -> Counter[str]:
        return Counter(job.status for job in self.jobs.values())

    def at_rest(self) -> bool:
        """Return whether no work is left."""
        ended = all(job.status in TERMINAL for job in self.jobs.values())
        return ended and all(row.state == "sent" for row in self.deliveries.values())

    def unfinished(self) -> list[str]:
        """Return jobs that never ended, or ended and are still held by an executor."""
        return [
            f"{job.job_id} {job.status}"
            for job in self.jobs.values()
            if job.status not in TERMINAL or job.executor_id or job.run_deadline or job.analysis
        ]

    def wrong_ends(self) -> list[str]:
        """Return jobs whose fields contradict their status, and failures not explained by the number of starts."""
        wrong = []
        for job in self.jobs.values():
            result = job.status == "done"
            completed = job.status in ("done", "failed")
            if bool(job.result) != result or (job.completed_at is not None) != completed:
                wrong.append(f"{job.job_id} {job.status} with result {bool(job.result)}, end {job.completed_at}")
            elif job.status == "failed" and job.starts <= MAX_STARTS:
                wrong.append(f"{job.job_id} failed after {job.starts} starts")
        return wrong

    def ledger_faults(self) -> list[str]:
        """Return jobs without one hold and one matching settlement, and balances that differ from their entries."""
        kinds, sums = defaultdict(list), Counter[str]()
        for entry in self.entries:
            sums[entry.account_id] += entry.delta
            if entry.job_id is not None:
                kinds[entry.job_id].append((entry.kind, entry.amount))
        faults = [f"entries of no job: {job_id}" for job_id in kinds.keys() - self.jobs.keys()]
        for job_id, job in self.jobs.items():
            end = "capture" if job.status == "done" else "release"
            found = sorted(kinds[job_id])
            if [kind for kind, _ in found] != sorted(["hold", end]) or len({amount for _, amount in found}) != 1:
                faults.append(f"{job_id} {job.status}: {found}")
        faults += [
            f"account {account}: balance {balance}, entries {sums[account]}"
            for account, balance in self.balances.items()
            if balance != sums[account]
        ]
        return faults

    def lost(self, accepted: Iterable[str]) -> list[str]:
        """Return accepted jobs that do not exist."""
        return [job_id for job_id in accepted if job_id not in self.jobs]

    def doubled(self, accepted: Collection[str]) -> list[str]:
        """Return jobs that no client knows, although every client repeated its request until it was answered."""
        return [job_id for job_id in self.jobs if job_id not in accepted]

    def out_of_order(self) -> list[str]:
        """Return recordings added to a history before an older one that was already accepted."""
        found = []
        for members in self.members.values():
            history = sorted(
                (self.jobs[job_id] for job_id in members if self.jobs[job_id].status == "done"),
                key=lambda job: (job.recorded_at, job.job_id),
            )
            for place, later in enumerate(history):
                found += [
                    f"{later.job_id} before {older.job_id}"
                    for older in history[:place]
                    if older.completed_at > later.completed_at
                    and older.created_at + CREATED_BEFORE_SEEN < later.completed_at
                ]
        return found

    def miscounted(self) -> list[str]:
        """Return groups and accounts whose stored counts differ from their jobs."""
        wrong = []
        for key, group in self.groups.items():
            statuses = [self.jobs[job_id].status for job_id in self.members[key]]
            if (group.job_count, group.done_job_count) != (len(statuses), statuses.count("done")):
                wrong.append(f"group {group.group_id}: {group.job_count}, {group.done_job_count} of {statuses}")
        kept, real = Counter[tuple[str, date]](), Counter[tuple[str, date]]()
        for day in self.days:
            kept[day.account_id, day.day] += day.jobs
        for job in self.jobs.values():
            real[job.account_id, job.created_at.date()] += 1
        return [*wrong, *(f"{key}: {kept[key]} of {real[key]}" for key in kept | real if kept[key] != real[key])]

    def wrong_deliveries(self, received: Collection[Delivery], secrets: Mapping[str, str]) -> list[str]:
        """Return jobs with a missing or wrong delivery, a wrong signature, or several delivery ids."""
        told: dict[str, list[Delivery]] = defaultdict(list)
        for delivery in received:
            told[str(delivery.job["job_id"])].append(delivery)
        wrong = [f"nothing is known of {job_id}" for job_id in told.keys() - self.jobs.keys()]
        for job_id, job in self.jobs.items():
            of_job, row = told[job_id], self.deliveries.get(job_id)
            if not of_job or row is None or row.state != "sent":
                wrong.append(f"{job_id}: {len(of_job)} deliveries, {row and row.state}")
            if len({delivery.headers["x-webhook-delivery"] for delivery in of_job}) > 1:
                wrong.append(f"{job_id}: deliveries of several names")
            for delivery in of_job:
                secret = secrets.get(job_id)
                signature = delivery.headers["x-webhook-signature"]
                if secret is not None and not signature_matches(delivery.body, secret, signature):
                    wrong.append(f"{job_id}: wrong signature")
                if delivery.job["status"] != job.status or bool(delivery.job["result"]) != bool(job.result):
                    wrong.append(f"{job_id}: {delivery.job['status']} was delivered, {job.status} is true")
        return wrong

    def missing_audio(self, keys: Collection[str]) -> list[str]:
        """Return audio keys of jobs whose recording is missing."""
        return [job.audio_key for job in self.jobs.values() if job.audio_key and job.audio_key not in keys]

    def orphans(self, keys: Iterable[str]) -> list[str]:
        """Return objects that are neither a job's recording nor an upload."""
        known = {job.audio_key for job in self.jobs.values()}
        return [key for key in keys if key not in known and not _is_upload(key)]


def crashes_shown(bodies: Iterable[str]) -> list[str]:
    """Return error responses that expose internal details."""
    shown = []
    for body in bodies:
        try:
            words = json.loads(body)
            plain = set(words) == {"code", "message", "status"}
        except ValueError:
            plain = False
        if not plain or any(sign in body for sign in SIGNS_OF_A_CRASH):
            shown.append(body[:300])
    return shown


def secrets_shown(text: str, secrets: Iterable[str]) -> list[str]:
    """Return the first characters of secrets that appear in the text."""
    return [secret[:6] + "..." for secret in secrets if secret in text]


def _is_upload(key: str) -> bool:
    folder, _, name = key.partition("/")
    try:
        id_timestamp(name)
    except ValueError:
        return False
    return folder == UPLOADS_FOLDER
