"""How far the library has come: the highest version of its database, kept in a file beside it and in the keyring.

A database behind a mark is an older copy, put back in place of the newer one. A mark behind its database says nothing:
a crash came between the two. The file is written with each change. It cannot tell of a whole folder that was put back;
the keyring can. It is written once a minute at most, so it misses a folder of the last minute that is put back.
"""

import contextlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vbdesk.capture.encrypted_take import sync_folder
from vbdesk.outbox.library.column_encryption import ColumnSeal, InvalidTag
from vbdesk.outbox.profiles.vault import Vault, VaultError
from vbdesk.privacy import owner_only_opener

FILE_NAME = "library.mark"
KEYRING_EVERY_S = 60.0
ASK_AGAIN_S = 5.0
_PLACE = "high water"
_DIGITS = 20


class MarkFile:
    """The mark in the folder of the library.

    Its content always has the same size and is written in place, so a power cut leaves the old one or the new one.
    """

    def __init__(self, folder: Path, seal: ColumnSeal) -> None:
        self._path = folder / FILE_NAME
        self._seal = seal
        self._size = len(self._content(0))

    def write(self, version: int) -> None:
        """Keep `version`; a disk that refuses costs the notice, not the change."""
        with contextlib.suppress(OSError):
            if self._path.exists() and self._path.stat().st_size == self._size:
                with self._path.open("rb+", buffering=0) as file:
                    file.write(self._content(version))
            else:
                self._make(version)

    def read(self) -> int | None:
        """What was kept last; None if nothing was, or somebody else wrote it."""
        try:
            return int(self._seal.open(self._path.read_bytes(), _PLACE))
        except (OSError, InvalidTag, ValueError):
            return None

    def _make(self, version: int) -> None:
        unfinished = self._path.with_suffix(".mark.new")
        with open(unfinished, "wb", opener=owner_only_opener) as file:
            file.write(self._content(version))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self._path)
        sync_folder(self._path.parent)

    def _content(self, version: int) -> bytes:
        return self._seal.seal(str(version).zfill(_DIGITS).encode(), _PLACE)


@dataclass(frozen=True, slots=True)
class KeyringReading:
    """What the keyring says of the mark.

    Attributes:
        version: the mark; None if there is none, or the keyring did not answer.
        fault: why it is not known, as a sentence; None if the keyring has answered.
    """

    version: int | None = None
    fault: str | None = None


def read_keyring(vault: Vault, name: str, *, may_ask: bool = True) -> KeyringReading:
    """Ask the keyring for the mark. Takes as long as the vault does.

    Args:
        vault: where it is kept.
        name: its name there.
        may_ask: let a locked keyring open its dialog.
    """
    try:
        text = vault.get(name) if may_ask else vault.get_unasked(name)
    except VaultError as error:
        return KeyringReading(fault=str(error))
    return KeyringReading(int(text) if text is not None and text.isascii() and text.isdigit() else None)


class KeyringMarkThread:
    """Writes the mark into the keyring: after the opening, once a minute at most, and at the end.

    The keyring may take seconds, so it is never asked by whoever changes the library. Where it did not answer at the
    opening, it is asked again until it does.
    """

    def __init__(
        self,
        vault: Vault,
        name: str,
        *,
        due: Callable[[], int | None],
        written: Callable[[int], None],
        refused: Callable[[VaultError], None],
        read: Callable[[KeyringReading], None] | None,
    ) -> None:
        """Make the thread.

        Args:
            vault: where the mark is kept.
            name: its name there.
            due: the version to keep now; None for none.
            written: called with the version that the keyring has now.
            refused: called when the keyring did not take it.
            read: called with what the keyring says; None if it has answered already.
        """
        self._vault, self._name = vault, name
        self._due, self._written, self._refused, self._read = due, written, refused, read
        self._stop, self._now = threading.Event(), threading.Event()
        self._kept: int | None = None
        self._thread = threading.Thread(target=self._run, name="high-water mark", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def write_now(self) -> None:
        """Write the mark without waiting for the minute to pass: a person has just accepted a copy."""
        self._now.set()

    def ask_to_stop(self) -> None:
        """Write the mark once more and end; does not wait."""
        self._stop.set()
        self._now.set()

    def alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Wait for its end."""
        if self.alive():
            self._thread.join(seconds)

    def _run(self) -> None:
        while self._read is not None and not self._stop.is_set():
            found = read_keyring(self._vault, self._name)
            if found.fault is None:
                self._read(found)
                self._read = None
            else:
                self._now.wait(ASK_AGAIN_S)
                self._now.clear()
        while True:
            self._write()
            if self._stop.is_set():
                break
            self._now.wait(KEYRING_EVERY_S)
            self._now.clear()

    def _write(self) -> None:
        version = self._due()
        if version is None or version == self._kept:
            return
        try:
            self._vault.set_unasked(self._name, str(version))
        except VaultError as error:
            self._refused(error)
        else:
            self._kept = version
            self._written(version)
