"""Storage of secrets: the keyring of the operating system, or memory for one session; never a file.

A locked keyring opens the system's own dialog and blocks its caller until a person answers, perhaps forever. So the
keyring is called in a separate thread. After a timeout the caller gets VaultWaiting and asks again later. Even so a
vault takes seconds: never call one on the GUI thread.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from vbdesk.language import message

if TYPE_CHECKING:  # Linux alone has what it imports
    from vbdesk.outbox.profiles.secret_service import SecretService

SERVICE_NAME = "vbdesk"
READ_TIMEOUT_S = 3.0
"""Timeout of a reader; an unlocked keyring takes 5 to 500 ms."""
PROMPT_TIMEOUT_S = 120.0
"""Timeout of a writer: a person has just started it and sees the dialog."""
ASK_EVERY_S = 1.0
ASKED_AT_MOST = 30
"""How often a command asks, each time for up to `READ_TIMEOUT_S`."""

T = TypeVar("T")


class VaultError(Exception):
    """A secret could not be read or written; `str(error)` is one sentence for a person."""


class VaultMissing(VaultError):
    """This computer has no keyring that protects secrets."""


class VaultLocked(VaultError):
    """The keyring is locked, and nobody unlocked it in the system's dialog."""


class PassphraseLocked(VaultLocked):
    """The secrets open with a passphrase that nobody has entered yet."""


class VaultWaiting(VaultError):
    """The keyring has not answered yet, because its dialog is open or because it is slow; ask again."""


class VaultFailed(VaultError):
    """The keyring fails."""


class Vault(Protocol):
    """A store for secrets. Every method may take seconds and may raise VaultError."""

    def get(self, name: str) -> str | None:
        """The secret called `name`; None if there is none."""

    def get_without_prompt(self, name: str) -> str | None:
        """As `get`, for work that no person started: a locked keyring raises, and no dialog opens."""

    def set(self, name: str, secret: str) -> None:
        """Store `secret` as `name`."""

    def set_without_prompt(self, name: str, secret: str) -> None:
        """As `set`, for work that no person started: a locked keyring raises, and no dialog opens."""

    def delete(self, name: str) -> None:
        """Delete `name` if it exists."""

    def allow_prompt(self) -> None:
        """Allow the keyring's dialog again, as a person wants. Quick."""


class KeyringVault:
    """The keyring of the operating system.

    After a person has dismissed the system's dialog, `get` does not open it again: it raises until the keyring was
    unlocked in another way, or `allow_prompt` was called. `set` and `delete` always open it, since a person has just
    started them.
    """

    def __init__(self, read_timeout_s: float = READ_TIMEOUT_S, prompt_timeout_s: float = PROMPT_TIMEOUT_S) -> None:
        self._read_timeout_s, self._prompt_timeout_s = read_timeout_s, prompt_timeout_s
        self._turn = threading.Lock()
        self._call: _Call | None = None
        self._dismissed = False
        self._linux: SecretService | None = None

    def get(self, name: str) -> str | None:
        """The secret called `name`; None if there is none."""
        return self._ask(lambda keyring: self._read(keyring, name), self._read_timeout_s)

    def get_without_prompt(self, name: str) -> str | None:
        """As `get`, for work that no person started: a locked keyring raises, and no dialog opens."""
        return self._ask(
            lambda keyring: self._read(keyring, name, may_ask=False), self._read_timeout_s, note=lambda error: None
        )

    def set(self, name: str, secret: str) -> None:
        """Store `secret` as `name`."""
        self._ask(lambda keyring: keyring.set_password(SERVICE_NAME, name, secret), self._prompt_timeout_s)

    def set_without_prompt(self, name: str, secret: str) -> None:
        """As `set`, for work that no person started: a locked keyring raises, and no dialog opens."""

        def question(keyring: Any) -> None:
            door = self._door()
            if door in (_KeyringState.LOCKED, _KeyringState.MISSING) or (
                self._dismissed and door is not _KeyringState.OPEN
            ):
                raise _locked()
            keyring.set_password(SERVICE_NAME, name, secret)

        self._ask(question, self._read_timeout_s, note=lambda error: None)

    def delete(self, name: str) -> None:
        """Delete `name` if it exists."""

        def question(keyring: Any) -> None:
            from keyring.errors import PasswordDeleteError

            try:
                keyring.delete_password(SERVICE_NAME, name)
            except PasswordDeleteError:
                if keyring.get_password(SERVICE_NAME, name) is not None:
                    raise VaultFailed(
                        message("The keyring did not delete the key. Delete it in the system's password manager.")
                    ) from None

        self._ask(question, self._prompt_timeout_s)

    def allow_prompt(self) -> None:
        """Allow the keyring's dialog again, as a person wants. Quick."""
        self._dismissed = False

    def _read(self, keyring: Any, name: str, *, may_ask: bool = True) -> str | None:
        door = self._door()
        if door is _KeyringState.MISSING:  # a call would open the dialog that creates one
            return None
        if (door is _KeyringState.LOCKED and not may_ask) or (self._dismissed and door is not _KeyringState.OPEN):
            raise _locked()
        secret: str | None = keyring.get_password(SERVICE_NAME, name)
        return secret

    def _ask(
        self,
        question: Callable[[Any], T],
        timeout_s: float,
        note: Callable[[VaultError | None], None] | None = None,
    ) -> T:
        """Call the keyring, one call at a time: an open dialog is awaited first."""
        if not self._turn.acquire(timeout=timeout_s):
            raise _waiting()
        try:
            if self._call is not None and not self._call.ended.wait(timeout_s):
                raise _waiting()
            self._call = call = _Call(lambda: self._answer(question), note or self._note_answer)
            if not call.ended.wait(timeout_s):
                raise _waiting()
            self._call = None  # also drops the secret
        finally:
            self._turn.release()
        if call.error is not None:
            raise call.error
        answer: T = call.answer
        return answer

    def _answer(self, question: Callable[[Any], T]) -> T:
        keyring = _usable_keyring()
        first = getattr(keyring, "backends", [keyring])[0]
        try:
            if type(first).__module__ == "keyring.backends.SecretService":
                from vbdesk.outbox.profiles.secret_service import SecretService

                self._linux = self._linux or SecretService(first)
                keyring = self._linux if keyring is first else keyring
            return question(keyring)
        except OSError:  # the connection ended
            self._linux = None
            raise

    def _door(self) -> "_KeyringState":
        """The keyring's state, without opening the system's dialog."""
        if self._linux is None:
            return _KeyringState.UNKNOWN
        locked = self._linux.is_locked()
        if locked is None:
            return _KeyringState.MISSING
        return _KeyringState.LOCKED if locked else _KeyringState.OPEN

    def _note_answer(self, error: VaultError | None) -> None:
        self._dismissed = isinstance(error, VaultLocked)


