"""Copies of all recordings in a folder, for backups and moves between stores."""

import os
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vbdesk.privacy import create_private, make_private
from vbdesk.service.encryption.file_format import is_encrypted_file
from vbdesk.service.kernel.store_location import checked_key
from vbdesk.service.maintenance.orphans import FOLDERS
from vbdesk.service.storage.quarantine import QUARANTINE_FOLDER, original_key
from vbdesk.service.storage.store import ObjectExists, ObjectMissing, ObjectStore

_UNFINISHED = ".part"


@dataclass(frozen=True, slots=True)
class CopyCount:
    """Numbers of copied files, files that existed already, and removed outdated copies."""

    copied: int
    present: int
    removed: int


def save_audio(store: ObjectStore, folder: Path, *, prune: bool, encrypted: bool = False) -> CopyCount:
    """Update the copies in `folder`; with `prune` remove those of deleted recordings.

    An encrypted file is copied encrypted: the copy is read with the same database and key. With `encrypted`, plain
    copies from before the encryption are replaced. Pruning keeps copies of objects in quarantine.
    """
    return _save(store, FOLDERS, folder, prune=prune, encrypted=encrypted)


def save_quarantine(store: ObjectStore, folder: Path, *, encrypted: bool = False) -> CopyCount:
    """Copy the quarantine into `folder`."""
    return _save(store, (QUARANTINE_FOLDER,), folder, prune=False, encrypted=encrypted)


def _save(store: ObjectStore, names: Iterable[str], folder: Path, *, prune: bool, encrypted: bool) -> CopyCount:
    copied = present = 0
    originals = {folder / original_key(key) for key in store.keys(QUARANTINE_FOLDER)} if prune else set[Path]()
    for name in names:
        for key in store.keys(name):
            target = folder / key
            originals.add(target)
            if target.exists() and not (encrypted and not is_encrypted_file(target)):
                present += 1
                continue
            with suppress(ObjectMissing):  # erased meanwhile
                with store.local_copy(key) as source:
                    _copy_whole(source.path, target)
                copied += 1
    past = [path for path in _files(folder) if path not in originals] if prune else []
    for path in past:
        path.unlink()
    return CopyCount(copied, present, len(past))


def restore_audio(store: ObjectStore, folder: Path) -> CopyCount:
    """Copy every file into the store that the store lacks; existing objects stay unchanged."""
    copied = present = 0
    for path in _files(folder):
        key = checked_key(path.relative_to(folder).as_posix())
        if store.exists(key):
            present += 1
            continue
        incoming = store.files.encrypted_copy(path) or _plain_copy(path, store.incoming)
        try:
            store.adopt(key, incoming)
            copied += 1
        except ObjectExists:
            present += 1
        finally:
            incoming.unlink(missing_ok=True)
    return CopyCount(copied, present, 0)


def _files(folder: Path) -> list[Path]:
    return [path for name in FOLDERS for path in sorted((folder / name).glob("*")) if path.suffix != _UNFINISHED]


def _plain_copy(path: Path, folder: Path) -> Path:
    """Copy a file unchanged, encrypted or plain, for its owner only."""
    descriptor, incoming = tempfile.mkstemp(dir=folder)
    os.close(descriptor)
    shutil.copyfile(path, incoming)
    return Path(incoming)


def _copy_whole(source: Path, target: Path) -> None:
    make_private(target.parent)
    unfinished = target.with_name(target.name + _UNFINISHED)
    with source.open("rb") as file, create_private(unfinished) as copy:
        shutil.copyfileobj(file, copy)
    unfinished.replace(target)
