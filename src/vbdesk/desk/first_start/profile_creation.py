"""Creation of profiles: blocking operations of the first start."""

import time
from dataclasses import dataclass, field
from typing import Literal

from vbdesk.client import ClientError, Credentials
from vbdesk.client.errors import Unauthorized
from vbdesk.contract.limits import Plan
from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.locking.service_keys import ServiceKeys
from vbdesk.desk.ports import DeskPorts
from vbdesk.language import message
from vbdesk.outbox.profiles.profiles import (
    LOCAL_NAME,
    Profile,
    ProfileStore,
    free_name,
    name_of_service,
    new_profile_id,
)
from vbdesk.outbox.profiles.vault import VaultError, VaultMissing
from vbdesk.privacy import make_private

Secrets = Literal["keyring", "session", "passphrase"]
_PROBE = "probe"


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """Address and credentials of a service as typed; the repr hides the key."""

    base_url: str
    account_id: str
    api_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """Outcome of a successful connection test."""

    answered_in_s: float
    credits_left: int


class Setup:
    """Makes profiles. Every method blocks: call it in a task."""

    def __init__(self, ports: DeskPorts) -> None:
        self._ports = ports
        self._profiles = ProfileStore(ports.config_dir)

    def make_local(self, passphrase: str | None = None) -> Profile:
        """Make key, account and profile for the local service.

        Args:
            passphrase: opens the key if there is no keyring; None uses the keyring.

        Raises:
            VaultError: the key cannot be stored; no account was made.
            PassphraseNeeded, PassphraseWrong, PassphraseTooShort, ServiceKeyMissing: the key does not open.
            LocalServiceFailed: no account could be made.
        """
        keys = ServiceKeys(self._ports)
        secrets: Secrets = "keyring"
        if passphrase is None:
            self._check_vault(secrets)
            keys.open()
        else:
            keys.create(passphrase)
            secrets = "passphrase"
        make_private(self._ports.service_dir)
        account = self._ports.make_account(self._ports.service_dir, "vbdesk")
        profile = Profile(new_profile_id(), LOCAL_NAME, "local", None, account.account_id, secrets, Plan.ENTERPRISE)
        return self._store_profile(profile, account.api_key)

    def make_service(self, address: ServiceAddress, secrets: Secrets) -> Profile:
        """Make a profile for a service without contacting it: it may be unreachable now.

        Raises:
            VaultError: the key cannot be stored.
            ValueError: the address is invalid.
        """
        self._ports.connect(address.base_url, Credentials(address.account_id, address.api_key)).close()
        self._check_vault(secrets)
        base_url = address.base_url.strip().rstrip("/")
        others = [profile.name for profile in self._profiles.all()]
        managed_name = self._ports.policy.name_for(base_url)
        name = name_of_service(base_url, others) if managed_name is None else free_name(managed_name, others)
        profile = Profile(new_profile_id(), name, "service", base_url, address.account_id.strip(), secrets)
        return self._store_profile(profile, address.api_key.strip())

    def test(self, address: ServiceAddress) -> ConnectionTest:
        """Read the account's balance from the service.

        Raises:
            ClientError: the service cannot be reached, or does not know the account or key.
            ValueError: the address is invalid.
        """
        credentials = Credentials(address.account_id.strip(), address.api_key.strip())
        started = time.monotonic()
        with self._ports.connect(address.base_url, credentials) as client:
            left = client.account.credits()
        return ConnectionTest(time.monotonic() - started, left)

    def lacks_keyring(self) -> bool:
        """Whether this computer has no keyring that can be used; opens no dialog of one."""
        try:
            self._ports.keyring.get_without_prompt(_PROBE)
        except VaultMissing:
            return True
        except VaultError:
            return False
        return False

    def _check_vault(self, secrets: Secrets) -> None:
        """Check that a secret can be stored, before anything is made."""
        vault = self._ports.vault(secrets)
        vault.set(_PROBE, _PROBE)
        vault.delete(_PROBE)

    def _store_profile(self, profile: Profile, api_key: str) -> Profile:
        self._ports.vault(profile.secrets).set(profile.api_key_name, api_key)
        self._profiles.save(profile)
        self._profiles.use(profile.profile_id)
        return profile


@dataclass(frozen=True)
class MakeLocalProfile(Command):
    """Make a profile for this computer, with a passphrase where there is no keyring. Finds it."""

    passphrase: str | None = field(repr=False)
    beside = True

    def do(self, context: ProgramContext, task: TaskContext) -> Done:  # noqa: D102
        return Done(found=Setup(context.ports).make_local(self.passphrase))


@dataclass(frozen=True)
class MakeServiceProfile(Command):
    """Make a profile for a service, unless that refuses account or key; one that cannot be reached is asked later.

    Finds the profile.
    """

    address: ServiceAddress
    secrets: Secrets
    beside = True

    def do(self, context: ProgramContext, task: TaskContext) -> Done:  # noqa: D102
        setup = Setup(context.ports)
        try:
            setup.test(self.address)
        except ClientError as error:
            if isinstance(error, Unauthorized):
                raise
        return Done(found=setup.make_service(self.address, self.secrets))


@dataclass(frozen=True)
class TryConnection(Command):
    """Try the address, account and key of a service."""

    address: ServiceAddress
    beside = True

    def do(self, context: ProgramContext, task: TaskContext) -> Done:  # noqa: D102
        test = Setup(context.ports).test(self.address)
        return Done(message("Connected. The service answered in {time:.0f} ms.", time=1000 * test.answered_in_s))


@dataclass(frozen=True)
class FindKeyring(Command):
    """Look whether this computer has a keyring that can be used. Finds whether."""

    beside = True

    def do(self, context: ProgramContext, task: TaskContext) -> Done:  # noqa: D102
        return Done(found=not Setup(context.ports).lacks_keyring())
