"""Last use of API keys, written in the background."""

from vbdesk.clock import Clock
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.last_used import LastUsedWriter
from vbdesk.service.ports.identity import Account

RETRY_S = 60.0


class KeyUses:
    """Records the last use of API keys, at most once an hour each."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._clock = clock
        self._accounts = AccountService(clock)
        self._notes: LastUsedWriter[str] = LastUsedWriter(database, self._accounts.note_uses, "API keys", RETRY_S)

    def note(self, account: Account, api_key: str) -> None:
        """Record that the key is used now, unless this was recorded within the hour; never blocks or fails."""
        if not self._accounts.use_is_noted(account):
            self._notes.note(self._accounts.key_id_of(api_key), self._clock.now())

    def close(self) -> None:
        """Write the remaining uses, if the database accepts them in time."""
        self._notes.close()
