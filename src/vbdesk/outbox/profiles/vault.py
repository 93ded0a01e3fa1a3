"""Where secrets live: the keyring of the operating system, or memory for one session; never a file.

A locked keyring opens the system's own dialog and keeps its caller waiting until a person has answered that, for ever
if nobody does. So the keyring is asked in a thread of its own; whoever wants a secret is told after a while that the
dialog waits, and asks again later. Even so a vault takes seconds: never call one on the thread of a window.
"""

import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from enum import Enum, auto
from typing import Any, Protocol, TypeVar

SERVICE_NAME = "vbdesk"
PATIENCE_S = 3.0
"""How long a reader waits for a keyring that does not answer; an open keyring takes 5 to 500 ms."""
PERSONS_PATIENCE_S = 120.0
"""How long a writer does: a person has just asked for it and has the dialog in front."""
ASK_EVERY_S = 1.0

T = TypeVar("T")


class VaultError(Exception):
    """A secret could not be read or written; `str(error)` is one sentence for a person."""


class VaultMissing(VaultError):
    """There is no keyring on this computer that keeps a secret to itself."""


class VaultLocked(VaultError):
    """The keyring is locked, and was not unlocked when the system asked."""


class VaultWaiting(VaultError):
    """The keyring has not answered yet, because its dialog is open or because it is slow; ask again."""


class VaultFailed(VaultError):
    """The keyring does not answer as it should."""


class Vault(Protocol):
    """A place for secrets. Every method may take seconds and may raise VaultError."""

    def get(self, name: str) -> str | None:
        """The secret called `name`, None if there is none."""

    def get_without_prompt(self, name: str) -> str | None:
        """As `get`, for what nobody has asked for: a locked keyring refuses, and no dialog opens."""

    def set(self, name: str, secret: str) -> None:
        """Keep `secret` as `name`, in place of an earlier one."""

    def set_without_prompt(self, name: str, secret: str) -> None:
        """As `set`, for what nobody has asked for: a locked keyring refuses, and no dialog opens."""

    def delete(self, name: str) -> None:
        """Forget `name`; nothing happens if there is none."""

    def ask_again(self) -> None:
        """A person wants to be asked for the keyring's password again. Quick."""


class KeyringVault:
    """The keyring of the operating system.

    Once a person has dismissed the system's dialog, `get` does not open it again: it refuses until the keyring was
    unlocked in some other way, or `ask_again` was called. `set` and `delete` are what a person has just asked for, and
    always ask.
    """

    def __init__(self, patience_s: float = PATIENCE_S, persons_patience_s: float = PERSONS_PATIENCE_S) -> None:
        self._patience_s, self._persons_patience_s = patience_s, persons_patience_s
        self._turn = threading.Lock()
        self._call: _Call | None = None
        self._dismissed = False

    def get(self, name: str) -> str | None:
        """The secret called `name`, None if there is none."""
        return self._ask(lambda keyring: self._read(keyring, name), self._patience_s)

    def get_without_prompt(self, name: str) -> str | None:
        """As `get`, for what nobody has asked for: a locked keyring refuses, and no dialog opens."""
        return self._ask(
            lambda keyring: self._read(keyring, name, may_ask=False), self._patience_s, note=lambda error: None
        )

    def set(self, name: str, secret: str) -> None:
        """Keep `secret` as `name`, in place of an earlier one."""
        self._ask(lambda keyring: keyring.set_password(SERVICE_NAME, name, secret), self._persons_patience_s)

    def set_without_prompt(self, name: str, secret: str) -> None:
        """As `set`, for what nobody has asked for: a locked keyring refuses, and no dialog opens."""

        def question(keyring: Any) -> None:
            door = _door(keyring)
            if door in (_Door.LOCKED, _Door.MISSING) or (self._dismissed and door is not _Door.OPEN):
                raise _locked()
            keyring.set_password(SERVICE_NAME, name, secret)

        self._ask(question, self._patience_s, note=lambda error: None)

    def delete(self, name: str) -> None:
        """Forget `name`; nothing happens if there is none."""

        def question(keyring: Any) -> None:
            from keyring.errors import PasswordDeleteError

            try:
                keyring.delete_password(SERVICE_NAME, name)
            except PasswordDeleteError:
                if keyring.get_password(SERVICE_NAME, name) is not None:
                    raise VaultFailed(
                        "The keyring did not delete the key. Delete it in the system's password manager."
                    ) from None

        self._ask(question, self._persons_patience_s)

    def ask_again(self) -> None:
        """A person wants to be asked for the keyring's password again. Quick."""
        self._dismissed = False

    def _read(self, keyring: Any, name: str, *, may_ask: bool = True) -> str | None:
        door = _door(keyring)
        if door is _Door.MISSING:  # a question would open the dialog that makes one
            return None
        if (door is _Door.LOCKED and not may_ask) or (self._dismissed and door is not _Door.OPEN):
            raise _locked()
        secret: str | None = keyring.get_password(SERVICE_NAME, name)
        return secret

    def _ask(
        self,
        question: Callable[[Any], T],
        patience_s: float,
        note: Callable[[VaultError | None], None] | None = None,
    ) -> T:
        """Put a question to the keyring, one at a time: a dialog that is open already is waited for first."""
        if not self._turn.acquire(timeout=patience_s):
            raise _waiting()
        try:
            if self._call is not None and not self._call.ended.wait(patience_s):
                raise _waiting()
            self._call = call = _Call(question, note or self._note_answer)
            if not call.ended.wait(patience_s):
                raise _waiting()
            self._call = None  # nor is the secret kept any longer
        finally:
            self._turn.release()
        if call.error is not None:
            raise call.error
        answer: T = call.answer
        return answer

    def _note_answer(self, error: VaultError | None) -> None:
        self._dismissed = isinstance(error, VaultLocked)


