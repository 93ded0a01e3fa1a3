"""The letterhead of a profile: an encrypted, authenticated setting of its library."""

import base64
import json

from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.store import Store
from vbdesk.report.letterhead import Letterhead

_NAME = "letterhead"


class LetterheadSetting:
    """Reads and stores the letterhead. Every method reads or writes the disk."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self) -> Letterhead | None:
        """The letterhead; None if there is none, or something other than vbdesk wrote it."""
        content = self._store.setting(_NAME)
        if content is None:
            return None
        stored = json.loads(content)
        return Letterhead(stored["name"], tuple(stored["address"]), base64.b64decode(stored["logo"]))

    def store(self, letterhead: Letterhead | None) -> None:
        """Store the letterhead; None removes it. Notes in the audit log that it changed, not what it says."""
        with self._store.changing():
            if letterhead is None:
                self._store.drop("settings", _NAME)
            else:
                logo = base64.b64encode(letterhead.logo).decode()
                stored = {"name": letterhead.name, "address": letterhead.address, "logo": logo}
                self._store.store_setting(_NAME, json.dumps(stored).encode())
            said = "none" if letterhead is None else "with logo" if letterhead.logo else "without logo"
            self._store.note(AuditAction.SETTINGS_CHANGED, detail=f"letterhead={said}")