class MemoryVault:
    """Secrets for one session: lost when the program ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._secrets: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        """The secret called `name`; None if there is none."""
        with self._lock:
            return self._secrets.get(name)

    def get_without_prompt(self, name: str) -> str | None:
        """As `get`; there is never a prompt."""
        return self.get(name)

    def set(self, name: str, secret: str) -> None:
        """Store `secret` as `name`."""
        with self._lock:
            self._secrets[name] = secret

    def set_without_prompt(self, name: str, secret: str) -> None:
        """As `set`; there is never a prompt."""
        self.set(name, secret)

    def delete(self, name: str) -> None:
        """Delete `name` if it exists."""
        with self._lock:
            self._secrets.pop(name, None)

    def allow_prompt(self) -> None:
        """Do nothing: there is never a prompt."""


class _Call:
    """One call of the keyring, in a daemon thread that does not keep the program alive."""

    def __init__(self, question: Callable[[], Any], note: Callable[[VaultError | None], None]) -> None:
        self.answer: Any = None
        self.error: VaultError | None = None
        self.ended = threading.Event()
        self._question, self._note = question, note
        threading.Thread(target=self._run, name="keyring", daemon=True).start()

    def _run(self) -> None:
        try:
            self.answer = self._question()
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
    """Call `ask` again while the keyring waits for a person, for about two minutes; reports that once with `say`.

    For commands, which a schedule may start where nobody sees the keyring's window.

    Raises:
        VaultWaiting: nobody has answered the keyring.
        VaultError: any other.
    """
    for attempt in range(ASKED_AT_MOST - 1):
        try:
            return ask()
        except VaultWaiting as waiting:
            if attempt == 0:
                say(str(waiting))
        pause(ASK_EVERY_S)
    return ask()


def keyring_name() -> str:
    """The kind of keyring, such as `SecretService`. Raises VaultMissing if it cannot be used."""
    return type(_usable_keyring()).__module__.rpartition(".")[2]


def _usable_keyring() -> Any:
    """The system's keyring.

    Raises:
        VaultMissing: there is none, or one that forgets secrets or stores them in a file.
    """
    import keyring  # takes 0.2 to 0.5 s, so not at start-up
    from keyring.backends import fail, null

    found = keyring.get_keyring()
    if isinstance(found, fail.Keyring):  # look again: a keyring may have started since
        with suppress(KeyError):  # no cached choice: the keyring was configured by name
            keyring.backend.get_all_keyring.reset()
        keyring.core.init_backend()
        found = keyring.get_keyring()
        if isinstance(found, fail.Keyring):
            raise _missing()
    first = getattr(found, "backends", [found])[0]  # a chain writes to its first back end
    if isinstance(first, null.Keyring) or type(first).__module__.startswith("keyrings.alt."):
        raise VaultMissing(
            message(
                "The keyring set up on this computer does not keep keys safe. "
                "Set the system's own one up, or keep the keys for this session only."
            )
        )
    return found


class _KeyringState(Enum):
    """State of the keyring before a call."""

    OPEN = auto()
    LOCKED = auto()
    MISSING = auto()  # never created
    UNKNOWN = auto()  # cannot be read without a prompt


def _waiting() -> VaultWaiting:
    return VaultWaiting(
        message(
            "The keyring has not answered. If the system shows a window that asks for its password, enter it there."
        )
    )


def _missing() -> VaultMissing:
    return VaultMissing(message("This computer has no keyring. Start one, or keep the keys for this session only."))


def _locked() -> VaultLocked:
    return VaultLocked(message("The keyring is locked. Nothing was changed; unlock it and try again."))


def _explained(error: Exception) -> VaultError:
    """Convert the keyring's error to ours; back ends also raise errors of their own libraries."""
    from keyring.errors import KeyringLocked, NoKeyringError

    if isinstance(error, NoKeyringError):
        return _missing()
    if isinstance(error, KeyringLocked):
        return _locked()
    return VaultFailed(
        message("The keyring does not answer. Nothing was changed; log in again or restart the computer.")
    )
