"""Detect an older copy of the library: its highest version, the mark, is stored in a file and in the keyring.

A database behind a mark is an older copy that was put back. A mark behind its database only shows a crash.
The file is written with each change, but an older folder brings its own file. The keyring detects that too; it is
written at most once a minute, so it misses an older folder of the last minute.
"""

import contextlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vbdesk.capture.encrypted_take import sync_folder
from vbdesk.outbox.library.column_encryption import ColumnCipher, InvalidTag
from vbdesk.outbox.profiles.vault import Vault, VaultError
from vbdesk.privacy import owner_only_opener

FILE_NAME = "library.mark"
KEYRING_EVERY_S = 60.0
ASK_AGAIN_S = 5.0
_PLACE = "high water"
_DIGITS = 20


class MarkFile:
    """The mark in the folder of the library.

    Its content has a fixed size and is written in place, so a power cut leaves the old one or the new one.
    """

    def __init__(self, folder: Path, cipher: ColumnCipher) -> None:
        self._path = folder / FILE_NAME
        self._cipher = cipher
        self._size = len(self._content(0))

    def write(self, version: int) -> None:
        """Store `version`; if the disk refuses, the change itself still succeeds."""
        with contextlib.suppress(OSError):
            if self._path.exists() and self._path.stat().st_size == self._size:
                with self._path.open("rb+", buffering=0) as file:
                    file.write(self._content(version))
            else:
                self._make(version)

    def read(self) -> int | None:
        """The stored version; None if there is none, or somebody else wrote it."""
        try:
            return int(self._cipher.decrypt(self._path.read_bytes(), _PLACE))
        except (OSError, InvalidTag, ValueError):
            return None

    def is_of_another_key(self) -> bool:
        """Whether there is a whole mark here that this key does not decrypt."""
        try:
            return self._path.stat().st_size == self._size and self.read() is None
        except OSError:
            return False

    def _make(self, version: int) -> None:
        unfinished = self._path.with_suffix(".mark.new")
        with open(unfinished, "wb", opener=owner_only_opener) as file:
            file.write(self._content(version))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self._path)
        sync_folder(self._path.parent)

    def _content(self, version: int) -> bytes:
        return self._cipher.encrypt(str(version).zfill(_DIGITS).encode(), _PLACE)


@dataclass(frozen=True, slots=True)
class KeyringReading:
    """What the keyring says about the mark.

    Attributes:
        version: the mark; None if there is none, or the keyring did not answer.
        fault: why it is unknown, as a sentence; None if the keyring has answered.
    """

    version: int | None = None
    fault: str | None = None


def read_keyring(vault: Vault, name: str, *, may_ask: bool = True) -> KeyringReading:
    """Read the mark from the keyring. Takes as long as the vault does.

    Args:
        vault: where it is stored.
        name: its name there.
        may_ask: whether a locked keyring may open its dialog.
    """
    try:
        text = vault.get(name) if may_ask else vault.get_without_prompt(name)
    except VaultError as error:
        return KeyringReading(fault=str(error))
    return KeyringReading(int(text) if text is not None and text.isascii() and text.isdigit() else None)


class KeyringMarkThread:
    """Writes the mark into the keyring: after the opening, at most once a minute, and at the end.

    A keyring may take seconds, so changes of the library never wait for it. If it did not answer at the opening, it is
    asked again until it does.
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
            vault: where the mark is stored.
            name: its name there.
            due: the version to store now; None for none.
            written: called with the version that was stored.
            refused: called when the keyring refused it.
            read: called with the keyring's reading; None if it has answered already.
        """
        self._vault, self._name = vault, name
        self._due, self._written, self._refused, self._read = due, written, refused, read
        self._stop, self._now = threading.Event(), threading.Event()
        self._stored: int | None = None
        self._thread = threading.Thread(target=self._run, name="high-water mark", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def write_now(self) -> None:
        """Write the mark without waiting for the minute to pass: a person has just accepted a copy."""
        self._now.set()

    def ask_to_stop(self) -> None:
        """Write the mark once more and end; does not wait."""
        self._stop.set()
        self._now.set()

    def alive(self) -> bool:
        """Whether the thread is running."""
        return self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Wait for the end of the thread."""
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
        if version is None or version == self._stored:
            return
        try:
            self._vault.set_without_prompt(self._name, str(version))
        except VaultError as error:
            self._refused(error)
        else:
            self._stored = version
            self._written(version)
