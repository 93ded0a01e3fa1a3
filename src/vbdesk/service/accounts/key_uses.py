"""When API keys were used last: written in the background, so that no request waits for it or fails because of it."""

import logging
import threading
from datetime import datetime

from sqlalchemy.exc import SQLAlchemyError

from vbdesk.service.accounts.service import Account, AccountService
from vbdesk.service.clock import Clock
from vbdesk.service.db.session import Database

RETRY_S = 60.0
CLOSE_S = 2.0

log = logging.getLogger(__name__)


class KeyUses:
    """Collects uses of keys and writes them in a thread of its own, which the first use starts."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._accounts = AccountService(clock)
        self._lock = threading.Lock()
        self._noted: dict[str, datetime] = {}
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def note(self, account: Account, api_key: str) -> None:
        """Have the key noted as used now, unless it was noted lately. Returns at once and never fails."""
        if self._accounts.use_is_noted(account):
            return
        with self._lock:
            self._noted[self._accounts.key_id_of(api_key)] = self._clock.now()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="vbdesk-key-uses", daemon=True)
                self._thread.start()
        self._wake.set()

    def close(self) -> None:
        """Write what is left, if the database takes it within a moment."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(CLOSE_S)

    def _work(self) -> None:
        noted: dict[str, datetime] = {}
        while noted or not self._stopping.is_set():
            self._wake.wait()
            self._wake.clear()
            with self._lock:
                noted, self._noted = noted | self._noted, {}
            if noted and not self._write(noted):
                if self._stopping.wait(RETRY_S):
                    return
                self._wake.set()
            else:
                noted = {}

    def _write(self, noted: dict[str, datetime]) -> bool:
        try:
            with self._database.writing() as connection:
                self._accounts.note_uses(connection, noted)
        except SQLAlchemyError as error:
            log.warning("Uses of API keys cannot be noted (%s); it is tried again.", type(error).__name__)
            return False
        return True
