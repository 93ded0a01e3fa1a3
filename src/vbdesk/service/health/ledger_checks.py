"""Ledger and audio checks: balances match entries, settlements match job ends, audio exists."""

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.contract.jobs import JobStatus
from vbdesk.service.health.audio_reconciliation import Reconciliation
from vbdesk.service.health.findings import Finding, action_needed, note, ok
from vbdesk.service.jobs.repository import UNFINISHED
from vbdesk.service.kernel.db.credits import credit_balances, credit_entries
from vbdesk.service.kernel.db.jobs import jobs


def look_at_ledger(connection: Connection) -> list[Finding]:
    """Compare balances with entries, and ended jobs with settlements."""
    return [_look_at_balances(connection), _look_at_settlements(connection)]


def look_at_audio(found: Reconciliation) -> Finding:
    """Report the result of comparing jobs and audio files."""
    if found.waiting_without_audio:
        count = len(found.waiting_without_audio)
        one = "1 waiting job has lost its audio and will fail: restore it, or let the job fail."
        many = f"{count} waiting jobs have lost their audio and will fail: restore it, or let them."
        return action_needed("audio", one if count == 1 else many)
    if found.ended_without_audio:
        count = len(found.ended_without_audio)
        ended = "1 ended job" if count == 1 else f"{count} ended jobs"
        return action_needed("audio", f"The audio of {ended} is gone: restore it, or vbdesk admin reconcile --apply.")
    if found.files_without_job:
        count = len(found.files_without_job)
        one = "1 file belongs to no job; within a day it is quarantined."
        many = f"{count} files belong to no job; within a day they are quarantined."
        return note("audio", one if count == 1 else many)
    jobs = "1 job" if found.jobs_with_audio == 1 else f"{found.jobs_with_audio} jobs"
    return ok("audio", f"The audio of {jobs} is there, and no file without a job.")


def _look_at_balances(connection: Connection) -> Finding:
    sums = (
        sa.select(credit_entries.c.account_id, sa.func.sum(credit_entries.c.delta).label("total"))
        .group_by(credit_entries.c.account_id)
        .subquery()
    )
    wrong = (
        sa.select(sa.func.count())
        .select_from(credit_balances)
        .outerjoin(sums, sums.c.account_id == credit_balances.c.account_id)
        .where(credit_balances.c.credits != sa.func.coalesce(sums.c.total, 0))
    )
    count = connection.execute(wrong).scalar_one()
    if count:
        one = "1 balance is not the sum of its entries: stop, and restore a backup."
        many = f"{count} balances are not the sum of their entries: stop, and restore a backup."
        return action_needed("ledger", one if count == 1 else many)
    return ok("ledger", "Every balance is the sum of its entries.")


def _look_at_settlements(connection: Connection) -> Finding:
    """Check that each settlement matches its job's end; an open job has none."""
    settled = credit_entries.c.kind.in_(("capture", "release"))
    right = sa.case((jobs.c.status == JobStatus.DONE.value, "capture"), else_="release")
    joined = sa.and_(credit_entries.c.job_id == jobs.c.job_id, settled)
    wrong = (
        sa.select(sa.func.count())
        .select_from(jobs)
        .outerjoin(credit_entries, joined)
        .where(
            sa.or_(
                jobs.c.status.not_in(UNFINISHED)
                & sa.or_(credit_entries.c.kind.is_(None), credit_entries.c.kind != right),
                jobs.c.status.in_(UNFINISHED) & credit_entries.c.kind.is_not(None),
            )
        )
    )
    count = connection.execute(wrong).scalar_one()
    if count:
        one = "1 job is not settled as it ended: look at its entries in the ledger."
        many = f"{count} jobs are not settled as they ended: look at their entries in the ledger."
        return action_needed("settlements", one if count == 1 else many)
    return ok("settlements", "Every job that ended is settled once, as it ended.")
