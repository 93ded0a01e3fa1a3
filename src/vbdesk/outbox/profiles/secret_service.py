"""The keyring of a Linux desktop (Secret Service), through one connection while the program runs.

The `keyring` library opens a connection for each call. gnome-keyring crashes when it loses a race with a connection
that comes or goes: here once in about 2,400 calls on a busy machine. A person is then asked for the password again.
"""

from typing import Any

import secretstorage
from jeepney import DBusErrorResponse
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import Proxy
from keyring.errors import KeyringLocked, PasswordDeleteError
from secretstorage.dhcrypto import Session
from secretstorage.util import BUS_NAME, open_session


class SecretService:
    """Reads and writes the same items as the back end of the `keyring` library, with the same settings.

    Belongs to one thread at a time. Raises what that library and `secretstorage` raise.
    """

    def __init__(self, backend: Any) -> None:
        """Connect. `backend` is the `keyring` library's."""
        self._backend = backend
        self._bus = secretstorage.dbus_init()
        self._session: Session | None = None
        self._owner: str | None = None

    def is_locked(self) -> bool | None:
        """Whether the keyring is locked; None if it was never created. Opens no dialog."""
        try:
            return secretstorage.Collection(self._bus).is_locked()
        except secretstorage.ItemNotFoundException:
            return None

    def get_password(self, service: str, name: str) -> str | None:
        """A secret, None if there is none. May open the system's dialog."""
        for item in self._items(service, name):
            if item.is_locked():
                item.unlock()
            if item.is_locked():
                raise KeyringLocked
            return item.get_secret().decode()
        return None

    def set_password(self, service: str, name: str, secret: str) -> None:
        """Store a secret. May open the system's dialog."""
        attributes = self._backend._query(service, name, application=self._backend.appid)
        label = f"Password for '{name}' on '{service}'"
        self._collection().create_item(label, attributes, secret.encode(), replace=True)

    def delete_password(self, service: str, name: str) -> None:
        """Delete a secret. May open the system's dialog."""
        items = self._items(service, name)
        if not items:
            raise PasswordDeleteError
        items[0].delete()

    def _items(self, service: str, name: str) -> list[secretstorage.Item]:
        return list(self._collection().search_items(self._backend._query(service, name)))

    def _collection(self) -> secretstorage.Collection:
        session = self._open_session()
        preferred = getattr(self._backend, "preferred_collection", None)
        if preferred is None:
            collection = secretstorage.get_default_collection(self._bus, session)
        else:
            collection = secretstorage.Collection(self._bus, preferred, session)
        if collection.is_locked():
            collection.unlock()
        if collection.is_locked():
            raise KeyringLocked
        return collection

    def _open_session(self) -> Session:
        """The session in which secrets are carried; another one after the keyring's program was started again."""
        try:
            (owner,) = Proxy(message_bus, self._bus).GetNameOwner(BUS_NAME)
        except DBusErrorResponse:  # not running: the next call starts it, where the system can
            owner = None
        if self._session is None or owner is None or owner != self._owner:
            self._session, self._owner = open_session(self._bus), owner
        return self._session
