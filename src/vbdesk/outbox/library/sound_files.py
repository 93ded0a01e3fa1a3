"""The files of the library: how a sound comes in, is opened, and is destroyed; and what a crash left of either.

Names in the folder takes: `<take id>.take` is the sound of a recording; `.new` one whose recording is in the database,
or is about to be; `.arriving` the same for one that a bundle brings; `.away` one that was put away and can still be
brought back. A file enters the folder before its row is committed and gets its last name afterwards, so a kill in
between leaves either the take where it was recorded, or the recording whole.

The key of a sound goes to the database in the transaction that makes its row, and only then is it blanked in the file
(`vbdesk.capture.take_keys`). It is destroyed in the database, log and all, before the file is deleted.
"""

import errno
import logging
import os
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from vbdesk.capture.crash_recovery import damage_words
from vbdesk.capture.damaged_take import Salvage, salvage
from vbdesk.capture.encrypted_take import (
    Damaged,
    KeyGone,
    SealedError,
    TakeAudio,
    WrongKey,
    read_file,
    read_take,
    seal_file,
    sync_folder,
)
from vbdesk.capture.take_keys import blank, has_key, new_key, own_key, shred
from vbdesk.outbox.imports.imported_sound import decode_file
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.migrations import backups
from vbdesk.outbox.library.store import Store

COPIES_KEPT_S = 14 * 86_400.0  # of the database before a migration

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FoundSounds:
    """What the folder takes holds, compared with the list.

    Attributes:
        doomed: files whose recording is deleted, or was never complete.
        unfinished: files of recordings in the list that have not got their last name.
        not_taken_in: takes of the recorder that the list does not know yet.
        unclaimed: files that belong to no recording.
        without_file: take ids of recordings that have no file, or only one that is `unfinished`.
    """

    doomed: list[Path] = field(default_factory=list)
    unfinished: list[Path] = field(default_factory=list)
    not_taken_in: list[Path] = field(default_factory=list)
    unclaimed: list[Path] = field(default_factory=list)
    without_file: list[str] = field(default_factory=list)


