"""The sound files of the library: adding, decrypting, destroying; and repair after a crash.

Names in the folder takes: `<take id>.take` is the sound of a recording, also in the trash. `.new` is one whose
recording is in the database, or is about to be; `.arriving` the same for one from a bundle.
A file enters the folder before its row is committed and gets its final name afterwards. So a kill in between leaves
either the take where it was recorded, or a complete recording.

The transaction that adds the row also stores the key of the sound. Only then is the key in the file blanked
(`vbdesk.capture.take_keys`). For a deletion, the key is destroyed in the database and its log before the file is
deleted.
"""

import errno
import logging
import os
import sqlite3
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from vbdesk.capture.crash_recovery import damage_text
from vbdesk.capture.damaged_take import Salvage, salvage
from vbdesk.capture.encrypted_take import (
    EncryptedFileError,
    FileDamaged,
    FileKeyMissing,
    TakeAudio,
    WrongKey,
    decrypt_file,
    encrypt_file,
    read_take,
    sync_folder,
)
from vbdesk.capture.imported_sound import decode_file
from vbdesk.capture.take_keys import blank, has_key, new_key, own_key, shred
from vbdesk.language import joined, message
from vbdesk.outbox.library.column_encryption import NONCE_BYTES
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.repair import backups
from vbdesk.outbox.library.store import Store

COPY_RETENTION_S = 14 * 86_400.0  # copies of the database before a migration

UNNAMED = (".arriving", ".away")  # from a bundle; in the trash of an earlier version
_REWRITE = "rewrite"  # setting: an erasure is to be followed by a rewriting of the database

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SoundFolderState:
    """The files of the folder takes, compared with the list.

    Attributes:
        doomed: files whose recording is deleted, or was never complete.
        unfinished: files of recordings in the list or in the trash without their final name.
        not_taken_in: takes of the recorder that are not in the list yet.
        unclaimed: files that belong to no recording.
        without_file: take ids of recordings that have no file, or only one that is `unfinished`.
    """

    doomed: list[Path] = field(default_factory=list)
    unfinished: list[Path] = field(default_factory=list)
    not_taken_in: list[Path] = field(default_factory=list)
    unclaimed: list[Path] = field(default_factory=list)
    without_file: list[str] = field(default_factory=list)


