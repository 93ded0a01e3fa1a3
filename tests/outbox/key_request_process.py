"""A process that asks for the key of the service on this computer at the same moment as others."""

import time

from vbdesk.outbox.profiles.service_key import ServiceKeyStore
from vbdesk.outbox.profiles.vault import MemoryVault


class SharedVault(MemoryVault):
    """A keyring that several processes share, and that takes its time."""

    def __init__(self, secrets):
        self._shared = secrets

    def get(self, name):
        return self._shared.get(name)

    def set(self, name, secret):
        time.sleep(0.2)
        self._shared[name] = secret


def ask(folder, secrets, barrier, found):
    """Note the key that this process gets, once all of them ask."""
    barrier.wait()
    found.append(ServiceKeyStore(folder).open(SharedVault(secrets)).key)