class MemoryVault:
    """Secrets for one session: gone when the program ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._secrets: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        """The secret called `name`, None if there is none."""
        with self._lock:
            return self._secrets.get(name)

    def get_without_prompt(self, name: str) -> str | None:
        """As `get`: nobody is ever asked."""
        return self.get(name)

    def set(self, name: str, secret: str) -> None:
        """Keep `secret` as `name`, in place of an earlier one."""
        with self._lock:
            self._secrets[name] = secret

    def set_without_prompt(self, name: str, secret: str) -> None:
        """As `set`: nobody is ever asked."""
        self.set(name, secret)

    def delete(self, name: str) -> None:
        """Forget `name`; nothing happens if there is none."""
        with self._lock:
            self._secrets.pop(name, None)

    def ask_again(self) -> None:
        """Nobody is ever asked."""


class _Call:
    """One question to the keyring, in a thread that cannot keep the program from ending."""

    def __init__(self, question: Callable[[Any], Any], note: Callable[[VaultError | None], None]) -> None:
        self.answer: Any = None
        self.error: VaultError | None = None
        self.ended = threading.Event()
        self._question, self._note = question, note
        threading.Thread(target=self._run, name="keyring", daemon=True).start()

    def _run(self) -> None:
        try:
            self.answer = self._question(_usable_keyring())
        except VaultError as error:
            self.error = error
        except Exception as error:
            self.error = _explained(error)
            self.error.__cause__ = error
        self._note(self.error)
        self.ended.set()


def retry_while_waiting(
    ask: Callable[[], T], say: Callable[[str], None], pause: Callable[[float], object] = time.sleep
) -> T:
    """What `ask` returns, asked again for as long as the keyring waits for a person; `say` hears so, once.

    For commands, where the one who waits can press Ctrl-C.

    Raises:
        VaultError: any other than VaultWaiting.
    """
    said = False
    while True:
        try:
            return ask()
        except VaultWaiting as waiting:
            if not said:
                say(str(waiting))
            said = True
        pause(ASK_EVERY_S)


def keyring_name() -> str:
    """What kind of keyring this computer has, such as `SecretService`. Raises VaultMissing when it cannot be used."""
    return type(_usable_keyring()).__module__.rpartition(".")[2]


def _usable_keyring() -> Any:
    """The system's keyring.

    Raises:
        VaultMissing: there is none, or one that forgets what it is given or keeps it in a file.
    """
    import keyring  # 0.2 to 0.5 s, so not at start-up
    from keyring.backends import fail, null

    found = keyring.get_keyring()
    if isinstance(found, fail.Keyring):  # one that came after the first look would not be seen
        with suppress(KeyError):  # it never looked: the keyring was named by hand
            keyring.backend.get_all_keyring.reset()
        keyring.core.init_backend()
        found = keyring.get_keyring()
        if isinstance(found, fail.Keyring):
            raise _missing()
    first = getattr(found, "backends", [found])[0]  # the chain of several writes to its first
    if isinstance(first, null.Keyring) or type(first).__module__.startswith("keyrings.alt."):
        raise VaultMissing(
            "The keyring set up on this computer does not keep keys safe. "
            "Set the system's own one up, or keep the keys for this session only."
        )
    return found


class _Door(Enum):
    """What a question to the keyring would meet."""

    OPEN = auto()
    LOCKED = auto()
    MISSING = auto()  # nothing was ever kept in it
    UNKNOWN = auto()  # it does not tell without asking for the password


def _door(keyring: Any) -> _Door:
    """Look at the keyring without opening the system's dialog."""
    first = getattr(keyring, "backends", [keyring])[0]
    if type(first).__module__ != "keyring.backends.SecretService":
        return _Door.UNKNOWN
    import secretstorage

    with closing(secretstorage.dbus_init()) as bus:
        try:
            return _Door.LOCKED if secretstorage.Collection(bus).is_locked() else _Door.OPEN
        except secretstorage.exceptions.ItemNotFoundException:
            return _Door.MISSING


def _waiting() -> VaultWaiting:
    return VaultWaiting(
        "The keyring has not answered. If the system shows a window that asks for its password, enter it there."
    )


def _missing() -> VaultMissing:
    return VaultMissing("This computer has no keyring. Start one, or keep the keys for this session only.")


def _locked() -> VaultLocked:
    return VaultLocked("The keyring is locked. Nothing was changed; unlock it and try again.")


def _explained(error: Exception) -> VaultError:
    """The keyring's error as ours; back ends raise errors of their own libraries too."""
    from keyring.errors import KeyringLocked, NoKeyringError

    if isinstance(error, NoKeyringError):
        return _missing()
    if isinstance(error, KeyringLocked):
        return _locked()
    return VaultFailed("The keyring does not answer. Nothing was changed; log in again or restart the computer.")
