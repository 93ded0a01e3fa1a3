"""A process that requests the key of the local service at the same moment as others."""

import time

from vbdesk.outbox.profiles.service_key import ServiceKeyStore
from vbdesk.outbox.profiles.vault import MemoryVault


class SharedVault(MemoryVault):
    """A slow keyring shared by several processes."""

    def __init__(self, secrets):
        self._shared = secrets

    def get(self, name):
        return self._shared.get(name)

    def set(self, name, secret):
        time.sleep(0.2)
        self._shared[name] = secret


def ask(folder, secrets, barrier, found):
    """Write down the key that this process gets, once all processes have asked."""
    barrier.wait()
    found.append(ServiceKeyStore(folder).open(SharedVault(secrets)).key)
