"""When API keys were used last: written in the background, so that no request waits for it or fails because of it."""

from vbdesk.service.accounts.service import AccountService
from vbdesk.service.kernel.clock import Clock
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.last_used import LastUsedWriter
from vbdesk.service.ports.identity import Account

RETRY_S = 60.0


class KeyUses:
    """Notes uses of keys, each of them once an hour."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._clock = clock
        self._accounts = AccountService(clock)
        self._notes: LastUsedWriter[str] = LastUsedWriter(database, self._accounts.note_uses, "API keys", RETRY_S)

    def note(self, account: Account, api_key: str) -> None:
        """Have the key noted as used now, unless it was noted lately. Returns at once and never fails."""
        if not self._accounts.use_is_noted(account):
            self._notes.note(self._accounts.key_id_of(api_key), self._clock.now())

    def close(self) -> None:
        """Write what is left, if the database takes it within a moment."""
        self._notes.close()
