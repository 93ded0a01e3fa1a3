"""What a person does with a damaged take: recover its readable parts, keep the file, or delete it.

Until then the file stays in the recorder's folder and is offered. A recovered or kept file moves to the library's
folder `damaged` and is never deleted automatically.
"""

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from vbdesk.capture.crash_recovery import Leftovers, find_leftovers, offer_parts, recover_parts
from vbdesk.capture.damaged_take import Salvage, salvage
from vbdesk.capture.encrypted_take import EncryptedFileError, EncryptedTakeWriter, FileDamaged, sync_folder
from vbdesk.capture.take_keys import shred
from vbdesk.language import message, system_reason
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.store import Store
from vbdesk.privacy import make_private

FOLDER = "damaged"


class DamagedTakes:
    """Operations on damaged takes, each recorded in the audit log."""

    def __init__(self, store: Store, recording_folder: Path, readable: Callable[[str], Salvage]) -> None:
        """Make it; `readable` finds the readable parts of a library recording's sound."""
        self._store, self._recording_folder, self._readable = store, recording_folder, readable
        self.folder = store.folder / FOLDER
        self._lock = threading.Lock()

    def leftovers(self) -> Leftovers:
        """See `find_leftovers`; waits for a recovery that runs, whose parts look like those of a crash."""
        with self._lock:
            return find_leftovers(self._recording_folder, self._store.key)

    def recover(self, path: Path) -> int:
        """Make takes of the readable parts of a leftover; its file is kept. Returns how many.

        Raises:
            EncryptedFileError: nothing can be read.
            OSError: the disk refused; nothing was changed.
        """
        with self._lock:
            found = salvage(path, self._store.key)
            parts = self._recover(found, path.stem)
            try:
                self._set_aside(path)
            except BaseException:
                for part in parts:
                    part.unlink(missing_ok=True)
                raise
            self._note(AuditAction.PARTS_RECOVERED, path.stem, _figures(found))
            offer_parts(parts)
        return len(parts)

    def recover_sound(self, take_id: str) -> int:
        """Make takes of the readable parts of a library recording, which stays as it is. Returns how many.

        Raises as `recover`, and UnknownTake.
        """
        with self._lock:
            found = self._readable(take_id)
            parts = self._recover(found, take_id)
            self._note(AuditAction.PARTS_RECOVERED, take_id, _figures(found))
            offer_parts(parts)
        return len(parts)

    def keep(self, path: Path) -> None:
        """Move a leftover's file aside, and stop offering it. Raises OSError."""
        self._set_aside(path)
        self._note(AuditAction.DAMAGED_KEPT, path.stem)

    def delete(self, path: Path) -> None:
        """Delete a leftover, its key first. Raises OSError."""
        self._shred(path, AuditAction.DAMAGED_DELETED)

    def erase_subject(self, group_id: str) -> tuple[int, list[str]]:
        """Destroy the takes of a subject that are not in the list: undecided ones, and those kept aside.

        A file whose description cannot be read stays, since nobody can tell whose it is.

        Returns:
            How many were destroyed, and why each other one is still here, as a sentence.
        """
        found, left = self._takes_of(group_id), list[str]()
        for path in found:
            if EncryptedTakeWriter.is_writing(path):
                left.append(message("A recording of this subject is running. Stop it, then erase it."))
                continue
            try:
                self._shred(path, AuditAction.DELETED)
            except OSError as error:
                left.append(system_reason(error))
        return len(found) - len(left), left

    def _takes_of(self, group_id: str) -> list[Path]:
        found = []
        with self._lock:
            for path in (*self._recording_folder.glob("*"), *self.folder.glob("*")):
                with suppress(EncryptedFileError, OSError):
                    if salvage(path, self._store.key).about.get("group_id") == group_id:
                        found.append(path)
        return found

    def _shred(self, path: Path, what: AuditAction) -> None:
        with suppress(OSError):  # its permissions may be the damage
            path.chmod(0o600)
        shred(path)
        self._note(what, path.stem)

    def _recover(self, found: Salvage, name: str) -> list[Path]:
        if not found.parts:
            raise FileDamaged(message("None of its sound can be read."))
        return recover_parts(found, self._recording_folder, name, self._store.key)

    def _set_aside(self, path: Path) -> None:
        make_private(self.folder)
        target = self.folder / path.name
        number = 1
        while target.exists():
            number += 1
            target = self.folder / f"{path.stem}-{number}{path.suffix}"
        path.replace(target)
        sync_folder(self.folder)

    def _note(self, what: AuditAction, name: str, detail: str = "") -> None:
        with self._store.changing():
            self._store.note(what, name if _is_id(name) else None, detail)


def _figures(found: Salvage) -> str:
    return f"parts={len(found.parts)}, readable={found.readable_s:.1f} s, missing={found.lost_s:.1f} s"


def _is_id(name: str) -> bool:
    """Whether a file name is an id of ours; another name may identify a person."""
    try:
        return str(uuid.UUID(name)) == name
    except ValueError:
        return False