class SoundFiles:
    """The encrypted sound of every recording of one library.

    Attributes:
        destroyed: how often sound was destroyed since the opening.
    """

    def __init__(self, store: Store, recording_folder: Path) -> None:
        self._store = store
        self._recording_folder = recording_folder
        self.destroyed = 0

    def take_in(self, take_id: str, path: Path, sha256: str) -> None:
        """Move a recorded take into the library, with its key. Within the transaction that inserts its row."""
        key = own_key(path, self._store.key)
        if key is not None:
            self._store.store_take_key(take_id, key)
        self._store.update(take_id, {"sound_sha256": sha256})
        path.replace(self._coming(take_id))
        self._store.after_commit(lambda: self._settle(take_id))
        sync_folder(self._store.takes_folder)

    def give_back(self, take_id: str, path: Path) -> None:
        """Undo `take_in` on the disk after its transaction was rolled back."""
        if self._coming(take_id).exists() and not self._is_known(take_id):
            self._coming(take_id).replace(path)

    def seal_copy(self, take_id: str, content: bytes) -> bytes:
        """Encrypt the content of a file; returns its key for `store_copy`. Raises OSError and leaves nothing."""
        key = new_key()
        encrypt_file(content, self._coming(take_id), key)
        return key

    def store_copy(self, take_id: str, take_key: bytes) -> None:
        """Add the copy to the library. Within the transaction that inserts its row."""
        self._store.store_take_key(take_id, take_key)
        self._store.after_commit(lambda: self._settle(take_id))
        sync_folder(self._store.takes_folder)

    def audio(self, item: RecordingItem) -> TakeAudio:
        """The whole sound of a recording, verified by its digest. Raises EncryptedFileError, OSError."""
        if item.imported:
            return decode_file(self.original(item))
        self._refuse_gone(item)
        known = self._digest(item)
        path, key = self._present(item.take_id), self._store.take_key(item.take_id)
        audio = read_sound(path, self._store.key, key, known)
        if known is None and item.trim_s is None and audio.duration_s < item.duration_s:
            raise FileDamaged(message("The sound of this recording was cut off after it was made, so it is not used."))
        return audio

    def salvage(self, item: RecordingItem) -> Salvage:
        """The readable parts of the damaged sound of a recording. Raises EncryptedFileError, OSError."""
        if item.imported:
            raise FileDamaged(message("An imported file cannot be read in parts. Import it again."))
        self._refuse_gone(item)
        path, key = self._present(item.take_id), self._store.take_key(item.take_id)
        return salvage(path, self._store.key, key, self._digest(item))

    def original(self, item: RecordingItem) -> bytes:
        """The bytes of an imported file, unchanged. Raises EncryptedFileError, OSError."""
        self._refuse_gone(item)
        return decrypt_file(self._present(item.take_id), self._store.key, self._store.take_key(item.take_id))

    def destroy_afterwards(self, take_ids: Collection[str], *, entries: bool = False, whole: bool = False) -> None:
        """Delete sounds after the commit of the present transaction, which deletes their keys after this call.

        It cannot reach old blocks that a disk keeps, or a backup of the disk: see `vbdesk.capture.take_keys`.

        Args:
            take_ids: of recordings in the list or in the trash.
            entries: whether the transaction deletes the whole entries: nobody shall decrypt what they said.
            whole: whether all deleted values must be gone.
        """
        self._drop_copies()
        gone = self._secrets(take_ids, entries=entries)
        if whole:
            self._store.store_setting(_REWRITE, b"")
        self._store.after_commit(lambda: self._destroy(take_ids, gone, whole=whole))

    def tidy(self) -> tuple[list[str], list[str]]:
        """Repair what a crash left unfinished; deletes nothing that is still wanted.

        Returns:
            Take ids of recordings whose sound is missing, and names of files that belong to no recording.
        """
        self._drop_copies(COPY_RETENTION_S)
        found = self.folder_state()
        self._scrub(whole=bool(found.doomed))  # a kill may have interrupted a deletion before this
        for path in found.doomed:
            self._remove(path)
        for path in found.unfinished:
            self._finish(path)
        for path in found.not_taken_in:
            path.replace(self._recording_folder / f"{path.stem}.take")
        missing = [take_id for take_id in found.without_file if not self._store.path(take_id).exists()]
        return missing, [path.name for path in found.unclaimed]

    def finish_erasure(self) -> None:
        """Rewrite the database if a crash came between an erasure and that."""
        if self._store.setting(_REWRITE) is not None:
            self._scrub(whole=True)

    def folder_state(self) -> SoundFolderState:
        """Compare the files of the folder takes with the list, as `tidy` does; changes nothing."""
        rows = self._store.rows("SELECT take_id, audio_gone_at, deleted_at FROM main.recordings")
        known = {row["take_id"]: row["audio_gone_at"] is None for row in rows}
        settled = {f"{take_id}.take" for take_id, wanted in known.items() if wanted}
        trashed = {f"{row['take_id']}.take" for row in rows if row["deleted_at"] is not None}
        with os.scandir(self._store.takes_folder) as entries:
            names = {entry.name for entry in entries}
        found = SoundFolderState(without_file=[Path(name).stem for name in settled - trashed - names])
        for path in (self._store.takes_folder / name for name in names - settled):
            with suppress(FileNotFoundError):  # an open desk has renamed or deleted it meanwhile
                self._list_of(path, found, known).append(path)
        return found

    def _list_of(self, path: Path, found: SoundFolderState, known: Mapping[str, bool]) -> list[Path]:
        """The list of `found` that a file belongs to; `known`: whether each recording needs its file."""
        if self._is_doomed(path, known.get(path.stem)):
            return found.doomed
        if path.stem in known:
            return found.unfinished
        if path.suffix in (".take", ".new") and has_key(path):  # a crash before its row: the recorder rescues it
            return found.not_taken_in
        return found.unclaimed

    def _is_doomed(self, path: Path, wanted: bool | None) -> bool:
        """Whether to delete a file; `wanted`: its recording needs it, was deleted, or (None) has no row."""
        if wanted is None:
            half_a_copy = path.suffix == ".new" and not has_key(path)
            return path.suffix == ".arriving" or half_a_copy or self._was_removed(path.stem)
        return not wanted and self._store.is_intact(path.stem)

    def _drop_copies(self, older_than_s: float | None = None) -> None:
        """Delete the copies made by migrations: they would keep recordings that are deleted from now on."""
        now = self._store.clock.now().timestamp()
        for copy in backups(self._store.folder):
            if older_than_s is None or now - copy.stat().st_mtime > older_than_s:
                copy.unlink()

    def _secrets(self, take_ids: Collection[str], *, entries: bool) -> list[bytes]:
        """The encrypted keys, and the nonces of the other values: without them a copy of the rest says nothing."""
        rows = [self._store.row(take_id) for take_id in take_ids]
        found = [(row["take_key"], 0) for row in rows]
        if entries:
            found += [(row[name], NONCE_BYTES) for row in rows for name in ("details", "result_nonce")]
        return [value[: end or None] for value, end in found if isinstance(value, bytes)]

    def _destroy(self, take_ids: Collection[str], gone: Collection[bytes], *, whole: bool) -> None:
        self.destroyed += 1
        self._scrub(gone, whole=whole)
        for take_id in take_ids:
            for path in (self._store.path(take_id), self._coming(take_id)):
                self._remove(path)

    def _scrub(self, gone: Collection[bytes] = (), *, whole: bool = False) -> None:
        try:
            self._store.scrub(gone, whole=whole)
            if whole and self._store.setting(_REWRITE) is not None:
                with self._store.changing():
                    self._store.drop("settings", _REWRITE)
        except sqlite3.Error:  # a full disk must not block the recordings
            log.exception("Deleted values may still be in the database's file; the next deletion tries again")

    def _finish(self, path: Path) -> None:
        """Give the sound of a recording in the list or in the trash its final name."""
        if path.suffix == ".new":
            self._settle(path.stem)
        elif path.suffix in UNNAMED and not path.with_suffix(".take").exists():
            path.replace(path.with_suffix(".take"))

    def _settle(self, take_id: str) -> None:
        """Blank the key in the file of a recording in the database. The next start repeats what fails."""
        try:
            blank(self._coming(take_id))
            self._coming(take_id).replace(self._store.path(take_id))
            sync_folder(self._store.takes_folder)
        except OSError:
            log.exception("Cannot rename the sound of a recording; the next start does it")

    def _remove(self, path: Path) -> None:
        try:
            shred(path)
        except OSError:  # on Windows, it is playing; its key is gone, and the next start deletes the file
            log.exception("Cannot delete a sound; the next start does it")

    def _refuse_gone(self, item: RecordingItem) -> None:
        if item.audio_gone_at is not None:
            raise FileKeyMissing(
                message("The sound of this recording was removed after its result. The result is kept.")
            )

    def _digest(self, item: RecordingItem) -> str | None:
        known = self._store.row(item.take_id)["sound_sha256"]
        return known if isinstance(known, str) else None

    def _present(self, take_id: str) -> Path:
        path = self._store.path(take_id)
        if path.exists():
            return path
        for suffix in (".new", *UNNAMED):  # still without its final name
            if path.with_suffix(suffix).exists():
                return path.with_suffix(suffix)
        raise FileDamaged(message("The sound of this recording is missing on the disk."))

    def _is_known(self, take_id: str) -> bool:
        return bool(self._store.rows("SELECT 1 FROM main.recordings WHERE take_id = ?", (take_id,)))

    def _was_removed(self, take_id: str) -> bool:
        return bool(self._store.rows("SELECT 1 FROM removed WHERE take_id = ?", (take_id,)))

    def _coming(self, take_id: str) -> Path:
        return self._store.path(take_id).with_suffix(".new")


def read_sound(path: Path, key: bytes, take_key: bytes | None, sha256: str | None) -> TakeAudio:
    """Read the whole sound of a library take, even if other parts of its file are damaged.

    Args:
        path: its file.
        key: the library's key.
        take_key: the take's own key; None if it is encrypted with the library's.
        sha256: digest of the sound, if known.

    Raises:
        FileDamaged: sound is missing; the message says what can be read.
        FileKeyMissing, OSError: it cannot be opened.
    """
    try:
        audio = read_take(path, key, take_key)
        if sha256 in (None, audio.closing.get("sha256") or audio.sha256()):
            return audio
    except (FileDamaged, WrongKey):
        pass
    except OSError as error:
        if error.errno != errno.EIO:
            raise
    try:
        found = salvage(path, key, take_key, sha256)
    except EncryptedFileError as error:
        raise FileDamaged(
            joined(message("The sound of this recording cannot be read."), error, message("The file is kept."))
        ) from error
    if found.proved:
        return found.parts[0].audio
    raise FileDamaged(
        joined(message("The sound of this recording is damaged."), damage_text(found), message("The file is kept."))
    )
