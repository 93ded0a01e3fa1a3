"""Credits: granted by the operator, held at submit, captured when done, released otherwise."""

from typing import Any

from sqlalchemy import Connection, Row

from vbdesk.clock import Clock
from vbdesk.contract.jobs import JobStatus
from vbdesk.language import N_
from vbdesk.service.credits import repository
from vbdesk.service.kernel.errors import InsufficientCredits, NotFound
from vbdesk.service.ports.job_events import JobSubscriber


class CreditsService(JobSubscriber):
    """Rules of the ledger. Every method uses the caller's transaction, so credits change with the job."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def balance(self, connection: Connection, account_id: str) -> int:
        """Return the balance in tokens: grants minus holds plus releases. Raises NotFound."""
        credits = repository.balance(connection, account_id)
        if credits is None:
            raise NotFound(N_("There is no account with this id."))
        return credits

    def grant(self, connection: Connection, account_id: str, amount: int) -> int:
        """Add tokens and return the new balance.

        Raises:
            NotFound: there is no such account.
            ValueError: `amount` is not positive.
        """
        if amount <= 0:
            raise ValueError("Grant at least one credit.")
        if not repository.change_balance(connection, account_id, amount):
            raise NotFound(N_("There is no account with this id."))
        self._append(connection, account_id, "grant", amount, amount, None)
        return self.balance(connection, account_id)

    def hold(self, connection: Connection, account_id: str, amount: int, job_id: str) -> None:
        """Reserve tokens for a job. Raises InsufficientCredits when the balance is too low."""
        if not repository.change_balance(connection, account_id, -amount):
            raise InsufficientCredits
        self._append(connection, account_id, "hold", amount, -amount, job_id)

    def capture(self, connection: Connection, job_id: str) -> bool:
        """Charge the tokens that the job holds; return False when it was settled before."""
        return self._settle(connection, job_id, captured=True)

    def release(self, connection: Connection, job_id: str) -> bool:
        """Return the tokens that the job holds; return False when it was settled before."""
        return self._settle(connection, job_id, captured=False)

    def job_ended(self, connection: Connection, job: Row[Any], status: JobStatus) -> None:
        """Capture the credits of a finished job; release those of any other ended job."""
        self._settle(connection, job.job_id, captured=status is JobStatus.DONE)

    def _settle(self, connection: Connection, job_id: str, *, captured: bool) -> bool:
        held = repository.find_open_hold(connection, job_id)
        if held is None:
            return False
        if captured:
            self._append(connection, held.account_id, "capture", held.amount, 0, job_id)
        else:
            self._append(connection, held.account_id, "release", held.amount, held.amount, job_id)
            repository.change_balance(connection, held.account_id, held.amount)
        return True

    def _append(
        self, connection: Connection, account_id: str, kind: str, amount: int, delta: int, job_id: str | None
    ) -> None:
        repository.append(
            connection,
            account_id=account_id,
            kind=kind,
            amount=amount,
            delta=delta,
            job_id=job_id,
            created_at=self._clock.now(),
        )
