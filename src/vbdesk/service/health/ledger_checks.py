"""Ledger and audio checks: balances match entries, settlements match job ends, audio exists."""

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.contract.jobs import JobStatus
from vbdesk.language import N_, message, plural_message
from vbdesk.service.health.audio_reconciliation import Reconciliation
from vbdesk.service.health.findings import Finding, action_needed, note, ok
from vbdesk.service.jobs.repository import UNFINISHED
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.tables import credit_balances, credit_entries


def check_ledger(connection: Connection) -> list[Finding]:
    """Compare balances with entries, and ended jobs with settlements."""
    return [_check_balances(connection), _check_settlements(connection)]


def check_audio(found: Reconciliation) -> Finding:
    """Report the result of comparing jobs and audio files."""
    if found.waiting_without_audio:
        lost = plural_message(
            "The audio of {count} waiting job is missing, so it will fail. Restore the audio, or let the job fail.",
            "The audio of {count} waiting jobs is missing, so they will fail. Restore the audio, or let the jobs fail.",
            len(found.waiting_without_audio),
        )
        return action_needed(N_("audio"), lost)
    if found.ended_without_audio:
        gone = plural_message(
            "The audio of {count} ended job is missing. Restore it, or run vbdesk admin reconcile --apply.",
            "The audio of {count} ended jobs is missing. Restore it, or run vbdesk admin reconcile --apply.",
            len(found.ended_without_audio),
        )
        return action_needed(N_("audio"), gone)
    if found.files_without_job:
        extra = plural_message(
            "{count} file belongs to no job. The service quarantines it within a day.",
            "{count} files belong to no job. The service quarantines them within a day.",
            len(found.files_without_job),
        )
        return note(N_("audio"), extra)
    complete = plural_message(
        "The audio of {count} job is there, and every file belongs to a job.",
        "The audio of {count} jobs is there, and every file belongs to a job.",
        found.jobs_with_audio,
    )
    return ok(N_("audio"), complete)


def _check_balances(connection: Connection) -> Finding:
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
        wrong_sums = plural_message(
            "{count} balance is not the sum of its entries. Stop the service, and restore a backup.",
            "{count} balances are not the sum of their entries. Stop the service, and restore a backup.",
            count,
        )
        return action_needed(N_("ledger"), wrong_sums)
    return ok(N_("ledger"), message("Every balance is the sum of its entries."))


def _check_settlements(connection: Connection) -> Finding:
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
        unsettled = plural_message(
            "{count} job is not charged as it ended. Look at its entries in the ledger.",
            "{count} jobs are not charged as they ended. Look at their entries in the ledger.",
            count,
        )
        return action_needed(N_("settlements"), unsettled)
    return ok(N_("settlements"), message("Every job that ended is charged once, as it ended."))
