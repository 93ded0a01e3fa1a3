"""Corrects a course at the service: one request of a journalled correction at a time, each repeatable."""

from datetime import timedelta

from vbdesk.client.errors import ClientError, Conflict, NotFound
from vbdesk.clock import Clock
from vbdesk.contract.limits import Bucket
from vbdesk.language import N_, joined, message
from vbdesk.outbox.library.corrections import Correction, Corrections, CorrectionStep
from vbdesk.outbox.sync.connection import ServiceConnection
from vbdesk.outbox.sync.error_policy import HoldQueue, RateLimitPause, Unreachable, classify, delay_s
from vbdesk.outbox.sync.planning import Planner

NOT_THERE = N_("The service does not list the recording under its new subject yet. It is added again.")


class CorrectionHandler:
    """Does the steps of corrections. All methods raise ClientError, RequestBudgetUsedUp and VaultError."""

    def __init__(self, corrections: Corrections, connection: ServiceConnection, planner: Planner, clock: Clock) -> None:
        self._corrections, self._connection = corrections, connection
        self._planner, self._clock = planner, clock

    def run(self, entry: Correction) -> None:
        """Do the next step of a correction. An error that only concerns this correction postpones it."""
        steps = {
            CorrectionStep.CREATE: self._create,
            CorrectionStep.ADD: self._add,
            CorrectionStep.VERIFY: self._verify,
            CorrectionStep.REMOVE: self._remove,
        }
        try:
            steps[entry.step](entry)
        except ClientError as error:
            if not _is_of_the_queue(error):
                self._postpone(entry, joined(error.reason, message("It is tried again automatically.")))
            raise

    def postpone(self, entry: Correction) -> None:
        """Retry later after an unexpected error."""
        self._postpone(entry, message("Something unexpected went wrong. It is tried again automatically."))

    def _create(self, entry: Correction) -> None:
        """Create the group that the recording joins; the service may have it."""
        try:
            with self._connection.requesting(Bucket.GENERAL) as client:
                client.groups.create(entry.target or "")
        except Conflict:
            pass
        self._corrections.advance(entry, CorrectionStep.ADD)

    def _add(self, entry: Correction) -> None:
        if self._is_member(entry) is not None:
            self._corrections.advance(entry, CorrectionStep.VERIFY)

    def _verify(self, entry: Correction) -> None:
        """Add it once more: the service says that it was a member already."""
        found = self._is_member(entry)
        if found:
            self._corrections.advance(entry, CorrectionStep.REMOVE)
        elif found is not None:
            self._postpone(entry, NOT_THERE)

    def _is_member(self, entry: Correction) -> bool | None:
        """Whether the group had every job of the recording already; those that it lacked are added.

        None if somebody has deleted the group: it is created again. Jobs that the service does not know do not count.
        """
        try:
            with self._connection.requesting(Bucket.GENERAL) as client:
                answer = client.groups.add_jobs(entry.target or "", entry.member.job_ids)
        except NotFound:
            self._postpone(entry, NOT_THERE, CorrectionStep.CREATE)
            return None
        return set(answer.skipped) | set(answer.not_found) >= set(entry.member.job_ids)

    def _remove(self, entry: Correction) -> None:
        """Remove it from the group that it leaves; it may have left already."""
        for job_id in entry.member.job_ids if entry.source is not None else ():
            try:
                with self._connection.requesting(Bucket.GENERAL) as client:
                    client.groups.remove_job(entry.source or "", job_id)
            except NotFound:
                continue
        self._corrections.advance(entry, CorrectionStep.SETTLED)
        for group_id in (entry.source, entry.target):
            if group_id is not None:
                self._planner.read_subject(group_id)

    def _postpone(self, entry: Correction, trouble: str, step: CorrectionStep | None = None) -> None:
        at = self._clock.now() + timedelta(seconds=delay_s(entry.attempts + 1))
        self._corrections.postpone(entry, at, trouble, step)


def _is_of_the_queue(error: ClientError) -> bool:
    """Whether an error concerns every request, so that the queue waits as a whole."""
    action = classify(error)
    if isinstance(action, Unreachable):
        return not action.failed
    return isinstance(action, HoldQueue | RateLimitPause)