class Sounds:
    """The sealed sound of every recording of one library."""

    def __init__(self, store: Store, recording_folder: Path) -> None:
        self._store = store
        self._recording_folder = recording_folder
        self._keys_away: list[bytes] = []  # sealed, of what was put away

    def take_in(self, take_id: str, path: Path, sha256: str) -> None:
        """Move a take of the recorder's into the library, with its key. Within the transaction that inserts its row."""
        key = own_key(path, self._store.key)
        if key is not None:
            self._store.keep_take_key(take_id, key)
        self._store.update(take_id, {"sound_sha256": sha256})
        path.replace(self._coming(take_id))
        self._store.afterwards(lambda: self._settle(take_id))
        sync_folder(self._store.takes_folder)

    def give_back(self, take_id: str, path: Path) -> None:
        """Undo `take_in` on the disk, where its transaction was undone."""
        if self._coming(take_id).exists() and not self._is_known(take_id):
            self._coming(take_id).replace(path)

    def seal_copy(self, take_id: str, source: Path) -> bytes:
        """Write a sealed copy of a file; returns the key for `keep_copy`. Raises OSError, and nothing is left then."""
        key = new_key()
        seal_file(source, self._coming(take_id), key)
        return key

    def keep_copy(self, take_id: str, take_key: bytes) -> None:
        """Have the copy in the library. Within the transaction that inserts its row."""
        self._store.keep_take_key(take_id, take_key)
        self._store.afterwards(lambda: self._settle(take_id))
        sync_folder(self._store.takes_folder)

    def audio(self, item: RecordingItem) -> TakeAudio:
        """The whole sound of a recording, known to be the one that was taken in. Raises SealedError, OSError."""
        if item.imported:
            return decode_file(self.original(item))
        self._refuse_gone(item)
        known = self._digest(item)
        path, key = self._present(item.take_id), self._store.take_key(item.take_id)
        audio = read_sound(path, self._store.key, key, known)
        if known is None and item.trim_s is None and audio.duration_s < item.duration_s:
            raise Damaged("The sound of this recording was cut off after it was made, so it is not used.")
        return audio

    def salvage(self, item: RecordingItem) -> Salvage:
        """What can be read of the damaged sound of a recording. Raises SealedError, OSError."""
        if item.imported:
            raise Damaged("An imported file cannot be read in parts. Import it again.")
        self._refuse_gone(item)
        path, key = self._present(item.take_id), self._store.take_key(item.take_id)
        return salvage(path, self._store.key, key, self._digest(item))

    def original(self, item: RecordingItem) -> bytes:
        """The bytes of an imported file, as they came in. Raises SealedError, OSError."""
        self._refuse_gone(item)
        return read_file(self._present(item.take_id), self._store.key, self._store.take_key(item.take_id))

    def put_away(self, take_id: str) -> None:
        """Set a sound aside; `bring_back` undoes it until the library is closed.

        Within the transaction that deletes its key after this call.
        """
        self._drop_copies()
        self._keys_away += self._sealed_keys([take_id])
        self._store.path(take_id).replace(self._away(take_id))

    def bring_back(self, take_id: str) -> None:
        """Undo `put_away`. Raises OSError when the sound is gone."""
        self._away(take_id).replace(self._store.path(take_id))

    def undo_put_away(self, take_id: str) -> None:
        """Lay the sound back, where the transaction of `put_away` was undone."""
        if self._is_known(take_id):
            kept = self._sealed_keys([take_id])
            self._keys_away = [key for key in self._keys_away if key not in kept]
            if self._away(take_id).exists():
                self._away(take_id).replace(self._store.path(take_id))

    def undo_bring_back(self, take_id: str) -> None:
        """Set the sound aside again, where the transaction of `bring_back` was undone."""
        if not self._is_known(take_id) and self._store.path(take_id).exists():
            self._store.path(take_id).replace(self._away(take_id))

    def destroy_afterwards(self, take_ids: Collection[str]) -> None:
        """Delete sounds once the present transaction is on the disk, which deletes their keys after this call.

        What a disk keeps of overwritten blocks, and what a backup of the disk has copied, is beyond its reach: see
        `vbdesk.capture.take_keys`.
        """
        self._drop_copies()
        gone = self._sealed_keys(take_ids)
        self._store.afterwards(lambda: self._destroy(take_ids, gone))

    def destroy_put_away(self) -> None:
        """Delete for good what was put away."""
        away = [path.stem for path in self._store.takes_folder.glob("*.away") if not self._is_known(path.stem)]
        if away:
            self._destroy(away, self._keys_away)

    def tidy(self) -> tuple[list[str], list[str]]:
        """Mend what a crash left half done; nothing that is still wanted is deleted.

        Returns:
            Take ids of recordings whose sound is missing, and names of files that belong to no recording.
        """
        self._drop_copies(COPIES_KEPT_S)
        found = self.look()
        self._scrub(whole=bool(found.doomed))  # a kill may have come between a deletion and this
        for path in found.doomed:
            self._remove(path)
        for path in found.unfinished:
            self._finish(path)
        for path in found.not_taken_in:
            path.replace(self._recording_folder / f"{path.stem}.take")
        missing = [take_id for take_id in found.without_file if not self._store.path(take_id).exists()]
        return missing, [path.name for path in found.unclaimed]

    def look(self) -> FoundSounds:
        """Compare the files of the folder takes with the list, as `tidy` does; changes nothing."""
        known = {row["take_id"]: row["audio_gone_at"] is None for row in self._rows()}
        settled = {f"{take_id}.take" for take_id, wanted in known.items() if wanted}
        with os.scandir(self._store.takes_folder) as entries:
            names = {entry.name for entry in entries}
        found = FoundSounds(without_file=[Path(name).stem for name in settled - names])
        for path in (self._store.takes_folder / name for name in names - settled):
            if self._is_doomed(path, known.get(path.stem)):
                found.doomed.append(path)
            elif path.stem in known:
                found.unfinished.append(path)
            elif path.suffix in (".take", ".new") and has_key(path):  # a crash came before its row: the rescue's again
                found.not_taken_in.append(path)
            else:
                found.unclaimed.append(path)
        return found

    def _is_doomed(self, path: Path, wanted: bool | None) -> bool:
        """Whether a file is to go; its recording's sound is wanted, was removed, or (None) there is no such row."""
        if wanted is None:
            half_a_copy = path.suffix == ".new" and not has_key(path)
            return path.suffix in (".away", ".arriving") or half_a_copy or self._was_removed(path.stem)
        return not wanted and self._store.get(path.stem).fault is None

    def _drop_copies(self, older_than_s: float | None = None) -> None:
        """Delete the copies that a migration made: they hold what is deleted from now on."""
        now = self._store.clock.now().timestamp()
        for copy in backups(self._store.folder):
            if older_than_s is None or now - copy.stat().st_mtime > older_than_s:
                copy.unlink()

    def _sealed_keys(self, take_ids: Collection[str]) -> list[bytes]:
        keys = [self._store.row(take_id)["take_key"] for take_id in take_ids]
        return [key for key in keys if isinstance(key, bytes)]

    def _destroy(self, take_ids: Collection[str], gone: Collection[bytes]) -> None:
        self._scrub(gone)
        for take_id in take_ids:
            for path in (self._store.path(take_id), self._away(take_id)):
                self._remove(path)

    def _scrub(self, gone: Collection[bytes] = (), *, whole: bool = False) -> None:
        try:
            self._store.scrub(gone, whole=whole)
        except sqlite3.Error:  # a full disk keeps nobody from the recordings
            log.exception("Deleted values may still be in the database's file; the next deletion tries again")

    def _finish(self, path: Path) -> None:
        """Give the sound of a recording that is in the database its last name."""
        if path.suffix == ".new":
            self._settle(path.stem)
        elif path.suffix in (".away", ".arriving"):
            path.replace(self._store.path(path.stem))

    def _settle(self, take_id: str) -> None:
        """The recording is in the database: blank the key in its file. What fails here is done at the next start."""
        try:
            blank(self._coming(take_id))
            self._coming(take_id).replace(self._store.path(take_id))
            sync_folder(self._store.takes_folder)
        except OSError:
            log.exception("A recording could not be given its last name; the next start does it")

    def _remove(self, path: Path) -> None:
        try:
            shred(path)
        except OSError:  # somebody plays it on Windows; its key is gone, and the next start removes it
            log.exception("A sound could not be removed; the next start does it")

    def _refuse_gone(self, item: RecordingItem) -> None:
        if item.audio_gone_at is not None:
            raise KeyGone("The sound of this recording was removed after its result. The result is kept.")

    def _digest(self, item: RecordingItem) -> str | None:
        known = self._store.row(item.take_id)["sound_sha256"]
        return known if isinstance(known, str) else None

    def _present(self, take_id: str) -> Path:
        path = self._store.path(take_id)
        if path.exists():
            return path
        for unnamed in (self._coming(take_id), path.with_suffix(".arriving")):  # its last name could not be given
            if unnamed.exists():
                return unnamed
        raise Damaged("The sound of this recording is missing on the disk.")

    def _rows(self) -> list[sqlite3.Row]:
        return self._store.rows("SELECT take_id, audio_gone_at FROM recordings")

    def _is_known(self, take_id: str) -> bool:
        return bool(self._store.rows("SELECT 1 FROM recordings WHERE take_id = ?", (take_id,)))

    def _was_removed(self, take_id: str) -> bool:
        return bool(self._store.rows("SELECT 1 FROM removed WHERE take_id = ?", (take_id,)))

    def _coming(self, take_id: str) -> Path:
        return self._store.path(take_id).with_suffix(".new")

    def _away(self, take_id: str) -> Path:
        return self._store.path(take_id).with_suffix(".away")


def read_sound(path: Path, key: bytes, take_key: bytes | None, sha256: str | None) -> TakeAudio:
    """The sound of a take of the library, whole, whatever else in its file is damaged.

    Args:
        path: its file.
        key: the library's.
        take_key: the take's own, None if it is sealed with the library's.
        sha256: of the sound as it was taken in, where that is known.

    Raises:
        Damaged: sound is missing; the message says what can be read.
        KeyGone, OSError: it cannot be opened.
    """
    try:
        audio = read_take(path, key, take_key)
        if sha256 in (None, audio.closing.get("sha256") or audio.sha256()):
            return audio
    except (Damaged, WrongKey):
        pass
    except OSError as error:
        if error.errno != errno.EIO:
            raise
    try:
        found = salvage(path, key, take_key, sha256)
    except SealedError as error:
        raise Damaged(f"The sound of this recording cannot be read. {error} The file is kept.") from error
    if found.proved:
        return found.parts[0].audio
    raise Damaged(f"The sound of this recording is damaged. {damage_words(found)} The file is kept.")
